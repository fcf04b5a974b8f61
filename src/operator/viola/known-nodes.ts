/**
 * The node configs that a Viola and its stream reported last, and whether they are still current.
 */
import { equalJson } from '../../contract/json.ts'
import type { DeliveredNode } from '../plan/observed-state.ts'
import type { DeliveredNodes } from './viola-client.ts'

/** A node as it is now, or undefined if it was deleted. */
export interface Change {
  node: DeliveredNode | undefined
  /** Written by us. Anything else is from the stream. */
  isOurs: boolean
  length: number
}

export interface KnownNodes {
  node(nodeName: string): DeliveredNode | undefined
  /** The list, if nothing outdated it and it was read less than this time ago. */
  list(maxMs: number): DeliveredNodes | undefined
  /** Reads the list. Changes that arrive meanwhile are taken over after it. */
  read(fetch: () => Promise<DeliveredNodes>): Promise<DeliveredNodes>
  /** Takes over a change. Reports whether the node differs from the known one. */
  note(nodeName: string, change: Change): boolean
  /** The list has to be read again. So have lists that are being read. */
  outdate(): void
  /** Counts what outdates lists. */
  version(): number
}

interface KnownList {
  /** Undefined after a change from the stream, until it is asked for. */
  list: DeliveredNodes | undefined
  byName: Map<string, DeliveredNode>
  /** When Viola was asked, in monotonic milliseconds. */
  readAt: number
}

/** `maxTakenLength`: what is taken from the stream before the list is read again. */
export function createKnownNodes(now: () => number, maxTakenLength: number): KnownNodes {
  let known: KnownList | undefined
  let outdated = 0
  let readOutdated = -1
  /** Changes while lists are being read, by the name of the node: a list may be older. */
  const arriving = new Map<string, Change>()
  let reading = 0
  let takenLength = 0

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

  return {
    node: nodeName => known?.byName.get(nodeName),
    list: maxMs => (known && readOutdated === outdated && now() - known.readAt < maxMs ? listOf(known) : undefined),
    async read(fetch) {
      const [readAt, before] = [now(), outdated]
      reading++
      try {
        const list = await fetch()
        // A list that was read earlier than the known one may end later.
        if (known && known.readAt > readAt) return list
        known = { list, byName: new Map(list.nodes.map(node => [node.nodeName, node])), readAt }
        readOutdated = before
        takenLength = 0
        for (const [nodeName, change] of arriving) take(nodeName, change)
        return listOf(known)
      } finally {
        if (--reading === 0) arriving.clear()
      }
    },
    note(nodeName, change) {
      takenLength += change.length
      if (takenLength > maxTakenLength) {
        outdated++
        return true
      }
      if (reading > 0) arriving.set(nodeName, change)
      return take(nodeName, change)
    },
    outdate() {
      outdated++
    },
    version: () => outdated,
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

/** Only a Viola that reports its nodes has a stream. */
function listOf(known: KnownList): DeliveredNodes {
  known.list ??= { nodes: [...known.byName.values()], reported: true }
  return known.list
}
