/**
 * The nodes of a MultiNicBizConfig: the index of each interface, and the equivalent MultiNicNodeConfig spec.
 *
 * A BizConfig has no indexes. The first interfaces get theirs by position. From then on an index stays with its MAC address, a
 * new interface gets the lowest free index, and a removal leaves a gap. Pure: controller and migration share it.
 */

import { interfaceName, maxInterfaces, type WireInterface } from '../interfaces.ts'
import type { NodeConfigSpec } from '../node-config.ts'
import type { BizConfig, BizNode } from './biz-config.ts'

/** By MAC address in lower case. */
export type Indexes = ReadonlyMap<string, number>

export function indexesOf(interfaces: readonly WireInterface[]): Indexes {
  return new Map(interfaces.flatMap(({ macAddress, id }) => (id === undefined ? [] : [[macAddress.toLowerCase(), id]])))
}

/** Reads `0 fa:16:3e:00:00:01`, the form in the status. Skips malformed entries. */
export function parseIndexes(texts: readonly string[] = []): Indexes {
  return new Map(
    texts.flatMap(text => {
      const [, index, macAddress] = /^([0-9]) ([0-9a-f:]{17})$/.exec(text) ?? []
      return index !== undefined && macAddress !== undefined ? [[macAddress, Number(index)] as const] : []
    }),
  )
}

export function formatIndexes(interfaces: readonly WireInterface[]): string[] {
  return [...indexesOf(interfaces)].sort(([, a], [, b]) => a - b).map(([macAddress, index]) => `${index} ${macAddress}`)
}

export function withIndexes(interfaces: BizNode['interfaces'], known: Indexes): WireInterface[] {
  const used = new Set<number>()
  const kept = interfaces.map(({ macAddress }) => {
    const index = known.get(macAddress.toLowerCase())
    if (index === undefined || used.has(index)) return undefined
    used.add(index)
    return index
  })
  return interfaces.map((nic, position) => {
    const index = kept[position] ?? lowestFree(used)
    used.add(index)
    return { ...nic, id: index, name: interfaceName(index) }
  })
}

/** The schema refuses a list that is too long. If one gets here, its index is out of range and refused later. */
function lowestFree(used: ReadonlySet<number>): number {
  return Array.from({ length: maxInterfaces + 1 }, (_, index) => index).find(index => !used.has(index)) ?? maxInterfaces
}

/** The spec of the equivalent MultiNicNodeConfig. `nodeName` is the name of the Node, if known. */
export function nodeSpecOf(
  { spec }: Pick<BizConfig, 'spec'>,
  node: BizNode,
  { nodeName, known }: { nodeName: string; known: Indexes },
): NodeConfigSpec {
  return {
    ...(spec.providerId && { providerId: spec.providerId }),
    nodeName,
    instanceId: node.attachedNodeId,
    interfaces: withIndexes(node.interfaces, known),
  }
}
