/**
 * Names of VMs, subnets and networks, for the search. The next write of a node fills them.
 */
import type { Kysely } from 'kysely'
import { textOf } from './text.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [table, column] of [
    ['nodes', 'instance_name'],
    ['interfaces', 'subnet_name'],
    ['interfaces', 'network_name'],
  ] as const) {
    await db.schema.alterTable(table).addColumn(column, textOf(db)).execute()
    await db.schema.createIndex(`${table}_by_${column}`).on(table).column(column).execute()
  }
}
