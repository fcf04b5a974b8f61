/**
 * The unit of work and of rollback: one NIC with its changes, in the order in which they are made.
 */
import { type Change, lossesOf } from './change.ts'

export interface Unit {
  /** `node`: what all NICs share. */
  purpose: 'apply' | 'remove' | 'rollback' | 'node'
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

/** Whether a change that did not take effect is rolled back all the same. */
const rolledBackUndone = {
  ...{ name: 'never', mtu: 'never', link: 'never', sysctl: 'never', nft: 'never' },
  ...{ address: 'removal', route: 'removal', rule: 'removal', altname: 'removal' },
  ...{ file: 'always', manager: 'always' },
} as const satisfies Record<Change['kind'], 'never' | 'removal' | 'always'>

/**
 * The units of failed groups, without additions and values that did not take effect: if they are there, somebody else set
 * them meanwhile. Removals stay: what the kernel dropped with the link, for example, comes back. So do the losses of a rename
 * that failed while the link was down for it.
 */
export function unitsDone(
  units: readonly Unit[],
  failed: ReadonlyMap<string, unknown>,
  done: ReadonlySet<Change>,
): Unit[] {
  const mayBeOurs = (change: Change) => {
    const undone = rolledBackUndone[change.kind]
    return done.has(change) || undone === 'always' || (undone === 'removal' && 'op' in change && change.op === 'remove')
  }
  return units
    .filter(unit => failed.has(unit.group))
    .map(unit => ({
      ...unit,
      changes: unit.changes.flatMap(change => (mayBeOurs(change) ? change : lossesOf(change))),
    }))
}

export function withPurpose(units: readonly Unit[], purpose: Unit['purpose']): Unit[] {
  return units.filter(unit => unit.purpose === purpose)
}

/** The unit that configures the interface; undefined when it needs no change. */
export function applyUnitOf(units: readonly Unit[], index: number): Unit | undefined {
  return units.find(unit => unit.purpose === 'apply' && unit.index === index)
}

export function withoutFailed(units: readonly Unit[], failed: ReadonlyMap<string, unknown>): Unit[] {
  return units.filter(unit => !failed.has(unit.group))
}
