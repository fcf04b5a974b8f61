/**
 * The newest entry of each node until a time is found in an index alone: `?at=` reads no document that it does not show.
 */
import type { Kysely } from 'kysely'

export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.createIndex('history_times').on('history').columns(['provider_id', 'node_name', 'at', 'id']).execute()
}
