/**
 * Assigns indexes to new ports. A port of a subnet with an index gets that index. The others get the lowest free index that
 * no subnet has: ports in the order of the user's subnets, then by age, then by MAC address. Pure.
 *
 * An index in use is never reassigned: a port keeps its index, and a removal leaves a gap. For a short time a port that
 * returns gets its former index, which the others get only if no other one is free.
 */
import { type Interface, maxInterfaces } from '../../contract/interfaces.ts'
import type { ReservedIndex } from '../../contract/openstack-config.ts'
import type { Port } from '../cloud.ts'
import { type Claim, type DeliveredNode, identityOf, type SelectedSubnet } from './observed-state.ts'
import { byCreation, type Match } from './verdicts.ts'

export interface Candidate {
  port: Port
  match: Match
}

export interface IndexAssignment {
  assigned: { candidate: Candidate; index: number }[]
  /** Their index belongs to a port of another subnet. */
  blocked: { candidate: Candidate; by: Interface }[]
  /** No index was left for these. */
  overflow: Candidate[]
}

export interface OnNode {
  interfaces: readonly Interface[]
  subnets: readonly SelectedSubnet[]
  /** Indexes that other OpenstackConfigs give their subnets. */
  reserved: ReadonlySet<number>
  formerIndexes: FormerIndexes
}

/** By port, the index that it had on this VM until a short time ago. */
export type FormerIndexes = ReadonlyMap<string, number>

export function assignIndexes(
  candidates: readonly Candidate[],
  { interfaces, subnets, reserved, formerIndexes }: OnNode,
): IndexAssignment {
  const result: IndexAssignment = { assigned: [], blocked: [], overflow: [] }
  const indexOf = new Map(subnets.map(({ id, index }) => [id, index]))
  const holders = new Map(interfaces.map(nic => [nic.index, nic]))
  const used = new Set(holders.keys())
  const unavailable = new Set([...reserved, ...subnets.flatMap(({ index }) => index ?? [])])
  const assign = (candidate: Candidate, index: number) => {
    used.add(index)
    result.assigned.push({ candidate, index })
  }
  const rest = candidates.toSorted(byPreference).filter(candidate => {
    const { index } = candidate.match
    if (index === undefined) return true
    const by = holders.get(index)
    if (by && indexOf.get(by.subnetId ?? '') !== index) result.blocked.push({ candidate, by })
    else if (used.has(index)) return true
    else assign(candidate, index)
    return false
  })
  const isFree = (index: number | undefined) => index !== undefined && !used.has(index) && !unavailable.has(index)
  const others = rest.filter(candidate => {
    const former = formerIndexes.get(candidate.port.id)
    if (former === undefined || !isFree(former)) return true
    assign(candidate, former)
    return false
  })
  const ofOthers = new Set(formerIndexes.values())
  const free = indexes.filter(isFree)
  const inOrder = [...free.filter(index => !ofOthers.has(index)), ...free.filter(index => ofOthers.has(index))]
  for (const candidate of others) {
    const index = inOrder.shift()
    if (index === undefined) result.overflow.push(candidate)
    else assign(candidate, index)
  }
  return result
}

/** By port, the indexes that a plan takes away from the ports of a VM. */
export function removedIndexes(
  { delivered, interfaces }: { delivered?: DeliveredNode; interfaces: readonly Interface[] },
  vmId: string,
): [string, number][] {
  if (!delivered || delivered.instanceId !== vmId) return []
  const left = new Set(interfaces.map(identityOf))
  return delivered.interfaces.flatMap(nic => (left.has(identityOf(nic)) ? [] : [[identityOf(nic), nic.index]]))
}

export function formerIndexesByVm(all: readonly ReservedIndex[]): ReadonlyMap<string, FormerIndexes> {
  const byVm = Map.groupBy(all, ({ vmId }) => vmId)
  return new Map([...byVm].map(([vmId, own]) => [vmId, new Map(own.map(({ portId, index }) => [portId, index]))]))
}

export const indexes = Array.from({ length: maxInterfaces }, (_, index) => index)

export function byPreference(a: Candidate, b: Candidate): number {
  return a.match.order - b.match.order || byAge(a.port, b.port)
}

export function byAge(a: Port, b: Port): number {
  return byCreation(a, b) || compare(a.macAddress, b.macAddress) || compare(a.id, b.id)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** By VM, the indexes that other OpenstackConfigs give their subnets. */
export type ReservedByOthers = ReadonlyMap<string, ReadonlySet<number>>

export function reservedByOthers(claims: readonly Claim[]): ReservedByOthers {
  const reserved = new Map<string, Set<number>>()
  for (const { vmIds, indexes } of claims)
    for (const vmId of indexes.length > 0 ? vmIds : []) {
      const ofVm = reserved.get(vmId) ?? new Set()
      for (const index of indexes) ofVm.add(index)
      reserved.set(vmId, ofVm)
    }
  return reserved
}
