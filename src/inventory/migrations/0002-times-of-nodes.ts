/**
 * An index for `?at=`: it finds the newest entry of each node until a time without reading the documents.
 */
import type { Kysely } from 'kysely'

export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema.createIndex('history_times').on('history').columns(['provider_id', 'node_name', 'at', 'id']).execute()
}
