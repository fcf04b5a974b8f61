/**
 * Results of reviews by the Kubernetes API, kept for a moment, so that a busy caller costs few requests. Bounded: the oldest
 * entry is dropped first. Refusals are kept apart, so that a flood of unknown callers does not drop the known ones.
 */
export interface ReviewCache<T> {
  /**
   * The cached result, else that of `review`. A failed review is not cached. `isKnown`: the last result was not a refusal, and
   * is no longer valid.
   */
  get(key: string, review: (isKnown: boolean) => Promise<T>): Promise<T>
}

export interface ReviewCacheOptions {
  /** How long a result is valid. A refusal is false or undefined. */
  validMs: { granted: number; refused: number }
  maxEntries?: number
  now?: () => number
}

export function createReviewCache<T>(options: ReviewCacheOptions): ReviewCache<T> {
  const { validMs, maxEntries = 1_000, now = () => performance.now() } = options
  const results = { granted: new Map<string, Kept<T>>(), refused: new Map<string, Kept<T>>() }
  /** Callers that come while a review runs share it. */
  const running = new Map<string, Promise<T>>()

  async function run(key: string, review: (isKnown: boolean) => Promise<T>): Promise<T> {
    try {
      const result = await review(results.granted.has(key))
      const kind = result === undefined || result === false ? 'refused' : 'granted'
      for (const kept of Object.values(results)) kept.delete(key)
      results[kind].set(key, { result, until: now() + validMs[kind] })
      const [oldest] = results[kind].keys()
      if (results[kind].size > maxEntries && oldest !== undefined) results[kind].delete(oldest)
      return result
    } finally {
      running.delete(key)
    }
  }

  return {
    async get(key, review) {
      const kept = results.granted.get(key) ?? results.refused.get(key)
      if (kept && now() < kept.until) return kept.result
      const shared = running.get(key) ?? run(key, review)
      running.set(key, shared)
      return shared
    },
  }
}

interface Kept<T> {
  result: T
  until: number
}
