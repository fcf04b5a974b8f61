/**
 * The unit of work and of rollback: one NIC with its changes, in the order in which they are made.
 */
import type { Change } from './change.ts'

export interface Unit {
  purpose: 'apply' | 'remove' | 'rollback'
  index: number
  /** multinic0 to multinic9. */
  name: string
  macAddress: string
  /** Absent when the device is gone and only its rules and files are left. */
  ifindex?: number
  /** NICs that exchange names are in one group and rolled back together: alone, a NIC would find its name in use. */
  group: string
  changes: Change[]
}

/** The unit that configures the interface; undefined when it needs no change. */
export function applyUnitOf(units: readonly Unit[], index: number): Unit | undefined {
  return units.find(unit => unit.purpose === 'apply' && unit.index === index)
}
