/**
 * Rolls back what an earlier run left unfinished, before anything else happens.
 */

import type { HostContext } from '../context.ts'
import { observe } from '../observe/observe.ts'
import type { Unread } from '../state/change-keys.ts'
import { removeStaleStaged } from './files.ts'
import { endJournal, readJournal } from './journal.ts'
import { rollBack } from './rollback.ts'

export interface Recovered {
  /** Names of the interfaces that were rolled back. */
  interfaces: string[]
  /** What could not be restored. */
  notRestored: string[]
  unread: Unread[]
}

export async function recover(context: HostContext): Promise<Recovered> {
  const { host, paths, log } = context
  const journal = readJournal(host, paths)
  const { entries, unread, rests } = journal
  const units = entries.flatMap(entry => entry.units)
  const interfaces = [...new Set(units.map(unit => unit.name))].sort()
  let notRestored: string[] = []
  if (units.length > 0) {
    const observed = await observe(context, { macAddresses: units.map(unit => unit.macAddress) })
    const rebooted = entries.some(entry => entry.bootID !== observed.bootID)
    log.warn('previous run did not finish, rolling back its changes', { rebooted, interfaces })
    notRestored = await rollBack(units, observed, context, rebooted ? 'files' : undefined)
  }
  if (rests.size > 0) log.warn('cannot read a part of the journal, keeping it', { files: [...rests.keys()], unread })
  removeStaleStaged(host, paths)
  endJournal(host, paths, journal)
  return { interfaces, notRestored, unread }
}
