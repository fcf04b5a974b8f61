/**
 * What the dashboard knows, kept up with the inventory: records in pages, deviations, recent changes, and every change as it
 * comes.
 */
import type { Deviation, HistoryEntry, InventoryRecord } from '../../src/contract/inventory.ts'
import type { OperatorVerdict } from '../../src/contract/operator-api.ts'
import { byName, type Node, nodeKey, nodeOf } from '../model/nodes.ts'
import { ApiError, changes, deviations, recentHistory, recordOf, recordPages, verdicts } from './api.ts'

export interface Data {
  phase: 'loading' | 'ready' | 'away' | 'token'
  problem: string
  /** In the order of their names. */
  nodes: readonly Node[]
  /** Whether every page is in. */
  complete: boolean
  deviations: readonly Deviation[]
  /** On ports and VMs that were not taken; undefined as long as no operator tells. */
  verdicts: readonly OperatorVerdict[] | undefined
  /** Newest first. */
  recent: readonly HistoryEntry[]
  /** Entries up to this id were there before the page was opened. */
  oldest: number
  live: 'on' | 'connecting' | 'off'
  /** When the last sign of the server came. */
  heard: number
}

export interface DataSource {
  readonly data: Data
  subscribe(listener: () => void): () => void
  start(): void
  /** After a failure, or with a new token. */
  retry(): void
}

export const noData: Data = {
  phase: 'loading',
  problem: '',
  nodes: [],
  complete: false,
  deviations: [],
  verdicts: undefined,
  recent: [],
  oldest: Number.MAX_SAFE_INTEGER,
  live: 'connecting',
  heard: 0,
}

const mostRecent = 80
const mostSingle = 30
const verdictsEveryMs = 15_000

export function openData(): DataSource {
  const records = new Map<string, InventoryRecord>()
  const views = new WeakMap<InventoryRecord, { deviations: string; node: Node }>()
  const listeners = new Set<() => void>()
  const dirty = new Map<string, { providerId: string; nodeName: string }>()
  let data: Data = { ...noData, heard: Date.now() }
  let painting = false
  let refreshing = false
  let lastId: string | undefined
  let pause: { end: () => void } | undefined

  function set(change: Partial<Data>): void {
    data = { ...data, ...change }
    if (painting) return
    painting = true
    requestAnimationFrame(() => {
      painting = false
      for (const listener of listeners) listener()
    })
  }

  function viewed(): Node[] {
    const byNode = Map.groupBy(data.deviations, each => nodeKey(each.providerId, each.nodeName))
    return [...records]
      .map(([key, record]) => {
        const own = byNode.get(key) ?? []
        const mark = own.length === 0 ? '' : JSON.stringify(own)
        const known = views.get(record)
        if (known?.deviations === mark) return known.node
        const node = nodeOf(record, own)
        views.set(record, { deviations: mark, node })
        return node
      })
      .sort(byName)
  }

  const put = (record: InventoryRecord) => records.set(nodeKey(record.providerId, record.nodeName), record)

  async function loadAll(first = () => {}): Promise<void> {
    const seen = new Set<string>()
    for await (const page of recordPages()) {
      for (const record of page) {
        put(record)
        seen.add(nodeKey(record.providerId, record.nodeName))
      }
      set({ phase: 'ready', nodes: viewed() })
      first()
    }
    for (const key of records.keys()) if (!seen.has(key)) records.delete(key)
    set({ phase: 'ready', complete: true, deviations: await deviations() })
    set({ nodes: viewed() })
  }

  /** A port that is not taken makes no entry in the history: this is asked for again and again. */
  async function loadVerdicts(): Promise<void> {
    const told = await verdicts().catch(() => data.verdicts)
    if (JSON.stringify(told) !== JSON.stringify(data.verdicts)) set({ verdicts: told })
  }

  async function load(): Promise<void> {
    try {
      // What is seen first is asked for first.
      const first = Promise.withResolvers<void>()
      const recent = first.promise
        .then(() => recentHistory(mostRecent))
        .then(entries => {
          const known = new Set(data.recent.map(({ id }) => id))
          const all = [...data.recent, ...entries.filter(({ id }) => !known.has(id))].sort((a, b) => b.id - a.id)
          set({ recent: all.slice(0, mostRecent), oldest: Math.min(data.oldest, entries[0]?.id ?? 0) })
        })
      await Promise.all([loadAll(first.resolve).finally(first.resolve), recent])
      set({ problem: '', heard: Date.now() })
      await loadVerdicts()
    } catch (error) {
      const refused = error instanceof ApiError && (error.status === 401 || error.status === 403)
      const problem = error instanceof Error ? error.message : String(error)
      if (refused) set({ phase: 'token', problem })
      else set({ phase: records.size > 0 ? 'ready' : 'away', problem })
    }
  }

  /** Reads again what the stream said has changed: the stream has no remedies. */
  async function refresh(): Promise<void> {
    while (dirty.size > 0) {
      await new Promise(resolve => setTimeout(resolve, 60))
      const changed = [...dirty.values()]
      dirty.clear()
      if (changed.length > mostSingle) await loadAll()
      else {
        const found = await Promise.all(changed.map(each => recordOf(each.providerId, each.nodeName)))
        found.forEach((record, index) => {
          const { providerId, nodeName } = changed[index] as { providerId: string; nodeName: string }
          if (record) put(record)
          else records.delete(nodeKey(providerId, nodeName))
        })
        set({ nodes: viewed() })
        set({ deviations: await deviations() })
        set({ nodes: viewed(), heard: Date.now() })
        await loadVerdicts()
      }
    }
  }

  function take(entry: HistoryEntry): void {
    const of = entry.after ?? entry.before
    if (!of || data.recent.some(({ id }) => id === entry.id)) return
    dirty.set(nodeKey(of.providerId, of.nodeName), of)
    set({ recent: [entry, ...data.recent].slice(0, mostRecent), heard: Date.now() })
    if (refreshing) return
    refreshing = true
    refresh()
      .catch(() => {})
      .finally(() => {
        refreshing = false
      })
  }

  async function follow(): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        const opened = () => {
          if (tries > 0 && data.phase !== 'ready') void load()
          tries = 0
          set({ live: 'on', heard: Date.now() })
        }
        for await (const { id, data: text } of changes(lastId, opened, new AbortController().signal)) {
          lastId = id || lastId
          take(JSON.parse(text) as HistoryEntry)
        }
      } catch {}
      if (data.live === 'on') set({ heard: Date.now() })
      set({ live: 'off' })
      await new Promise<void>(resolve => {
        pause = { end: resolve }
        setTimeout(resolve, Math.min(15_000, 500 * 2 ** Math.min(tries, 5)))
      })
      set({ live: 'connecting' })
    }
  }

  return {
    get data() {
      return data
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    start() {
      void follow()
      void load()
      setInterval(() => {
        if (data.live === 'on' && document.visibilityState === 'visible') void loadVerdicts()
      }, verdictsEveryMs)
    },
    retry() {
      if (data.phase !== 'ready') set({ phase: 'loading' })
      pause?.end()
      void load()
    },
  }
}
