/**
 * Values by id that are asked for in batches and kept for a while: what is known is not asked again.
 */
export interface BatchCache<V> {
  /** What is known of these ids, asking only for those that are new or too old. An id without a value is absent. */
  get(ids: readonly string[], signal?: AbortSignal): Promise<Map<string, V>>
  forget(): void
}

export interface BatchCacheOptions<V> {
  keepMs: number
  /** An id without a value is asked for again sooner: it may appear. */
  keepAbsentMs: number
  idOf: (value: V) => string
  fetch: (ids: string[], signal?: AbortSignal) => Promise<V[]>
  now: () => number
}

export function createBatchCache<V>(options: BatchCacheOptions<V>): BatchCache<V> {
  const { keepMs, keepAbsentMs, idOf, fetch, now } = options
  const known = new Map<string, { value: V | undefined; until: number }>()

  return {
    async get(ids, signal) {
      const wanted = [...new Set(ids)]
      const at = now()
      const missing = wanted.filter(id => (known.get(id)?.until ?? 0) <= at)
      if (missing.length > 0) {
        const found = new Map((await fetch(missing, signal)).map(value => [idOf(value), value]))
        for (const id of missing) {
          const value = found.get(id)
          known.set(id, { value, until: at + (value === undefined ? keepAbsentMs : keepMs) })
        }
      }
      for (const [id, { until }] of known) if (until <= at) known.delete(id)
      return new Map(
        wanted.flatMap(id => {
          const value = known.get(id)?.value
          return value === undefined ? [] : [[id, value]]
        }),
      )
    },
    forget: () => known.clear(),
  }
}
