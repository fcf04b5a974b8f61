/**
 * Stages and commits the files of all units. A file that cannot be written fails the group of its NIC.
 */
import { messageOf } from '../../runtime/errors.ts'
import type { HostContext } from '../context.ts'
import type { Host } from '../host/host.ts'
import type { Unit } from '../state/unit.ts'
import type { Failure, Failures } from './apply.ts'
import { commitFiles, removeStaged, stageFiles } from './files.ts'

export function stageAll(units: readonly Unit[], host: Host): Failures {
  const failures = new Map<string, Failure>()
  for (const unit of units) {
    try {
      stageFiles(host, unit)
    } catch (error) {
      failures.set(unit.group, { reason: 'PersistFailed', message: messageOf(error) })
    }
  }
  for (const unit of units) if (failures.has(unit.group)) tryRemoveStaged(host, unit)
  return failures
}

/** A disk that refuses a write may refuse this as well. The next run removes stale files. */
export function tryRemoveStaged(host: Host, unit: Unit): void {
  try {
    removeStaged(host, unit)
  } catch {}
}

export function commitAll(units: readonly Unit[], { host, paths }: HostContext): Failures {
  const failures = new Map<string, Failure>()
  for (const unit of units) {
    if (failures.has(unit.group)) continue
    try {
      commitFiles(host, paths, unit)
    } catch (error) {
      failures.set(unit.group, { reason: 'PersistFailed', message: messageOf(error) })
    }
  }
  return failures
}
