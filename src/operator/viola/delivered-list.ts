/**
 * The list of node configs of one Viola and provider, shared by its objects: read once, then kept current by the stream and
 * by the results of our writes.
 *
 * Without a stream, every write makes the list outdated, and so does the end of the stream: the next reader asks Viola.
 */
import { areComplete, completeInterfaces, type WireInterface, withoutNames } from '../../contract/interfaces.ts'
import { equalJson } from '../../contract/json.ts'
import type { DeliveredNode } from '../plan/observed-state.ts'
import { createKnownNodes } from './known-nodes.ts'
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

export interface DeliveredListOptions {
  now?: () => number
  /** What is taken from the stream before the list is read again: a list has a limit of its size, a stream has none. */
  maxTakenLength?: number
}

export function withDeliveredList(
  viola: UnsharedViola,
  { now = () => performance.now(), maxTakenLength = 32 * 1024 * 1024 }: DeliveredListOptions = {},
): ViolaClient {
  const known = createKnownNodes(now, maxTakenLength)
  let isStreaming = false
  /** The nodes of the POSTs under way, until their events come: Viola reports a node before it answers for all of them. */
  const writing = new Map<string, SentNode>()
  /** The last read that others may share, and what had outdated lists before it. */
  let current: { before: number; list: Promise<DeliveredNodes> } | undefined
  const knownNode: KnownNode = nodeName => ({ delivered: known.node(nodeName), sent: writing.get(nodeName) })

  function concernedBy(event: NodeConfigEvent): Concerned {
    if (event.type === 'synced') {
      isStreaming = true
      if (!event.isListed) known.outdate()
      return event.isListed ? new Set() : 'all'
    }
    const { type, node, length } = event
    const before = known.node(node.nodeName)
    const isOurs = type === 'changed' && isBeingWritten(node, before)
    // Before our write or after it: only Viola knows.
    if (type === 'deleted' && writing.delete(node.nodeName)) known.outdate()
    const change = { node: type === 'deleted' ? undefined : node, isOurs, length }
    // The sync that writes a node knows what it wrote.
    if (!known.note(node.nodeName, change) || isOurs) return new Set()
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
      const before = known.node(node.nodeName)
      // The names of its interfaces may be new. The stream reports them.
      if (action === 'unchanged' && before?.specHash === specHash) continue
      if (specHash === undefined || node.interfaces.length === 0) return false
      known.note(node.nodeName, { node: { ...toDelivered(node, before), specHash }, isOurs: true, length: 0 })
    }
    return true
  }

  return {
    ...viola,
    async list(signal, { maxAgeMs = 0, maxStreamedMs = maxAgeMs } = {}) {
      const maxMs = isStreaming ? maxStreamedMs : maxAgeMs
      const read = () => known.read(() => viola.list(signal, knownNode))
      if (maxMs === 0) return read()
      const list = known.list(maxMs)
      if (list) return list
      // The signal of another reader may end its read.
      const shared = current?.before === known.version() ? await current.list.catch(() => undefined) : undefined
      if (shared) return shared
      const started = { before: known.version(), list: read() }
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
        if (!isKnown) known.outdate()
      }
    },
    async remove(...request) {
      try {
        return await viola.remove(...request)
      } finally {
        known.outdate()
      }
    },
    async *watchNodeConfigs(signal) {
      try {
        for await (const event of viola.watchNodeConfigs(signal, knownNode)) yield concernedBy(event)
      } finally {
        isStreaming = false
        known.outdate()
      }
    },
  }
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
