/**
 * Records of nodes on their way to the inventory: those that differ from what it has wait here, until a flight takes them.
 */
import { createHash } from 'node:crypto'
import type { InventoryWrite } from '../../contract/inventory.ts'
import type { PendingWrite } from './inventory-batches.ts'

export interface Outbox {
  /** Puts the record of a node in, unless the inventory has it. Replaces the one that waits. */
  add(build: () => InventoryWrite): InventoryWrite
  /** Whether a record of the node waits. */
  has(key: string): boolean
  /**
   * Takes all records that wait, after the flights that carry older ones of the same nodes: an older record must not arrive,
   * or be sent again, after a newer one.
   */
  take(): Promise<Flight>
  /** Another replica may have written since: everything is sent again. */
  forgetSent(): void
}

export interface Flight {
  writes: ReadonlyMap<string, PendingWrite>
  /** All arrived, but those of the forbidden providers, which wait again. */
  arrived(forbidden: ReadonlySet<string>): void
  /** They wait again, unless newer ones do. */
  failed(): void
  /** Call it at last: others may wait for it. */
  end(): void
}

interface Entry extends PendingWrite {
  providerId: string
  digest: string
}

export function createOutbox(): Outbox {
  let pending = new Map<string, Entry>()
  /** What the inventory has. */
  const sent = new Map<string, string>()
  /** The nodes that a flight carries, until it ends. */
  const flights = new Map<ReadonlyMap<string, unknown>, Promise<void>>()
  const flightOfPending = () => [...flights].find(([writes]) => [...pending.keys()].some(key => writes.has(key)))?.[1]

  function waitAgain(key: string, entry: Entry): void {
    if (!pending.has(key)) pending.set(key, entry)
  }

  return {
    add(build) {
      const write = build()
      const { providerId, nodeName, instanceId } = write
      const key = `${providerId} ${nodeName}`
      const digest = digestOf(write)
      if (sent.get(key) !== digest) pending.set(key, { providerId, instanceId, build, digest })
      else pending.delete(key)
      return write
    },
    has: key => pending.has(key),
    async take() {
      for (let flight = flightOfPending(); flight; flight = flightOfPending()) await flight
      const writes = pending
      pending = new Map()
      const ended = Promise.withResolvers<void>()
      flights.set(writes, ended.promise)
      return {
        writes,
        arrived(forbidden) {
          for (const [key, entry] of writes)
            if (forbidden.has(entry.providerId)) waitAgain(key, entry)
            else sent.set(key, entry.digest)
        },
        failed() {
          for (const [key, entry] of writes) waitAgain(key, entry)
        },
        end() {
          flights.delete(writes)
          ended.resolve()
        },
      }
    },
    forgetSent: () => sent.clear(),
  }
}

/** `why` does not count. One function builds all records, so their keys have the same order. */
function digestOf({ why: _, ...record }: InventoryWrite): string {
  return createHash('sha256').update(JSON.stringify(record)).digest('base64')
}
