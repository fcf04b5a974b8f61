/**
 * The changes of nodes as rows of the history: one for each entry, or the net change between two times. Pure.
 */
import type { HistoryEntry, Holder, InventoryRecord } from '../../src/contract/inventory.ts'
import { type Cause, type Change, causeOfEntry, changesBetween, changesOf } from '../model/diff.ts'
import { nodeKey } from '../model/nodes.ts'

export interface NodeChange {
  key: string
  /** Undefined for a net change. */
  at: string | undefined
  nodeName: string
  providerId: string
  why: string
  what: HistoryEntry['what']
  /** Of a change of state to something else than requested. */
  cause: Cause | undefined
  changes: Change[]
}

/** One row for each entry, only those of `node` if given. */
export function nodeChangesOf(entries: readonly HistoryEntry[], node: string | undefined): NodeChange[] {
  return entries.flatMap(entry => {
    const record = entry.after ?? entry.before
    if (!record || (node && record.nodeName !== node)) return []
    const { nodeName, providerId } = record
    const { id, at, why, what } = entry
    return [
      { key: String(id), at, nodeName, providerId, why, what, cause: causeOfEntry(entry), changes: changesOf(entry) },
    ]
  })
}

/** Only the changes of interfaces that had a value, while they had it. */
export function changesOfHolders(rows: readonly NodeChange[], holders: readonly Holder[]): NodeChange[] {
  return rows.flatMap(row => {
    const { at } = row
    const changes = row.changes.filter(({ nic }) =>
      holders.some(
        one =>
          one.interface === nic &&
          nodeKey(one.providerId, one.nodeName) === nodeKey(row.providerId, row.nodeName) &&
          (at === undefined || (one.from <= at && at <= (one.to ?? at))),
      ),
    )
    return changes.length > 0 ? [{ ...row, changes }] : []
  })
}

/** One row for each node that differs between the two snapshots. */
export function netChanges(
  before: readonly InventoryRecord[],
  after: readonly InventoryRecord[],
  node: string | undefined,
): NodeChange[] {
  const byKey = (records: readonly InventoryRecord[]) =>
    new Map(
      records
        .filter(({ nodeName }) => !node || nodeName === node)
        .map(record => [nodeKey(record.providerId, record.nodeName), record]),
    )
  const [oldRecords, newRecords] = [byKey(before), byKey(after)]
  return [...new Set([...oldRecords.keys(), ...newRecords.keys()])].flatMap((key): NodeChange[] => {
    const [oldRecord, newRecord] = [oldRecords.get(key), newRecords.get(key)]
    const record = newRecord ?? oldRecord
    const changes = changesBetween(oldRecord, newRecord)
    if (!record || changes.length === 0) return []
    const { nodeName, providerId } = record
    const what = oldRecord ? (newRecord ? 'config' : 'removed') : 'created'
    return [{ key, at: undefined, nodeName, providerId, why: '', what, cause: undefined, changes }]
  })
}
