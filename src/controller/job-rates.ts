/**
 * How many Jobs a cluster gets without a change: retries and checks for drift. A whole cluster that fails, or that is due
 * for a check, must not load its API server.
 */
import { createBucket } from '../runtime/token-bucket.ts'

export type JobRate = 'retry' | 'check'

export interface JobRates {
  /** No such Job may start now. */
  isReached(rate: JobRate): boolean
  count(rate: JobRate): void
  /** The interval of the checks of one node. Undefined when they are off. */
  checkIntervalMs(): number | undefined
}

export interface CheckTimes {
  /** Undefined: no checks. */
  intervalMs?: number
  /** Minimum time between two checks in the cluster. */
  gapMs: number
}

const retries = { size: 10, perSecond: 1 }

export function createJobRates({ intervalMs, gapMs }: CheckTimes, nodes: () => number, now: () => number): JobRates {
  const buckets = {
    retry: createBucket({ ...retries, now }),
    check: createBucket({ size: 1, perSecond: 1_000 / gapMs, now }),
  }
  return {
    isReached: rate => buckets[rate].msUntilNext() > 0,
    count: rate => void buckets[rate].take(),
    checkIntervalMs: () => intervalMs && Math.max(intervalMs, gapMs * nodes()),
  }
}
