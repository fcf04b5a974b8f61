/**
 * Indexes for the filters of the list: without them, a page of the few nodes that match reads all nodes.
 */
import { type Kysely, sql } from 'kysely'

export async function up({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createIndex('nodes_by_state')
    .on('nodes')
    .expression(sql`coalesce(state, 'Pending'), provider_id, node_name`)
    .execute()
  for (const column of ['network_id', 'subnet_id', 'source'])
    await schema.createIndex(`interfaces_by_${column}`).on('interfaces').column(column).execute()
}
