/**
 * Caches values by id and fetches missing ones in batches.
 */
import { createJoinedCall, unlessAborted } from './joined-calls.ts'

export interface BatchCache<V> {
  /** Fetches only ids that are unknown or expired. An id without a value is absent from the result. */
  get(ids: readonly string[], signal?: AbortSignal): Promise<Map<string, V>>
  forget(): void
}

export interface BatchCacheOptions<V> {
  keepMs: number
  /** An id without a value expires sooner: it may appear. */
  keepAbsentMs: number
  idOf: (value: V) => string
  /** Up to this number, missing ids are fetched at once. Above it, one fetch waits for the other: each reads a long list. */
  few: number
  fetch: (ids: string[], signal?: AbortSignal) => Promise<V[]>
  now: () => number
}

export function createBatchCache<V>(options: BatchCacheOptions<V>): BatchCache<V> {
  const { keepMs, keepAbsentMs, idOf, few, fetch, now } = options
  const known = new Map<string, { value: V | undefined; until: number }>()
  const fetching = new Map<string, Promise<void>>()

  async function load(ids: string[], signal: AbortSignal | undefined): Promise<void> {
    const found = new Map((await fetch(ids, signal)).map(value => [idOf(value), value]))
    const at = now()
    for (const [id, { until }] of known) if (until <= at) known.delete(id)
    for (const id of ids) {
      const value = found.get(id)
      known.set(id, { value, until: at + (value === undefined ? keepAbsentMs : keepMs) })
    }
  }

  const loadMany = createJoinedCall(ids => load(ids, undefined), { oneAtATime: true })

  /** Waits for a running fetch of the same ids instead of starting another one. */
  async function loadOnce(missing: string[], signal: AbortSignal | undefined): Promise<void> {
    const running = new Set(missing.flatMap(id => fetching.get(id) ?? []))
    if (running.size > 0) return void (await Promise.all(running))
    const mine = missing.length > few ? loadMany(missing) : load(missing, signal)
    for (const id of missing) fetching.set(id, mine)
    const forgetMine = () => {
      for (const id of missing) if (fetching.get(id) === mine) fetching.delete(id)
    }
    mine.then(forgetMine, forgetMine)
    await unlessAborted(mine, signal)
  }

  return {
    async get(ids, signal) {
      const requested = [...new Set(ids)]
      for (;;) {
        const at = now()
        const missing = requested.filter(id => (known.get(id)?.until ?? 0) <= at)
        if (missing.length === 0) break
        await loadOnce(missing, signal)
      }
      return new Map(
        requested.flatMap(id => {
          const value = known.get(id)?.value
          return value === undefined ? [] : [[id, value]]
        }),
      )
    },
    forget() {
      known.clear()
      fetching.clear()
    },
  }
}
