/**
 * Rolls back what an earlier run left unfinished, before anything else happens.
 */
import type { HostContext } from './context.ts'
import { removeStaleStaged } from './files.ts'
import { clearJournal, readJournal } from './journal.ts'
import { observe } from './observe.ts'
import { rollBack } from './rollback.ts'

/** Returns the names of the interfaces that were rolled back. */
export async function recover(context: HostContext): Promise<string[]> {
  const { host, paths, log } = context
  const entries = readJournal(host, paths)
  const units = entries.flatMap(entry => entry.units)
  const interfaces = [...new Set(units.map(unit => unit.name))].sort()
  if (units.length > 0) {
    const observed = await observe(context, { macAddresses: units.map(unit => unit.macAddress) })
    const rebooted = entries.some(entry => entry.bootID !== observed.bootID)
    log.warn('previous run did not finish, rolling back its changes', { rebooted, interfaces })
    await rollBack(units, observed, context, rebooted ? 'files' : undefined)
  }
  removeStaleStaged(host, paths)
  clearJournal(host, paths)
  return interfaces
}
