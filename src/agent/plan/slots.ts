/**
 * The slot of a NIC: the number of its packet mark and of its connection label. It is the index of the NIC when the NIC is first
 * configured, and stays when the index changes: labels of open connections must not mean another NIC.
 *
 * Pure.
 */
import { maxInterfaces } from '../../contract/interface-fields.ts'
import type { OwnedNic } from '../state/ownership.ts'

/** By MAC address. */
export function slotsOf(
  nics: readonly { macAddress: string; index: number }[],
  owned: readonly OwnedNic[],
): Map<string, number> {
  const slots = new Map<string, number>()
  const isFree = (slot: number) => slot >= 0 && slot < maxInterfaces && ![...slots.values()].includes(slot)
  const give = (macAddress: string, slot: number | undefined) => {
    if (slot !== undefined && !slots.has(macAddress) && isFree(slot)) slots.set(macAddress, slot)
  }
  for (const { macAddress } of nics) {
    const record = owned.find(nic => nic.macAddress === macAddress)?.record
    give(macAddress, record?.marked.slot)
  }
  for (const { macAddress, index } of nics) give(macAddress, index)
  const all = Array.from({ length: maxInterfaces }, (_, slot) => slot)
  for (const { macAddress } of nics) give(macAddress, all.find(isFree))
  return slots
}
