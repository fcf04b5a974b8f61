/**
 * Coalesces bursts of notifications: a single one passes at once, many become a few.
 */
import type { Clock } from '../../kube/clock.ts'
import { type Bucket, createBucket } from '../../runtime/token-bucket.ts'

export interface Coalescer {
  add(key: string): void
  /** Drops a notification that was added and has not passed yet. */
  cancel(key: string): void
  forget(key: string): void
  close(): void
}

/** Per key: `burst` pass at once, then so many a second, and never two within `gapMs`. */
export interface Limits {
  burst: number
  perSecond: number
  gapMs: number
}

/** How long a notification waits for others of the same burst. */
const delayMs = 5
/** For syncs that read everything: three at once, then one every two seconds. */
const completeReads: Limits = { burst: 3, perSecond: 0.5, gapMs: 0 }
/** For syncs that read a few ports: ten seconds of changes without a break pass as fast as the gap allows. */
export const targetedReads: Limits = { burst: 60, perSecond: 2, gapMs: 150 }

export function createCoalescer(
  pass: (key: string) => void,
  clock: Clock,
  { burst, perSecond, gapMs } = completeReads,
): Coalescer {
  const buckets = new Map<string, Bucket>()
  const passedAt = new Map<string, number>()
  const waiting = new Map<string, () => void>()

  function bucketOf(key: string): Bucket {
    const bucket = buckets.get(key) ?? createBucket({ size: burst, perSecond, now: clock.now })
    buckets.set(key, bucket)
    return bucket
  }

  function cancel(key: string): void {
    waiting.get(key)?.()
    waiting.delete(key)
  }

  return {
    add(key) {
      if (waiting.has(key)) return
      const bucket = bucketOf(key)
      const gapLeft = (passedAt.get(key) ?? Number.NEGATIVE_INFINITY) + gapMs - clock.now()
      const cancel = clock.after(Math.max(delayMs, gapLeft, bucket.msUntilNext()), () => {
        waiting.delete(key)
        passedAt.set(key, clock.now())
        bucket.take()
        pass(key)
      })
      waiting.set(key, cancel)
    },
    cancel,
    forget(key) {
      cancel(key)
      buckets.delete(key)
      passedAt.delete(key)
    },
    close() {
      for (const cancel of waiting.values()) cancel()
      waiting.clear()
    },
  }
}
