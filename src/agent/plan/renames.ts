/**
 * Renames that depend on each other: which NICs need a temporary name first, and which must be rolled back together.
 *
 * Pure.
 */
import type { Change } from '../state/change.ts'
import type { Unit } from '../state/unit.ts'

/** Used between two renames. Agents of other versions find it after a kill: never change it. */
export function temporaryName(ifindex: number): string {
  return `mnpark${ifindex}`
}

/** A device whose name another one gets is renamed in two steps. */
export function insertTemporaryNames(units: readonly Unit[]): Unit[] {
  const newNames = new Set(units.flatMap(unit => renameOf(unit)?.to ?? []))
  return units.map(unit => {
    const rename = renameOf(unit)
    if (!rename || unit.ifindex === undefined || !newNames.has(rename.from)) return unit
    const temporary = temporaryName(unit.ifindex)
    return {
      ...unit,
      changes: unit.changes.flatMap((change): Change[] =>
        change === rename
          ? [
              { ...rename, to: temporary, park: true },
              { kind: 'name', from: temporary, to: rename.to },
            ]
          : [change],
      ),
    }
  })
}

/** NICs that exchange names get one group. */
export function groupRenames(units: readonly Unit[]): Unit[] {
  if (!units.some(unit => unit.changes.some(change => change.kind === 'name' && change.park))) return [...units]
  const group = new Map(units.map(unit => [unit.name, unit.group]))
  for (const unit of units) {
    for (const holder of units) {
      const parked = holder.changes.find(change => change.kind === 'name' && change.park)
      if (parked?.kind !== 'name' || renameTarget(unit) !== parked.from) continue
      const [from, to] = [group.get(holder.name), group.get(unit.name) ?? unit.group]
      for (const [name, label] of group) if (label === from) group.set(name, to)
    }
  }
  return units.map(unit => ({ ...unit, group: group.get(unit.name) ?? unit.group }))
}

function renameTarget(unit: Unit): string | undefined {
  const renames = unit.changes.filter(change => change.kind === 'name')
  const last = renames.at(-1)
  return last?.kind === 'name' ? last.to : undefined
}

function renameOf(unit: Unit): (Change & { kind: 'name' }) | undefined {
  const rename = unit.changes.find(change => change.kind === 'name')
  return rename?.kind === 'name' ? rename : undefined
}
