/**
 * Names that change hands: who must step aside first, and who is undone with whom.
 *
 * Pure.
 */
import type { Change } from './change.ts'
import type { Unit } from './unit.ts'

/** A name that nobody gives to a device, for the time between two renames. */
export function parkingName(ifindex: number): string {
  return `mnpark${ifindex}`
}

/** A device whose name another one waits for steps aside first. */
export function parkNames(units: readonly Unit[]): Unit[] {
  const awaited = new Set(units.flatMap(unit => renameOf(unit)?.to ?? []))
  return units.map(unit => {
    const rename = renameOf(unit)
    if (!rename || unit.ifindex === undefined || !awaited.has(rename.from)) return unit
    const aside = parkingName(unit.ifindex)
    return {
      ...unit,
      changes: unit.changes.flatMap((change): Change[] =>
        change === rename
          ? [
              { kind: 'name', from: rename.from, to: aside, park: true },
              { kind: 'name', from: aside, to: rename.to },
            ]
          : [change],
      ),
    }
  })
}

/** NICs that wait for each other's names are undone together. */
export function joinGroups(units: readonly Unit[]): Unit[] {
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
