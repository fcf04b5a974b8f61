/**
 * Delivered interfaces that have another index than their subnet: somebody gave the subnet an index later. They stay until a
 * person asks for the move. Pure.
 */

import { type Interface, interfaceIndex, interfaceName } from '../../contract/interfaces.ts'
import type { MoveInProgress } from '../../contract/renumber-status.ts'
import { shownName } from '../../contract/truncate.ts'
import { byPreference, type Candidate, indexes, type ReservedByOthers, reservedByOthers } from './interface-indexes.ts'
import type { PlanInput } from './observed-state.ts'
import { addressesIn } from './verdicts.ts'

export interface Move extends Pick<MoveInProgress, 'nodeName' | 'portId' | 'from' | 'to' | 'exchange'> {
  subnetName?: string
  /** Why it cannot move. */
  blocked?: string
}

interface MoveContext {
  observed: PlanInput
  /** The number that the subnet of a port has. */
  wantedIndex: (nic: Interface) => number | undefined
  reserved: ReservedByOthers
}

interface NodeInterfaces {
  nodeName: string
  instanceId: string
  interfaces: readonly Interface[]
}

export function movesOf(nodes: readonly NodeInterfaces[], observed: PlanInput): Move[] {
  const { source, subnets, places, ports, claims } = observed
  if (subnets.every(({ index }) => index === undefined)) return []
  const byId = new Map(ports.map(port => [port.id, port]))
  const candidateOf = (nic: Interface): Candidate | undefined => {
    const port = nic.source === source ? byId.get(nic.portId ?? '') : undefined
    const match = port && addressesIn(port, places)
    return port && match && 'subnet' in match ? { port, match } : undefined
  }
  const wantedIndex = (nic: Interface) => candidateOf(nic)?.match.index
  const context = { observed, wantedIndex, reserved: reservedByOthers(claims) }
  return nodes.flatMap(node => {
    const own = node.interfaces.flatMap((nic): (Candidate & { nic: Interface; to: string })[] => {
      const found = candidateOf(nic)
      if (found?.match.index === undefined) return []
      return [{ ...found, nic, to: interfaceName(found.match.index) }]
    })
    return [...Map.groupBy(own, ({ to }) => to)].flatMap(([to, group]): Move[] => {
      const [first] = group.toSorted(byPreference)
      if (!first || group.some(({ nic }) => nic.name === to)) return []
      const subnetName = shownName(first.match.subnet.name)
      const { portId = '', name: from } = first.nic
      return [
        {
          ...{ nodeName: node.nodeName, portId, from, to },
          ...(subnetName && { subnetName }),
          ...displacement(node, first.nic, to, context),
        },
      ]
    })
  })
}

/**
 * Another interface has the index: it gets that of its own subnet, else the index that becomes free, else the lowest free
 * index that no subnet has.
 */
function displacement(
  { interfaces, instanceId }: NodeInterfaces,
  nic: Interface,
  to: string,
  { observed, wantedIndex, reserved }: MoveContext,
): Pick<Move, 'exchange' | 'blocked'> {
  const holder = interfaces.find(({ name }) => name === to)
  if (!holder) return {}
  if (holder.source !== observed.source || holder.portId === undefined)
    return { blocked: `${to} is an interface of ${holder.source ?? 'another object'}` }
  const used = new Set(interfaces.filter(other => other !== nic).map(({ index }) => index))
  const taken = new Set([...(reserved.get(instanceId) ?? []), ...observed.subnets.flatMap(({ index }) => index ?? [])])
  const wanted = wantedIndex(holder)
  const index = [
    ...(wanted === undefined ? [] : [wanted]),
    // With an index of its own, the interface will leave this one again.
    ...(wanted === undefined && taken.has(nic.index) ? [] : [nic.index]),
    ...indexes.filter(index => !taken.has(index)),
  ].find(index => !used.has(index))
  if (index === undefined) return { blocked: `no index is free for ${holder.name}, which has to make room` }
  return { exchange: { portId: holder.portId, from: holder.name, to: interfaceName(index) } }
}

/** The interfaces of a node with the indexes of a move in progress; unchanged if one of the indexes is in use. */
export function renumbered(
  nodeName: string,
  interfaces: readonly Interface[],
  move: MoveInProgress | undefined,
): readonly Interface[] {
  if (move?.nodeName !== nodeName) return interfaces
  const moved = interfaces.map(nic => {
    const one = [move, move.exchange].find(port => port?.portId === nic.portId)
    const name = (move.phase === 'Moving' ? one?.to : one?.from) ?? nic.name
    return { ...nic, index: interfaceIndex(name) ?? nic.index, name }
  })
  return new Set(moved.map(({ index }) => index)).size === moved.length ? moved : interfaces
}

/** The indexes that a move in progress uses, and needs again if it fails. */
export function numbersIn({ from, to, exchange }: MoveInProgress): number[] {
  return [from, to, exchange?.to].flatMap(name => interfaceIndex(name ?? '') ?? [])
}
