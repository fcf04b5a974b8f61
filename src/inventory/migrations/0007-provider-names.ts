/**
 * Names of providers, for the search. The next write of a node fills them.
 */
import type { Kysely } from 'kysely'
import { textOf } from './text.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('nodes').addColumn('provider_name', textOf(db)).execute()
  await db.schema.createIndex('nodes_by_provider_name').on('nodes').column('provider_name').execute()
  // The node that changed last has the name: without the index, holders would sort all nodes of a provider.
  await db.schema.createIndex('nodes_by_change').on('nodes').columns(['provider_id', 'updated_at']).execute()
}
