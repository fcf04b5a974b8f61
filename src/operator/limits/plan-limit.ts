/**
 * Limits dry runs, which cost several requests to the cloud each: by caller, by namespace and in total. One for all
 * addresses that serve plans. A namespace uses at most half of what the others leave: its plans may hang.
 */
import { createRateLimit } from '../../server/rate-limit.ts'
import { HttpProblem } from '../../server/server.ts'
import { isFair } from './fair-share.ts'

export interface PlanCaller {
  user: string
  /** Of the posted object. */
  namespace: string
}

export interface PlanLimit {
  /** Throws a 429 instead of doing the work. */
  run<T>(caller: PlanCaller, work: () => Promise<T>): Promise<T>
}

const maxRunning = 10

export function createPlanLimit(perMinute = 30): PlanLimit {
  const text = `${perMinute} plans per minute of one caller`
  const rate = createRateLimit({ perSecond: perMinute / 60, burst: perMinute, text })
  /** Plans that run, by namespace. */
  const running = new Map<string, number>()
  return {
    async run({ user, namespace }, work) {
      rate.take(user)
      const own = running.get(namespace) ?? 0
      const all = [...running.values()].reduce((sum, count) => sum + count, 0)
      if (all >= maxRunning || !isFair(own, all, maxRunning)) {
        const text = `${all} plans are running, ${own} of namespace ${namespace}; retry later`
        throw new HttpProblem(429, text, { retryAfterSeconds: 5 })
      }
      running.set(namespace, own + 1)
      try {
        return await work()
      } finally {
        const left = (running.get(namespace) ?? 1) - 1
        if (left > 0) running.set(namespace, left)
        else running.delete(namespace)
      }
    },
  }
}
