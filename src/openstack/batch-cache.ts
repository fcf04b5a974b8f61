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
  const asking = new Map<string, Promise<void>>()

  async function ask(ids: string[], signal: AbortSignal | undefined): Promise<void> {
    const found = new Map((await fetch(ids, signal)).map(value => [idOf(value), value]))
    const at = now()
    for (const [id, { until }] of known) if (until <= at) known.delete(id)
    for (const id of ids) {
      const value = found.get(id)
      known.set(id, { value, until: at + (value === undefined ? keepAbsentMs : keepMs) })
    }
  }

  /** Who asks for what is being asked for gets that answer. */
  async function join(missing: string[], signal: AbortSignal | undefined): Promise<void> {
    const running = new Set(missing.flatMap(id => asking.get(id) ?? []))
    if (running.size > 0) return void (await Promise.all(running))
    const mine = ask(missing, signal)
    for (const id of missing) asking.set(id, mine)
    try {
      await mine
    } finally {
      for (const id of missing) if (asking.get(id) === mine) asking.delete(id)
    }
  }

  return {
    async get(ids, signal) {
      const wanted = [...new Set(ids)]
      for (;;) {
        const at = now()
        const missing = wanted.filter(id => (known.get(id)?.until ?? 0) <= at)
        if (missing.length === 0) break
        await join(missing, signal)
      }
      return new Map(
        wanted.flatMap(id => {
          const value = known.get(id)?.value
          return value === undefined ? [] : [[id, value]]
        }),
      )
    },
    forget() {
      known.clear()
      asking.clear()
    },
  }
}
