/**
 * Ports that Neutron lists without an address in a selected subnet, by object. One answer may be half of a change, or come
 * from a replica that is behind. So it counts only if a later read says the same.
 */

import { createObjectMemory, type ObjectMemory } from '../../runtime/object-memory.ts'
import type { Port } from '../cloud.ts'

export interface DoubtfulPort {
  /** Of the interface. */
  identity: string
  port: Port
  /** The last one of this port with an address in a selected subnet, if it is known. */
  lastGood: Port | undefined
}

export interface RepeatedReads {
  /** Notes the doubtful ports of a complete read, and returns those that an earlier read had too. */
  note(key: string, ports: readonly DoubtfulPort[], startedAt: number): ReadonlySet<string>
  /** Milliseconds until another read counts. Undefined if none is needed. */
  msUntilNext(key: string): number | undefined
  forget(key: string): void
  /** Milliseconds of a monotonic clock. */
  now(): number
}

/** From the end of one read to the start of the next. */
const minIntervalMs = 5_000

interface Doubt {
  /** When the first read ended that is not older than what was known. */
  since: number | undefined
  revision: number | undefined
  /** The last read is not older than what was known. */
  isCurrent: boolean
  isConfirmed: boolean
}

export function createRepeatedReads(now: () => number, memory: ObjectMemory = createObjectMemory()): RepeatedReads {
  const doubts = memory.slot<ReadonlyMap<string, Doubt>>()
  return {
    note(key, ports, startedAt) {
      const before = doubts.get(key)
      const endedAt = now()
      const after = new Map(
        ports.map(({ identity, port, lastGood }) => {
          const known = before?.get(identity) ?? { since: undefined, revision: lastGood?.revision }
          return [identity, nextDoubt(known, port, { startedAt, endedAt })] as const
        }),
      )
      if (after.size > 0) doubts.set(key, after)
      else doubts.delete(key)
      return new Set([...after].flatMap(([identity, { isConfirmed }]) => (isConfirmed ? [identity] : [])))
    },
    msUntilNext(key) {
      const waits = [...(doubts.get(key)?.values() ?? [])].flatMap(({ since, isCurrent, isConfirmed }) =>
        since === undefined || !isCurrent || isConfirmed ? [] : [Math.max(1, since + minIntervalMs - now())],
      )
      return waits.length > 0 ? Math.min(...waits) : undefined
    },
    forget: key => void doubts.delete(key),
    now,
  }
}

/** A replica that is behind shows an older revision. A higher one counts only with addresses: half an answer may have none. */
function nextDoubt(
  { since, revision }: Pick<Doubt, 'since' | 'revision'>,
  port: Port,
  { startedAt, endedAt }: { startedAt: number; endedAt: number },
): Doubt {
  if (revision !== undefined && port.revision !== undefined && port.revision < revision)
    return { since, revision, isCurrent: false, isConfirmed: false }
  return {
    since: since ?? endedAt,
    revision: port.addresses.length > 0 ? port.revision : revision,
    isCurrent: true,
    isConfirmed: since !== undefined && startedAt - since >= minIntervalMs,
  }
}
