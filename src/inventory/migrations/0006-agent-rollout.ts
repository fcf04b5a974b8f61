/**
 * How far a node is with a request to run the agent again. The next write of a node fills it.
 */
import type { Kysely } from 'kysely'
import { textOf } from './text.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('nodes').addColumn('agent_rollout', textOf(db)).execute()
}
