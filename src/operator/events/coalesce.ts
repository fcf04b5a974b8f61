/**
 * Coalesces bursts of notifications: a single one passes at once, many become a few.
 */
import type { Clock } from '../../kube/clock.ts'
import { type Bucket, createBucket } from '../../runtime/token-bucket.ts'

export interface Coalescer {
  add(key: string): void
  forget(key: string): void
  close(): void
}

/** How long a notification waits for others of the same burst. */
const delayMs = 10
/** Per key: this number passes at once, then one every two seconds. */
const burst = 3
const perSecond = 0.5

export function createCoalescer(pass: (key: string) => void, clock: Clock): Coalescer {
  const buckets = new Map<string, Bucket>()
  const waiting = new Map<string, () => void>()

  function bucketOf(key: string): Bucket {
    const bucket = buckets.get(key) ?? createBucket({ size: burst, perSecond, now: clock.now })
    buckets.set(key, bucket)
    return bucket
  }

  return {
    add(key) {
      if (waiting.has(key)) return
      const bucket = bucketOf(key)
      const cancel = clock.after(Math.max(delayMs, bucket.msUntilNext()), () => {
        waiting.delete(key)
        bucket.take()
        pass(key)
      })
      waiting.set(key, cancel)
    },
    forget(key) {
      waiting.get(key)?.()
      waiting.delete(key)
      buckets.delete(key)
    },
    close() {
      for (const cancel of waiting.values()) cancel()
      waiting.clear()
    },
  }
}
