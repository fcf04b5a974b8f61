/**
 * History entries, the state at a past time, and the retention of history.
 */
import type { HistoryEntry, InventoryRecord } from '../contract/inventory.ts'
import type { Database, Engine } from './database.ts'
import { documentHints, type Filter, matchesFilter } from './filter.ts'
import { deleteHoldingsBefore } from './holdings.ts'
import { entryFrom } from './rows.ts'

export interface HistoryFilter {
  providerId?: string
  nodeName?: string
  /** Only entries with a lower ID; newest first. */
  before?: number
  /** Only entries with a higher ID; oldest first. */
  after?: number
  limit?: number
}

export async function historyOf(db: Database, filter: HistoryFilter): Promise<HistoryEntry[]> {
  const { providerId, nodeName, before, after, limit = 100 } = filter
  let query = db
    .selectFrom('history')
    .selectAll()
    .select(({ selectFrom }) =>
      selectFrom('history as earlier')
        .select('earlier.after')
        .whereRef('earlier.node_name', '=', 'history.node_name')
        .whereRef('earlier.provider_id', '=', 'history.provider_id')
        .whereRef('earlier.id', '<', 'history.id')
        .orderBy('earlier.id', 'desc')
        .limit(1)
        .as('before'),
    )
    .orderBy('id', after === undefined ? 'desc' : 'asc')
    .limit(limit)
  if (providerId !== undefined) query = query.where('provider_id', '=', providerId)
  if (nodeName !== undefined) query = query.where('node_name', '=', nodeName)
  if (before !== undefined) query = query.where('id', '<', before)
  if (after !== undefined) query = query.where('id', '>', after)
  return (await query.execute()).map(entryFrom)
}

/** Records at that time, sorted by provider and name: of every node the newest entry until then. */
export async function* recordsAt(
  db: Database,
  time: string,
  filter: Filter,
  pageSize: number,
): AsyncGenerator<InventoryRecord[]> {
  let query = newestEntries(db, new Date(time).toISOString())
    .select(['provider_id', 'node_name'])
    .orderBy('provider_id')
    .orderBy('node_name')
  if (filter.providerId !== undefined) query = query.where('provider_id', '=', filter.providerId)
  if (filter.nodeName !== undefined) query = query.where('node_name', '=', filter.nodeName)
  const hints = filter.q === undefined ? undefined : documentHints(filter.q)
  const newest = (await query.execute()).filter(row => isAfter(row, filter.after)).map(row => Number(row.newest))
  for (let start = 0; start < newest.length; start += pageSize) {
    const ids = newest.slice(start, start + pageSize)
    let documents = db.selectFrom('history').select(['id', 'after']).where('id', 'in', ids)
    if (hints) documents = documents.where(({ eb, or }) => or(hints.map(hint => eb('after', 'like', `%${hint}%`))))
    const rows = await documents.execute()
    const after = new Map(rows.map(row => [Number(row.id), row.after]))
    const records = ids.flatMap((id): InventoryRecord[] => {
      const text = after.get(id)
      return text ? [JSON.parse(text)] : []
    })
    yield records.filter(record => matchesFilter(record, filter))
  }
}

export async function providersOf(db: Database, nodeName: string): Promise<string[]> {
  const rows = await db
    .selectFrom('history')
    .select('provider_id')
    .distinct()
    .where('node_name', '=', nodeName)
    .orderBy('provider_id')
    .execute()
  return rows.map(row => row.provider_id)
}

/** Deletes older entries, except those that still describe a node at that time. Returns the number of deleted entries. */
export async function deleteHistoryBefore({ transaction }: Engine, time: string): Promise<number> {
  return transaction(async tx => {
    const needed = newestEntries(tx, time)
    const { numDeletedRows } = await tx
      .deleteFrom('history')
      .where('at', '<', time)
      .where(({ eb, or, not }) => or([eb('what', '=', 'removed'), not(eb('id', 'in', needed))]))
      .executeTakeFirst()
    for (const table of ['events', 'deliveries', 'audit'] as const)
      await tx.deleteFrom(table).where('at', '<', time).execute()
    await deleteHoldingsBefore(tx, time)
    return Number(numDeletedRows)
  })
}

function newestEntries(db: Pick<Database, 'selectFrom'>, time: string) {
  return db
    .selectFrom('history')
    .select(({ fn }) => fn.max('id').as('newest'))
    .where('at', '<=', time)
    .groupBy(['provider_id', 'node_name'])
}

function isAfter(row: { provider_id: string; node_name: string }, last: Filter['after']): boolean {
  if (!last) return true
  return row.provider_id > last.providerId || (row.provider_id === last.providerId && row.node_name > last.nodeName)
}
