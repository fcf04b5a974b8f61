/**
 * Logs what a pass will do: devices, changes, refusals, and foreign rules that stay.
 */
import { interfaceName } from '../contract/interfaces.ts'
import type { Log } from '../telemetry/log.ts'
import type { Paths } from './paths.ts'
import type { Plan } from './plan/plan.ts'
import { describeChange } from './state/change.ts'
import type { Observed } from './state/observed.ts'
import { unusableRecords } from './state/ownership.ts'

export function logPlan(plan: Plan, observed: Observed, paths: Paths, log: Log): void {
  for (const { path, problem } of unusableRecords(observed, paths))
    log.warn('cannot read a record, keeping it', { path, problem })
  const devices = plan.accepted.map(({ nic, link }) => `${nic.name} is ${link.name}`)
  log.info('DetectActiveInterfaces', { backend: plan.backend, devices, missing: plan.missing.map(nic => nic.name) })
  const orphans = plan.units.filter(unit => unit.purpose === 'remove')
  if (orphans.length > 0) log.info('CleanupOrphanedConfigs', { orphaned: orphans.map(unit => unit.name) })
  for (const unit of plan.units)
    log.info('plan', { interface: unit.name, purpose: unit.purpose, changes: unit.changes.map(describeChange) })
  for (const [index, refusal] of plan.refused)
    log.warn('interface refused', { interface: interfaceName(index), refusal })
  for (const [index, rules] of plan.foreignRules)
    log.warn('foreign rules beside those of an interface, left in place', { interface: interfaceName(index), rules })
  for (const { name, refusal } of plan.unremovable)
    log.warn('cannot remove orphaned interface', { interface: name, refusal })
}
