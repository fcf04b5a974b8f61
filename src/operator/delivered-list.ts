/**
 * The list of node configs of one Viola and provider, shared by its objects: read once, then kept current by the stream.
 *
 * A changed status is taken from the stream. Any other change, a write of ours and the end of the stream only mark the list
 * as outdated, so that the next reader asks Viola. A list without a stream is outdated after the time that its reader allows.
 */
import { equalJson } from '../contract/json.ts'
import type { DeliveredNode } from './observed-state.ts'
import type { Concerned, DeliveredNodes, NodeConfigEvent, ViolaClient } from './viola-client.ts'

/** A client that asks Viola for every list. */
export type UnsharedViola = Omit<ViolaClient, 'list' | 'watchNodeConfigs'> & {
  list(signal?: AbortSignal): Promise<DeliveredNodes>
  watchNodeConfigs(signal: AbortSignal): AsyncIterable<NodeConfigEvent>
}

interface KnownList {
  /** Undefined after a change from the stream, until it is asked for. */
  list: DeliveredNodes | undefined
  byName: Map<string, DeliveredNode>
  /** When Viola was asked, in monotonic milliseconds. */
  readAt: number
}

/** Statuses that are taken from the stream before the list is read again: a list has a limit of its size, a stream has none. */
const maxTaken = 500

export function withDeliveredList(viola: UnsharedViola, now = () => performance.now()): ViolaClient {
  let known: KnownList | undefined
  /** Counts what outdates lists, also those that are being read. */
  let outdated = 0
  let readOutdated = -1
  /** Statuses that arrive while lists are being read: a list may be older. */
  const arriving = new Map<string, DeliveredNode>()
  let reading = 0
  let taken = 0
  /** The last read that others may share, and what had outdated lists before it. */
  let current: { before: number; list: Promise<DeliveredNodes> } | undefined

  async function read(signal: AbortSignal | undefined): Promise<DeliveredNodes> {
    const [readAt, before] = [now(), outdated]
    reading++
    try {
      const list = await viola.list(signal)
      // A list that was read earlier than the known one may end later.
      if (known && known.readAt > readAt) return list
      const isKnown = known?.list?.nodes === list.nodes
      known = known && isKnown ? { ...known, readAt } : toKnown(list, readAt)
      readOutdated = before
      taken = 0
      for (const node of arriving.values()) update(node)
      return listOf(known)
    } finally {
      if (--reading === 0) arriving.clear()
    }
  }

  /** Takes over a changed status. Reports whether the node differs from the known one. */
  function update(node: DeliveredNode): boolean {
    const before = known?.byName.get(node.nodeName)
    const isSameConfig = before?.specHash === node.specHash && before.generation === node.generation
    if (!known || !before || !isSameConfig) {
      outdated++
      return true
    }
    if (equalJson(before.status ?? null, node.status ?? null)) return false
    if (++taken > maxTaken) {
      outdated++
      return true
    }
    const { status: _, ...config } = before
    known.byName.set(node.nodeName, { ...config, ...(node.status && { status: node.status }) })
    known.list = undefined
    return true
  }

  function concernedBy(event: NodeConfigEvent): Concerned {
    if (event.type === 'synced') {
      if (!event.isListed) outdated++
      return event.isListed ? new Set() : 'all'
    }
    const { node } = event
    const before = known?.byName.get(node.nodeName)
    if (reading > 0 && arriving.size < maxTaken) arriving.set(node.nodeName, node)
    else if (reading > 0) outdated++
    if (event.type === 'deleted') outdated++
    else if (!update(node)) return new Set()
    return new Set([before, node].flatMap(one => one?.interfaces.flatMap(({ source }) => source ?? []) ?? []))
  }

  return {
    ...viola,
    async list(signal, maxAgeMs = 0) {
      if (maxAgeMs === 0) return read(signal)
      if (known && readOutdated === outdated && now() - known.readAt < maxAgeMs) return listOf(known)
      // The signal of another reader may end its read.
      const shared = current?.before === outdated ? await current.list.catch(() => undefined) : undefined
      if (shared) return shared
      const started = { before: outdated, list: read(signal) }
      current = started
      return started.list.finally(() => {
        if (current === started) current = undefined
      })
    },
    async post(...request) {
      try {
        return await viola.post(...request)
      } finally {
        outdated++
      }
    },
    async remove(...request) {
      try {
        return await viola.remove(...request)
      } finally {
        outdated++
      }
    },
    async *watchNodeConfigs(signal) {
      try {
        for await (const event of viola.watchNodeConfigs(signal)) yield concernedBy(event)
      } finally {
        outdated++
      }
    },
  }
}

/** Only a Viola that reports its nodes has a stream. */
function listOf(known: KnownList): DeliveredNodes {
  known.list ??= { nodes: [...known.byName.values()], reported: true }
  return known.list
}

function toKnown(list: DeliveredNodes, readAt: number): KnownList {
  return { list, byName: new Map(list.nodes.map(node => [node.nodeName, node])), readAt }
}
