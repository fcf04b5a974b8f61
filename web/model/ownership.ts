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
  /** `never` only if the server says so; `notSince` if older history was deleted. */
  verdict: 'assigned' | 'wasAssigned' | 'notAssigned' | 'never' | 'notSince'
  owner?: Ownership
}

/** The owner now (`at` is empty) or in the minute of `at`. */
export function ownerAt(answer: HoldersAnswer, at: string, now: number): OwnerAt {
  const moment = at ? Date.parse(at) : now
  const owner = ownershipsOf(answer).findLast(
    ({ from, to }) => from <= moment + 59_999 && (to ?? Number.POSITIVE_INFINITY) > moment,
  )
  if (owner) return { verdict: owner.to === undefined && !at ? 'assigned' : 'wasAssigned', owner }
  if (answer.never) return { verdict: 'never' }
  const isDeleted = answer.keptSince !== undefined && moment < Date.parse(answer.keptSince)
  return { verdict: isDeleted || answer.holders.length === 0 ? 'notSince' : 'notAssigned' }
}
