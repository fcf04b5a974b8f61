/**
 * Limits dry runs, which cost several requests to the cloud each: by caller, and in total. One for all addresses that serve
 * plans.
 */
import type { FastifyReply } from 'fastify'
import { createRateLimit } from '../server/rate-limit.ts'
import { HttpProblem } from '../server/server.ts'

export interface PlanLimit {
  /** Throws a 429 instead of doing the work. */
  run<T>(user: string, reply: FastifyReply, work: () => Promise<T>): Promise<T>
}

const maxRunning = 10

export function createPlanLimit(perMinute = 30): PlanLimit {
  const text = `${perMinute} plans per minute of one caller`
  const rate = createRateLimit({ perSecond: perMinute / 60, burst: perMinute, text })
  let running = 0
  return {
    async run(user, reply, work) {
      rate.take(user, reply)
      if (running >= maxRunning) {
        reply.header('retry-after', 5)
        throw new HttpProblem(429, `${running} plans are running; retry later`)
      }
      running++
      try {
        return await work()
      } finally {
        running--
      }
    },
  }
}
