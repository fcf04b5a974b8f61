/**
 * Assigns indexes to new ports. A port of a subnet with an index gets that index. The others get the lowest free index that
 * no subnet has: ports in the order of the user's subnets, then by age, then by MAC address. Pure.
 *
 * An index in use is never reassigned: a port keeps its index, and a removal leaves a gap.
 */
import { type Interface, maxInterfaces } from '../contract/interfaces.ts'
import type { Port } from './cloud.ts'
import type { Claim, SelectedSubnet } from './observed-state.ts'
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

interface OnNode {
  interfaces: readonly Interface[]
  subnets: readonly SelectedSubnet[]
  /** Indexes that other OpenstackConfigs give their subnets. */
  reserved: ReadonlySet<number>
}

export function assignIndexes(
  candidates: readonly Candidate[],
  { interfaces, subnets, reserved }: OnNode,
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
  const free = indexes.filter(index => !used.has(index) && !unavailable.has(index))
  for (const candidate of rest) {
    const index = free.shift()
    if (index === undefined) result.overflow.push(candidate)
    else assign(candidate, index)
  }
  return result
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
