/**
 * Results of reviews by the Kubernetes API, kept for a moment, so that a busy caller costs few requests. Bounded: the entry
 * that was stored first is dropped first.
 */
export interface ReviewCache<T> {
  /** The cached result, else that of `review`. A failed review is not cached. */
  get(key: string, review: () => Promise<T>): Promise<T>
}

export interface ReviewCacheOptions<T> {
  /** How long a result is valid. */
  validMs: (result: T) => number
  maxEntries?: number
  now?: () => number
}

export function createReviewCache<T>(options: ReviewCacheOptions<T>): ReviewCache<T> {
  const { validMs, maxEntries = 1_000, now = () => performance.now() } = options
  const entries = new Map<string, { result: Promise<T>; until: number }>()

  return {
    get(key, review) {
      const cached = entries.get(key)
      if (cached && now() < cached.until) return cached.result
      const result = review()
      // Callers that come while the review runs share it.
      const entry = { result, until: Number.POSITIVE_INFINITY }
      entries.delete(key)
      entries.set(key, entry)
      for (const [oldest] of entries) {
        if (entries.size <= maxEntries) break
        entries.delete(oldest)
      }
      result.then(
        value => {
          entry.until = now() + validMs(value)
        },
        () => {
          if (entries.get(key) === entry) entries.delete(key)
        },
      )
      return result
    },
  }
}
