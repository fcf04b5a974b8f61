/**
 * The data of the dashboard, kept up to date with the inventory: records, deviations, verdicts, recent changes.
 */
import type { Deviation, HistoryEntry, InventoryRecord } from '../../src/contract/inventory.ts'
import type { OperatorVerdict } from '../../src/contract/operator-api.ts'
import { type Node, nodeKey, nodeOf } from '../model/nodes.ts'
import { checkIntervalOf } from '../model/observations.ts'
import { byName } from '../model/order.ts'
import { ApiError, deviations, recentHistory, recordOf, recordPages, streamChanges, verdicts } from './api.ts'
import { parseShown } from './shown.ts'

export interface Data {
  phase: 'loading' | 'ready' | 'unreachable' | 'unauthorized'
  error: string
  /** Sorted by name. */
  nodes: readonly Node[]
  /** Whether all pages are loaded. */
  complete: boolean
  deviations: readonly Deviation[]
  /** On ignored ports and VMs. Undefined without an operator. */
  verdicts: readonly OperatorVerdict[] | undefined
  /** Newest first. */
  recent: readonly HistoryEntry[]
  /** Entries with a greater ID arrived after the page was opened. */
  newestAtStart: number
  live: 'on' | 'connecting' | 'off'
  /** When the server last answered. */
  lastContact: number
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
  error: '',
  nodes: [],
  complete: false,
  deviations: [],
  verdicts: undefined,
  recent: [],
  newestAtStart: Number.MAX_SAFE_INTEGER,
  live: 'connecting',
  lastContact: 0,
}

const maxRecent = 80
/** Above this number of changed nodes, all records are read again. */
const maxSingleReads = 30
const verdictIntervalMs = 15_000
/** A check that finds no difference makes no entry in the history: the times of checks are read at least this often. */
const maxRecordAgeMs = 5 * 60_000

export function openData(): DataSource {
  const records = new Map<string, InventoryRecord>()
  const cachedNodes = new WeakMap<InventoryRecord, { deviations: string; node: Node }>()
  const listeners = new Set<() => void>()
  const changedNodes = new Map<string, { providerId: string; nodeName: string }>()
  let data: Data = { ...noData, lastContact: Date.now() }
  let notifyScheduled = false
  let refreshing = false
  let lastId: string | undefined
  let recordsReadAt = 0
  let endBackoff: (() => void) | undefined

  function update(change: Partial<Data>): void {
    data = { ...data, ...change }
    if (notifyScheduled) return
    notifyScheduled = true
    requestAnimationFrame(() => {
      notifyScheduled = false
      for (const listener of listeners) listener()
    })
  }

  function buildNodes(): Node[] {
    const byNode = Map.groupBy(data.deviations, each => nodeKey(each.providerId, each.nodeName))
    return [...records]
      .map(([key, record]) => {
        const own = byNode.get(key) ?? []
        const cacheKey = own.length === 0 ? '' : JSON.stringify(own)
        const cached = cachedNodes.get(record)
        if (cached?.deviations === cacheKey) return cached.node
        const node = nodeOf(record, own)
        cachedNodes.set(record, { deviations: cacheKey, node })
        return node
      })
      .sort(byName)
  }

  const putRecord = (record: InventoryRecord) => records.set(nodeKey(record.providerId, record.nodeName), record)

  async function loadRecords(onFirstPage = () => {}): Promise<void> {
    const seen = new Set<string>()
    for await (const page of recordPages()) {
      for (const record of page) {
        putRecord(record)
        seen.add(nodeKey(record.providerId, record.nodeName))
      }
      update({ phase: 'ready', nodes: buildNodes() })
      onFirstPage()
    }
    for (const key of records.keys()) if (!seen.has(key)) records.delete(key)
    recordsReadAt = Date.now()
    update({ phase: 'ready', complete: true, deviations: await deviations() })
    update({ nodes: buildNodes() })
  }

  /** Polled, because an ignored port makes no entry in the history. */
  async function loadVerdicts(): Promise<void> {
    const loaded = await verdicts().catch(() => data.verdicts)
    if (JSON.stringify(loaded) !== JSON.stringify(data.verdicts)) update({ verdicts: loaded })
  }

  async function load(): Promise<void> {
    try {
      // The first page of records is shown first, so it is requested before the history.
      const firstPage = Promise.withResolvers<void>()
      const recent = firstPage.promise
        .then(() => recentHistory(maxRecent))
        .then(entries => {
          const known = new Set(data.recent.map(({ id }) => id))
          const all = [...data.recent, ...entries.filter(({ id }) => !known.has(id))].sort((a, b) => b.id - a.id)
          update({
            recent: all.slice(0, maxRecent),
            newestAtStart: Math.min(data.newestAtStart, entries[0]?.id ?? 0),
          })
        })
      await Promise.all([loadRecords(firstPage.resolve).finally(firstPage.resolve), recent])
      update({ error: '', lastContact: Date.now() })
      await loadVerdicts()
    } catch (cause) {
      if (isUnauthorized(cause)) update({ phase: 'unauthorized', error: cause.message })
      else update({ phase: records.size > 0 ? 'ready' : 'unreachable', error: messageOf(cause) })
    }
  }

  /** Reads the changed records again: the stream has neither changes of names nor times of checks. */
  async function refresh(): Promise<void> {
    while (changedNodes.size > 0) {
      await new Promise(resolve => setTimeout(resolve, 60))
      const changed = [...changedNodes.values()]
      changedNodes.clear()
      if (changed.length > maxSingleReads) await loadRecords()
      else {
        const found = await Promise.all(changed.map(each => recordOf(each.providerId, each.nodeName)))
        found.forEach((record, index) => {
          const { providerId, nodeName } = changed[index] as { providerId: string; nodeName: string }
          if (record) putRecord(record)
          else records.delete(nodeKey(providerId, nodeName))
        })
        update({ nodes: buildNodes() })
        update({ deviations: await deviations() })
        update({ nodes: buildNodes(), lastContact: Date.now() })
        await loadVerdicts()
      }
    }
  }

  function addEntry(entry: HistoryEntry): void {
    const record = entry.after ?? entry.before
    if (!record || data.recent.some(({ id }) => id === entry.id)) return
    changedNodes.set(nodeKey(record.providerId, record.nodeName), record)
    update({ recent: [entry, ...data.recent].slice(0, maxRecent), lastContact: Date.now() })
    if (refreshing) return
    refreshing = true
    refresh()
      .catch(() => {})
      .finally(() => {
        refreshing = false
      })
  }

  async function followChanges(): Promise<void> {
    for (let attempts = 0; ; attempts++) {
      let needsSignIn = false
      try {
        const onOpen = () => {
          if (attempts > 0 && data.phase !== 'ready') void load()
          attempts = 0
          update({ live: 'on', lastContact: Date.now() })
        }
        for await (const { id, data: text } of streamChanges(lastId, onOpen, new AbortController().signal)) {
          lastId = id || lastId
          addEntry(parseShown<HistoryEntry>(text))
        }
      } catch (cause) {
        needsSignIn = isUnauthorized(cause)
        if (isUnauthorized(cause)) update({ phase: 'unauthorized', error: cause.message })
      }
      if (data.live === 'on') update({ lastContact: Date.now() })
      update({ live: 'off' })
      await new Promise<void>(resolve => {
        endBackoff = resolve
        // Without a new token the answer would be the same.
        if (!needsSignIn) setTimeout(resolve, Math.min(15_000, 500 * 2 ** Math.min(attempts, 5)))
      })
      update({ live: 'connecting' })
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
      void followChanges()
      void load()
      setInterval(() => {
        if (data.live !== 'on' || document.visibilityState !== 'visible') return
        void loadVerdicts()
        const isOld = Date.now() - recordsReadAt > Math.min(maxRecordAgeMs, checkIntervalOf(data.nodes) / 2)
        if (isOld && !refreshing) void loadRecords().catch(() => {})
      }, verdictIntervalMs)
    },
    retry() {
      if (data.phase !== 'ready') update({ phase: 'loading' })
      endBackoff?.()
      void load()
    },
  }
}

function isUnauthorized(cause: unknown): cause is ApiError {
  return cause instanceof ApiError && (cause.status === 401 || cause.status === 403)
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
