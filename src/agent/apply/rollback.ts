/**
 * Rolls units back: restores the values from before them, in the kernel and on disk.
 */

import type { HostContext } from '../context.ts'
import { observe } from '../observe/observe.ts'
import { describeChange } from '../state/change.ts'
import type { Observed } from '../state/observed.ts'
import type { Unit } from '../state/unit.ts'
import { applyBestEffort, returnToNetworkManager } from './apply.ts'
import { commitFiles, stageFiles } from './files.ts'
import { reloadNetworkd, withReleased } from './networkd-reload.ts'
import { planRollback } from './rollback-plan.ts'

/** Observes the node afterwards. Returns what could not be restored, one line per NIC. */
export async function rollBack(
  units: readonly Unit[],
  observed: Observed,
  context: HostContext,
  only?: 'files',
): Promise<string[]> {
  const { host, paths, log } = context
  const plan = planRollback(units, observed, only)
  for (const conflict of plan.conflicts) log.warn('not rolled back, changed by someone else', { conflict })
  for (const unit of plan.units)
    log.info('rolling back', { interface: unit.name, changes: unit.changes.map(describeChange) })
  const macAddresses = units.map(unit => unit.macAddress)
  await applyBestEffort(plan.units, observed, context)
  if (plan.units.some(({ changes }) => changes.some(change => change.kind === 'name'))) {
    // What a link loses while it is down for a rename.
    const renamed = await observe(context, { macAddresses })
    await applyBestEffort(planRollback(units, renamed, only).units, renamed, context)
  }
  for (const unit of plan.units) {
    stageFiles(host, unit)
    commitFiles(host, paths, unit)
  }
  if (plan.units.length === 0) return []
  await returnToNetworkManager(plan.units, observed, context)
  const { ifindexes, error } = await reloadNetworkd(plan.units, withReleased(observed, units), context)
  if (error) log.error('cannot return to networkd', { error })
  const seen = await observe(context, { macAddresses })
  const managers = Object.fromEntries(ifindexes.map(ifindex => [ifindex, 'other' as const]))
  const after = { ...seen, managers: { ...seen.managers, ...managers } }
  const notRestored = planRollback(units, after, only).units
  for (const unit of notRestored)
    log.error('cannot roll back', { interface: unit.name, changes: unit.changes.map(describeChange) })
  return notRestored.map(unit => `${unit.name}: ${unit.changes.map(describeChange).join(', ')}`)
}
