/**
 * Token bucket: allows a burst, then a constant rate.
 */
export interface Bucket {
  /** Takes one token. Returns false if there is none. */
  take(): boolean
  msUntilNext(): number
}

export function createBucket(options: { size: number; perSecond: number; now: () => number }): Bucket {
  const { size, perSecond, now } = options
  let tokens = size
  let at = now()

  function refill(): void {
    const time = now()
    tokens = Math.min(size, tokens + (Math.max(0, time - at) / 1_000) * perSecond)
    at = time
  }

  return {
    take() {
      refill()
      if (tokens < 1) return false
      tokens--
      return true
    },
    msUntilNext() {
      refill()
      return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / perSecond) * 1_000)
    },
  }
}
