/**
 * Circuit breaker for an unreachable cluster: after a failure, calls fail at once instead of waiting for another timeout.
 * The open time doubles with every failure, and a success resets it.
 */
import { isRetryable } from '../../kube/errors.ts'

export interface Breaker {
  run<T>(work: () => Promise<T>): Promise<T>
  /** The last error while the breaker is open. */
  readonly open: string | undefined
  /** Closes the breaker: another connection reached the cluster. */
  reset(): void
}

export function createBreaker(now = () => performance.now(), { firstMs = 500, maxMs = 15_000 } = {}): Breaker {
  let failures = 0
  let until = 0
  let last: unknown

  const reset = () => {
    failures = 0
    until = 0
  }
  return {
    async run(work) {
      if (now() < until) throw last
      try {
        const done = await work()
        reset()
        return done
      } catch (error) {
        if (isRetryable(error)) {
          last = error
          until = now() + Math.min(maxMs, firstMs * 2 ** failures++)
        }
        throw error
      }
    },
    get open() {
      return now() < until && last instanceof Error ? last.message : undefined
    },
    reset,
  }
}
