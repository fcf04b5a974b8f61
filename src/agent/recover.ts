/**
 * Takes back what an earlier run left unfinished, before anything else is looked at.
 */
import type { Log } from '../telemetry/log.ts'
import { forceUnits, handBackAll } from './apply.ts'
import { inWords } from './change.ts'
import { commitFiles, dropLeftovers, stageFiles } from './files.ts'
import type { Host } from './host.ts'
import { clearJournal, readJournal } from './journal.ts'
import type { NetworkManager } from './network-manager.ts'
import { observe } from './observe.ts'
import type { Observed } from './observed.ts'
import type { Paths } from './paths.ts'
import { planUndo } from './rollback-plan.ts'
import type { Unit } from './unit.ts'

interface Ground {
  host: Host
  manager?: NetworkManager | undefined
  paths: Paths
  log: Log
}

/** Names of the interfaces whose changes were taken back. */
export async function recover(ground: Ground): Promise<string[]> {
  const { host, paths, log, manager } = ground
  const entries = readJournal(host, paths)
  const units = entries.flatMap(entry => entry.units)
  if (units.length > 0) {
    const observed = await observe(host, { paths, macs: units.map(unit => unit.mac), manager })
    const rebooted = entries.some(entry => entry.bootId !== observed.bootId)
    log.warn('an earlier run was cut short; its changes are taken back', { rebooted, interfaces: namesOf(units) })
    await takeBack(units, observed, ground, rebooted ? 'files' : undefined)
  }
  dropLeftovers(host, paths)
  clearJournal(host, paths)
  return namesOf(units)
}

/** Undoes units, and reads again: what is left undone is told. */
export async function takeBack(
  units: readonly Unit[],
  observed: Observed,
  { host, paths, log, manager }: Ground,
  only?: 'files' | 'kernel',
): Promise<void> {
  const undo = planUndo(units, observed, only ? { only } : {})
  for (const message of undo.contested) log.warn('contested: left as it is', { what: message })
  for (const unit of undo.units) log.info('undo', { interface: unit.name, changes: unit.changes.map(inWords) })
  await forceUnits(undo.units, { host, paths, observed, manager })
  for (const unit of undo.units) {
    stageFiles(host, unit)
    commitFiles(host, paths, unit)
  }
  if (undo.units.length === 0) return
  await handBackAll(undo.units, { host, paths, observed, manager })
  const after = await observe(host, { paths, macs: units.map(unit => unit.mac), manager })
  const left = planUndo(units, after, only ? { only } : {}).units
  for (const unit of left) log.error('could not undo', { interface: unit.name, changes: unit.changes.map(inWords) })
}

function namesOf(units: readonly Unit[]): string[] {
  return [...new Set(units.map(unit => unit.name))].sort()
}
