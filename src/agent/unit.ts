/**
 * The unit of work and of undo: one NIC with its changes, in the order in which they are made.
 */
import type { Change } from './change.ts'

export interface Unit {
  purpose: 'apply' | 'remove' | 'undo'
  id: number
  /** What people call it: multinic0. */
  name: string
  mac: string
  /** Absent when the device is gone and only rules and files are left of it. */
  ifindex?: number
  /** NICs that trade names are undone together: one of them alone would find its name taken. */
  group: string
  changes: Change[]
}
