/**
 * Folds bursts: a lone notice of a key passes at once, many become a few.
 */
import type { Clock } from '../../kube/clock.ts'
import { type Bucket, createBucket } from '../../runtime/token-bucket.ts'

export interface Fold {
  add(key: string): void
  forget(key: string): void
  close(): void
}

/** So long a notice waits for those that come with it. */
const momentMs = 10
/** Of one key so many pass at once, then one in so long. */
const atOnce = 3
const perSecond = 0.5

export function createFold(pass: (key: string) => void, clock: Clock): Fold {
  const buckets = new Map<string, Bucket>()
  const waiting = new Map<string, () => void>()

  function bucketOf(key: string): Bucket {
    const bucket = buckets.get(key) ?? createBucket({ size: atOnce, perSecond, now: clock.now })
    buckets.set(key, bucket)
    return bucket
  }

  return {
    add(key) {
      if (waiting.has(key)) return
      const bucket = bucketOf(key)
      const cancel = clock.after(Math.max(momentMs, bucket.msUntilNext()), () => {
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
