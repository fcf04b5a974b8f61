/**
 * Which NIC had an address, a MAC or a port at a time, from the server's answer. Pure.
 */
import type { HoldersAnswer } from '../../src/contract/inventory.ts'

export interface Ownership {
  providerId: string
  nodeName: string
  nic: string
  from: number
  /** Undefined for the current owner. */
  to: number | undefined
}

/** Oldest first. */
export function ownershipsOf({ holders }: HoldersAnswer): Ownership[] {
  return holders
    .map(({ providerId, nodeName, interface: nic, from, to }) => ({
      ...{ providerId, nodeName, nic },
      from: Date.parse(from),
      to: to === undefined ? undefined : Date.parse(to),
    }))
    .sort((a, b) => a.from - b.from)
}

export interface OwnerAt {
  /** `never` only if the server says so; `notSince` if nothing was found since `since`; `notKnown` for a time before it. */
  verdict: 'assigned' | 'wasAssigned' | 'notAssigned' | 'never' | 'notSince' | 'notKnown'
  owner?: Ownership
  since?: number
}

/** The owner now (`at` is empty) or in the minute of `at`. */
export function ownerAt(answer: HoldersAnswer, at: string, now: number): OwnerAt {
  const moment = at ? Date.parse(at) : now
  const owner = ownershipsOf(answer).findLast(
    ({ from, to }) => from <= moment + 59_999 && (to ?? Number.POSITIVE_INFINITY) > moment,
  )
  if (owner) return { verdict: owner.to === undefined && !at ? 'assigned' : 'wasAssigned', owner }
  if (answer.never) return { verdict: 'never' }
  const since = knownSince(answer)
  if (since === undefined) return { verdict: 'notAssigned' }
  if (answer.holders.length === 0) return { verdict: 'notSince', since }
  return moment < since ? { verdict: 'notKnown', since } : { verdict: 'notAssigned' }
}

/** Owners that ended before this time may be missing: their history was deleted, or the list is too long. */
function knownSince({ keptSince, more, holders }: HoldersAnswer): number | undefined {
  const ends = more ? holders.flatMap(({ to }) => (to === undefined ? [] : [Date.parse(to)])) : []
  const limits = [
    ...(keptSince === undefined ? [] : [Date.parse(keptSince)]),
    ...(ends.length > 0 ? [Math.min(...ends)] : []),
  ]
  return limits.length > 0 ? Math.max(...limits) : undefined
}
