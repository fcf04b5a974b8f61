/**
 * Numbers for new ports: the lowest that is free, in the order of the user's subnets, then age, then MAC.
 *
 * Pure. Numbers that are in use are never looked at again: a port keeps its own for life, and a removal leaves a hole.
 */
import { maxInterfaces } from '../contract/interfaces.ts'
import type { Port } from './observed-state.ts'
import { createdAtMs, type Match } from './verdicts.ts'

export interface Candidate {
  port: Port
  match: Match
}

export interface Numbering<T> {
  numbered: { candidate: T; id: number }[]
  /** No number was left for these. */
  overflow: T[]
}

export function numberNew<T extends Candidate>(candidates: readonly T[], inUse: readonly number[]): Numbering<T> {
  const free = Array.from({ length: maxInterfaces }, (_, id) => id).filter(id => !inUse.includes(id))
  const ordered = [...candidates].sort(byOrderAgeMac)
  return {
    numbered: ordered.slice(0, free.length).map((candidate, index) => ({ candidate, id: free[index] ?? 0 })),
    overflow: ordered.slice(free.length),
  }
}

function byOrderAgeMac(a: Candidate, b: Candidate): number {
  return (
    a.match.order - b.match.order ||
    ageOf(a.port) - ageOf(b.port) ||
    compare(a.port.macAddress, b.port.macAddress) ||
    compare(a.port.id, b.port.id)
  )
}

/** A port that does not say when it was created comes last. */
function ageOf(port: Port): number {
  const ms = createdAtMs(port)
  return Number.isNaN(ms) ? Number.MAX_SAFE_INTEGER : ms
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
