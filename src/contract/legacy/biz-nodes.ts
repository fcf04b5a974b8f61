/**
 * The nodes of a MultiNicBizConfig, one by one: which number each interface has, and what its MultiNicNodeConfig would ask for.
 *
 * A BizConfig names no numbers. The first interfaces are numbered in their order; from then on a number stays with its MAC
 * address, a new one takes the lowest that is free, and a removal leaves a hole. Pure: controller and migration say the same.
 */

import { interfaceName, maxInterfaces, type WireInterface } from '../interfaces.ts'
import type { NodeConfigSpec } from '../node-config.ts'
import type { BizConfig, BizNode } from './biz-config.ts'

/** By MAC address in lower case. */
export type Numbers = ReadonlyMap<string, number>

export function numbersFrom(interfaces: readonly WireInterface[]): Numbers {
  return new Map(interfaces.flatMap(({ macAddress, id }) => (id === undefined ? [] : [[macAddress.toLowerCase(), id]])))
}

/** `0 fa:16:3e:00:00:01`, as a status keeps it. What cannot be read is left out. */
export function readNumbers(texts: readonly string[] = []): Numbers {
  return new Map(
    texts.flatMap(text => {
      const [, id, mac] = /^([0-9]) ([0-9a-f:]{17})$/.exec(text) ?? []
      return id !== undefined && mac !== undefined ? [[mac, Number(id)] as const] : []
    }),
  )
}

export function numberTexts(interfaces: readonly WireInterface[]): string[] {
  return [...numbersFrom(interfaces)].sort(([, a], [, b]) => a - b).map(([mac, id]) => `${id} ${mac}`)
}

export function numbered(interfaces: BizNode['interfaces'], known: Numbers): WireInterface[] {
  const taken = new Set<number>()
  const kept = interfaces.map(({ macAddress }) => {
    const id = known.get(macAddress.toLowerCase())
    if (id === undefined || taken.has(id)) return undefined
    taken.add(id)
    return id
  })
  return interfaces.map((nic, index) => {
    const id = kept[index] ?? lowestFree(taken)
    taken.add(id)
    return { ...nic, id, name: interfaceName(id) }
  })
}

/** A list that is too long is refused by the schema; what comes here all the same is refused by its number. */
function lowestFree(taken: ReadonlySet<number>): number {
  return Array.from({ length: maxInterfaces + 1 }, (_, id) => id).find(id => !taken.has(id)) ?? maxInterfaces
}

/** What a MultiNicNodeConfig of the node would ask for. `nodeName` is the Node's own, where it is known. */
export function nodeSpecOf(
  { spec }: Pick<BizConfig, 'spec'>,
  node: BizNode,
  { nodeName, known }: { nodeName: string; known: Numbers },
): NodeConfigSpec {
  return {
    ...(spec.providerId && { providerId: spec.providerId }),
    nodeName,
    instanceId: node.attachedNodeId,
    interfaces: numbered(node.interfaces, known),
  }
}
