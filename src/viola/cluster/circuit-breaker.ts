/**
 * Spares a cluster that is away, and its callers: after a failure nobody waits for the next time-out, for a moment that
 * grows with every failure and ends with the first success.
 */
import { isRetryable } from '../../kube/errors.ts'

export interface Breaker {
  run<T>(work: () => Promise<T>): Promise<T>
  /** Why the cluster is left alone at the moment. */
  readonly open: string | undefined
  /** The cluster was heard of elsewhere. */
  reset(): void
}

export function createBreaker(now = () => performance.now(), { firstMs = 500, longestMs = 15_000 } = {}): Breaker {
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
          until = now() + Math.min(longestMs, firstMs * 2 ** failures++)
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
