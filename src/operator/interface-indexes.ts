/**
 * Assigns indexes to new ports: the lowest free index first, ports in the order of the user's subnets, then age, then MAC
 * address. Pure.
 *
 * An index in use is never reassigned: a port keeps its index, and a removal leaves a gap.
 */
import { maxInterfaces } from '../contract/interfaces.ts'
import type { Port } from './cloud.ts'
import { byCreation, type Match } from './verdicts.ts'

export interface Candidate {
  port: Port
  match: Match
}

export interface IndexAssignment {
  assigned: { candidate: Candidate; index: number }[]
  /** No index was left for these. */
  overflow: Candidate[]
}

export function assignIndexes(candidates: readonly Candidate[], inUse: readonly number[]): IndexAssignment {
  const free = Array.from({ length: maxInterfaces }, (_, index) => index).filter(index => !inUse.includes(index))
  const ordered = candidates.toSorted((a, b) => a.match.order - b.match.order || byAge(a.port, b.port))
  return {
    assigned: ordered.slice(0, free.length).map((candidate, position) => ({ candidate, index: free[position] ?? 0 })),
    overflow: ordered.slice(free.length),
  }
}

function byAge(a: Port, b: Port): number {
  return byCreation(a, b) || compare(a.macAddress, b.macAddress) || compare(a.id, b.id)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
