/**
 * Which NIC had an address, a MAC or a port, and when. Pure.
 */
import type { HistoryEntry, InventoryRecord } from '../../src/contract/inventory.ts'
import { type Nic, nodeOf } from './nodes.ts'

export interface Ownership {
  providerId: string
  nodeName: string
  nic: string
  from: number
  /** Undefined for the current owner. */
  to: number | undefined
}

/** Reads the owners of a value from the histories of the nodes that ever had it. Oldest first. */
export function ownershipsOf(value: string, entries: readonly HistoryEntry[]): Ownership[] {
  const open = new Map<string, Ownership>()
  const all: Ownership[] = []
  for (const entry of entries.toSorted((a, b) => a.id - b.id)) {
    const record = entry.after ?? entry.before
    if (!record) continue
    const { providerId, nodeName } = record
    const ownedBefore = [...open].filter(([, one]) => one.providerId === providerId && one.nodeName === nodeName)
    const owners = entry.after ? nodeOf(entry.after, []).nics.filter(nic => owns(nic, value)) : []
    for (const [key, one] of ownedBefore)
      if (!owners.some(nic => nic.name === one.nic)) {
        one.to = Date.parse(entry.at)
        open.delete(key)
      }
    for (const { name } of owners) {
      const key = `${providerId} ${nodeName} ${name}`
      if (open.has(key)) continue
      const ownership = { providerId, nodeName, nic: name, from: Date.parse(entry.at), to: undefined }
      open.set(key, ownership)
      all.push(ownership)
    }
  }
  return all.sort((a, b) => a.from - b.from)
}

export function recordOwns(record: InventoryRecord, value: string): boolean {
  return nodeOf(record, []).nics.some(nic => owns(nic, value))
}

function owns(nic: Nic, value: string): boolean {
  const query = value.trim().toLowerCase()
  return nic.macAddress === query || nic.portId === query || nic.addresses.some(text => text.split('/')[0] === query)
}
