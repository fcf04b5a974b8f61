/**
 * The audit: who asked for what. Operators and the inventory itself fill it.
 */
import type { Kysely } from 'kysely'
import { textOf } from './text.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  const text = textOf(db)
  let table = db.schema.createTable('audit').addColumn('id', 'bigint', column => column.primaryKey())
  for (const name of ['at', 'action', 'object', 'provider_id', 'caller', 'proof', 'source', 'outcome', 'recorded_by'])
    table = table.addColumn(name, text, column => column.notNull())
  await table.execute()
  await db.schema.createIndex('audit_by_time').on('audit').column('at').execute()
}
