/**
 * The last plan of each OpenstackConfig. The next sync that plans something else fills it.
 */
import type { Kysely } from 'kysely'
import { textOf } from './text.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['plan', 'planned_at'])
    await db.schema.alterTable('openstack_configs').addColumn(column, textOf(db)).execute()
}
