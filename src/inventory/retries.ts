/**
 * Recognizes the retries of a failed node: they change its state, but are no news. Pure.
 */
import type { InventoryRecord } from '../contract/inventory.ts'

/** Whether the record is a retry, or its same failure again. `recorded`: the last record in the history. */
export function isRetry(recorded: InventoryRecord, after: InventoryRecord): boolean {
  if (recorded.state !== 'Failed' || after.state === 'Configured') return false
  if (after.state !== 'Failed') return configuredCount(after) <= configuredCount(recorded)
  return recorded.reason === after.reason && outcomeOf(recorded) === outcomeOf(after)
}

/** Messages may count attempts. */
function outcomeOf({ interfaces = [] }: InventoryRecord): string {
  return JSON.stringify(interfaces.map(({ id, status, reason }) => [id, status, reason]))
}

function configuredCount({ interfaces = [] }: InventoryRecord): number {
  return interfaces.filter(({ status }) => status === 'Configured').length
}

/** A failure after these may be the one that the history has already. */
export function isTransient({ state }: Pick<InventoryRecord, 'state'>): boolean {
  return state === 'InProgress' || state === 'Pending'
}
