/**
 * The index of holders, filled from the history.
 *
 * A database of an earlier version does not say whether history was deleted. "Never" is then not known before this time.
 */
import { type Kysely, sql } from 'kysely'
import type { InventoryRecord } from '../../contract/inventory.ts'
import { markKeptSince, writeHoldings } from '../holdings.ts'
import type { Tables } from '../schema.ts'
import { textOf } from './text.ts'

const pageSize = 500

export async function up(db: Kysely<unknown>): Promise<void> {
  const text = textOf(db)
  await db.schema
    .createTable('holdings')
    .addColumn('provider_id', text, column => column.notNull())
    .addColumn('node_name', text, column => column.notNull())
    .addColumn('number', 'integer', column => column.notNull())
    .addColumn('mac', text, column => column.notNull())
    .addColumn('port_id', text)
    .addColumn('address', text)
    .addColumn('since', text, column => column.notNull())
    .addColumn('until', text)
    .execute()
  for (const column of ['address', 'mac', 'port_id'])
    await db.schema.createIndex(`holdings_by_${column}`).on('holdings').columns([column, 'until']).execute()
  await db.schema.createIndex('holdings_by_end').on('holdings').column('until').execute()
  await fill(db as Kysely<Tables>)
}

interface Entry {
  id: number
  provider_id: string
  node_name: string
  at: string
  after: string | null
}

/** Entries of status changes have the same config, unless they are the first that is left of a node. */
async function fill(db: Kysely<Tables>): Promise<void> {
  const records = new Map<string, InventoryRecord>()
  let newest: Entry | undefined
  for (;;) {
    const { rows } = await sql<Entry>`
      select id, provider_id, node_name, at, after from history
      where id > ${newest?.id ?? 0} and (what <> 'status' or not exists (
        select 1 from history as earlier where earlier.node_name = history.node_name
        and earlier.provider_id = history.provider_id and earlier.id < history.id))
      order by id limit ${sql.lit(pageSize)}`.execute(db)
    const changes = rows.map(({ provider_id, node_name, at, after: text }) => {
      const key = JSON.stringify([provider_id, node_name])
      const before = records.get(key)
      const after: InventoryRecord | undefined = text ? JSON.parse(text) : undefined
      if (after) records.set(key, after)
      else records.delete(key)
      return { before, after, at }
    })
    await writeHoldings(db, changes)
    newest = rows.at(-1) ?? newest
    if (rows.length < pageSize) break
  }
  if (newest) await markKeptSince(db, newest.at)
}
