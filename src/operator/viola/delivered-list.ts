/**
 * The list of node configs of one Viola and provider, shared by its objects: read once, then kept current by the stream and
 * by the results of our writes.
 *
 * Without a stream, every write makes the list outdated, and so does the end of the stream: the next reader asks Viola.
 */
import { areComplete, completeInterfaces, type WireInterface, withoutNames } from '../../contract/interfaces.ts'
import { equalJson } from '../../contract/json.ts'
import type { DeliveredNode } from '../plan/observed-state.ts'
import {
  type Concerned,
  type DeliveredNodes,
  type KnownNode,
  type NodeConfigEvent,
  type NodeToWrite,
  type PostOutcome,
  type SentNode,
  toViolaNode,
  type ViolaClient,
} from './viola-client.ts'

/** A client that asks Viola for every list. */
export type UnsharedViola = Omit<ViolaClient, 'list' | 'watchNodeConfigs'> & {
  list(signal?: AbortSignal, known?: KnownNode): Promise<DeliveredNodes>
  watchNodeConfigs(signal: AbortSignal, known: KnownNode): AsyncIterable<NodeConfigEvent>
}

interface KnownList {
  /** Undefined after a change from the stream, until it is asked for. */
  list: DeliveredNodes | undefined
  byName: Map<string, DeliveredNode>
  /** When Viola was asked, in monotonic milliseconds. */
  readAt: number
}

export interface DeliveredListOptions {
  now?: () => number
  /** What is taken from the stream before the list is read again: a list has a limit of its size, a stream has none. */
  maxTakenLength?: number
}

/** A node as it is now, or undefined if it was deleted. */
interface Change {
  node: DeliveredNode | undefined
  /** Written by us. Anything else is from the stream. */
  isOurs: boolean
  length: number
}

export function withDeliveredList(
  viola: UnsharedViola,
  { now = () => performance.now(), maxTakenLength = 32 * 1024 * 1024 }: DeliveredListOptions = {},
): ViolaClient {
  let known: KnownList | undefined
  /** Counts what outdates lists, also those that are being read. */
  let outdated = 0
  let readOutdated = -1
  let isStreaming = false
  /** Changes while lists are being read, by the name of the node: a list may be older. */
  const arriving = new Map<string, Change>()
  let reading = 0
  let takenLength = 0
  /** The nodes of the POSTs under way, until their events come: Viola reports a node before it answers for all of them. */
  const writing = new Map<string, SentNode>()
  /** The last read that others may share, and what had outdated lists before it. */
  let current: { before: number; list: Promise<DeliveredNodes> } | undefined
  const knownNode: KnownNode = nodeName => ({
    delivered: known?.byName.get(nodeName),
    sent: writing.get(nodeName),
  })

  async function read(signal: AbortSignal | undefined): Promise<DeliveredNodes> {
    const [readAt, before] = [now(), outdated]
    reading++
    try {
      const list = await viola.list(signal, knownNode)
      // A list that was read earlier than the known one may end later.
      if (known && known.readAt > readAt) return list
      known = toKnown(list, readAt)
      readOutdated = before
      takenLength = 0
      for (const [nodeName, change] of arriving) take(nodeName, change)
      return listOf(known)
    } finally {
      if (--reading === 0) arriving.clear()
    }
  }

  /** Takes over a change. Reports whether the node differs from the known one. */
  function take(nodeName: string, { node, isOurs }: Change): boolean {
    if (!known) return true
    const before = known.byName.get(nodeName)
    const isSameSpec = before?.specHash === node?.specHash
    const isSameConfig = isSameSpec && before?.generation === node?.generation
    if (isSameConfig && equalJson(reported(before), reported(node))) return false
    // From before our last write of this node.
    if (before && node && node.generation < before.generation && !isSameSpec) return false
    known.list = undefined
    if (!node) known.byName.delete(nodeName)
    else if (isSameConfig && before) known.byName.set(nodeName, withReported(before, node))
    else if (isSameSpec || isOurs) known.byName.set(nodeName, node)
    // Somebody else wrote it: only the list has who it was, and whether the node is still of this provider.
    else outdated++
    return true
  }

  /** Takes over a change now and, because a list that is being read may be older, also after that. */
  function note(nodeName: string, change: Change): boolean {
    takenLength += change.length
    if (takenLength > maxTakenLength) {
      outdated++
      return true
    }
    if (reading > 0) arriving.set(nodeName, change)
    return take(nodeName, change)
  }

  function concernedBy(event: NodeConfigEvent): Concerned {
    if (event.type === 'synced') {
      isStreaming = true
      if (!event.isListed) outdated++
      return event.isListed ? new Set() : 'all'
    }
    const { type, node, length } = event
    const before = known?.byName.get(node.nodeName)
    const isOurs = type === 'changed' && isBeingWritten(node, before)
    // Before our write or after it: only Viola knows.
    if (type === 'deleted' && writing.delete(node.nodeName)) outdated++
    const change = { node: type === 'deleted' ? undefined : node, isOurs, length }
    // The sync that writes a node knows what it wrote.
    if (!note(node.nodeName, change) || isOurs) return new Set()
    return new Set([before, node].flatMap(one => one?.interfaces.flatMap(({ source }) => source ?? []) ?? []))
  }

  /** Reports whether a changed node has the config of a POST under way. Its answer then has nothing to add. */
  function isBeingWritten(node: DeliveredNode, before: DeliveredNode | undefined): boolean {
    const sent = writing.get(node.nodeName)
    if (!sent || before?.specHash === node.specHash || !hasConfig(node, sent.node)) return false
    writing.delete(node.nodeName)
    return true
  }

  /** Takes over what Viola accepted. Reports whether that is all that the write can have changed. */
  function noteAccepted(sent: readonly SentNode[], { results }: PostOutcome): boolean {
    if (!isStreaming) return false
    for (const one of sent) {
      const { node } = one
      const { action, specHash } = results.get(node.nodeName) ?? {}
      if (action === 'conflict' || action === 'failed' || writing.get(node.nodeName) !== one) continue
      const before = known?.byName.get(node.nodeName)
      // The names of its interfaces may be new. The stream reports them.
      if (action === 'unchanged' && before?.specHash === specHash) continue
      if (specHash === undefined || node.interfaces.length === 0) return false
      note(node.nodeName, { node: { ...toDelivered(node, before), specHash }, isOurs: true, length: 0 })
    }
    return true
  }

  return {
    ...viola,
    async list(signal, { maxAgeMs = 0, maxStreamedMs = maxAgeMs } = {}) {
      const maxMs = isStreaming ? maxStreamedMs : maxAgeMs
      if (maxMs === 0) return read(signal)
      if (known && readOutdated === outdated && now() - known.readAt < maxMs) return listOf(known)
      // The signal of another reader may end its read.
      const shared = current?.before === outdated ? await current.list.catch(() => undefined) : undefined
      if (shared) return shared
      const started = { before: outdated, list: read(signal) }
      current = started
      return started.list.finally(() => {
        if (current === started) current = undefined
      })
    },
    async post(toWrite, ...request) {
      const sent = toWrite.map(toSent)
      let isKnown = false
      for (const one of sent) writing.set(one.node.nodeName, one)
      try {
        const outcome = await viola.post(toWrite, ...request)
        isKnown = noteAccepted(sent, outcome)
        return outcome
      } finally {
        for (const one of sent) if (writing.get(one.node.nodeName) === one) writing.delete(one.node.nodeName)
        if (!isKnown) outdated++
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
        for await (const event of viola.watchNodeConfigs(signal, knownNode)) yield concernedBy(event)
      } finally {
        isStreaming = false
        outdated++
      }
    },
  }
}

/** What may change without the config: only a list has who edited it. */
function reported(node: DeliveredNode | undefined): Partial<DeliveredNode> {
  const { status, providerName } = node ?? {}
  return { ...(status && { status }), ...(providerName !== undefined && { providerName }) }
}

function withReported({ status: _, providerName: __, ...config }: DeliveredNode, node: DeliveredNode): DeliveredNode {
  return { ...config, ...reported(node) }
}

/** With the interfaces as Viola completes them: usually those that were planned. */
function toSent(node: NodeToWrite): SentNode {
  const wire = toViolaNode(node).interfaces
  if (areComplete(wire as WireInterface[])) return { node, wire }
  const complete = { ...node, interfaces: completeInterfaces(wire as WireInterface[]).interfaces }
  return { node: complete, wire: toViolaNode(complete).interfaces }
}

/** Reports whether a node has the config that was sent. The names of interfaces are no part of it. */
function hasConfig({ interfaces, instanceId = '' }: DeliveredNode, sent: NodeToWrite): boolean {
  if (instanceId !== (sent.instanceId ?? '')) return false
  return equalJson(interfaces.map(withoutNames), sent.interfaces.map(withoutNames))
}

/** A node that Viola just accepted. It reports the generation later: until then it is the next one. */
function toDelivered(node: NodeToWrite, before: DeliveredNode | undefined): Omit<DeliveredNode, 'specHash'> {
  const { nodeName, instanceId, instanceName, interfaces } = node
  const { providerName, status, generation = 0 } = before ?? {}
  return {
    nodeName,
    generation: generation + 1,
    interfaces,
    ...(instanceId !== undefined && { instanceId }),
    ...(instanceName !== undefined && { instanceName }),
    ...(providerName !== undefined && { providerName }),
    ...(status && { status }),
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
