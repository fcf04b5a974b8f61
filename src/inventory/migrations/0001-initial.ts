/**
 * All tables. Never edit a released migration: add another one.
 */
import { type ColumnDefinitionBuilder, type Kysely, SqliteAdapter, sql } from 'kysely'

const ofNode = ['provider_id', 'node_name'] as const
const ofConfig = ['provider_id', 'config'] as const
const ofVerdict = [...ofConfig, 'vm', 'port_id', 'reason'] as const

const required = (column: ColumnDefinitionBuilder) => column.notNull()
const primary = (column: ColumnDefinitionBuilder) => column.primaryKey()

export async function up(db: Kysely<unknown>): Promise<void> {
  await createNodes(db)
  await createHistory(db)
  await createVerdicts(db)
  await createIndexes(db)
}

/**
 * Byte order on both engines. The default collation of PostgreSQL sorts by language, and then a prefix would not be a range.
 */
function textOf(db: Kysely<unknown>) {
  return db.getExecutor().adapter instanceof SqliteAdapter ? 'text' : sql`text collate "C"`
}

async function createNodes(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  const text = textOf(db)
  await schema
    .createTable('providers')
    .addColumn('provider_id', text, primary)
    .addColumn('first_seen_at', text, required)
    .execute()
  await schema
    .createTable('nodes')
    .addColumn('provider_id', text, column => column.notNull().references('providers.provider_id'))
    .addColumn('node_name', text, required)
    .addColumn('instance_id', text, required)
    .addColumn('instance_name', text)
    .addColumn('provider_name', text)
    .addColumn('config', text, required)
    .addColumn('config_hash', text, required)
    .addColumn('statuses', text)
    .addColumn('state', text)
    .addColumn('reason', text)
    .addColumn('message', text)
    .addColumn('agent_rollout', text)
    .addColumn('interface_count', 'integer', required)
    .addColumn('updated_at', text, required)
    .addPrimaryKeyConstraint('nodes_key', [...ofNode])
    .execute()
  await schema
    .createTable('interfaces')
    .addColumn('provider_id', text, required)
    .addColumn('node_name', text, required)
    .addColumn('number', 'integer', required)
    .addColumn('mac', text, required)
    .addColumn('port_id', text)
    .addColumn('network_id', text)
    .addColumn('subnet_id', text)
    .addColumn('source', text)
    .addColumn('subnet_name', text)
    .addColumn('network_name', text)
    .addPrimaryKeyConstraint('interfaces_key', [...ofNode, 'number'])
    .addForeignKeyConstraint('interfaces_node', [...ofNode], 'nodes', [...ofNode], key => key.onDelete('cascade'))
    .execute()
  await schema
    .createTable('addresses')
    .addColumn('provider_id', text, required)
    .addColumn('node_name', text, required)
    .addColumn('number', 'integer', required)
    .addColumn('address', text, required)
    .addPrimaryKeyConstraint('addresses_key', [...ofNode, 'number', 'address'])
    .addForeignKeyConstraint('addresses_node', [...ofNode], 'nodes', [...ofNode], key => key.onDelete('cascade'))
    .execute()
}

async function createHistory(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  const text = textOf(db)
  await schema
    .createTable('holdings')
    .addColumn('provider_id', text, required)
    .addColumn('node_name', text, required)
    .addColumn('number', 'integer', required)
    .addColumn('mac', text, required)
    .addColumn('port_id', text)
    .addColumn('address', text)
    .addColumn('since', text, required)
    .addColumn('until', text)
    .execute()
  await schema
    .createTable('deliveries')
    .addColumn('id', 'bigint', primary)
    .addColumn('provider_id', text, required)
    .addColumn('node_name', text, required)
    .addColumn('config_hash', text, required)
    .addColumn('at', text, required)
    .execute()
  await schema
    .createTable('events')
    .addColumn('id', 'bigint', primary)
    .addColumn('provider_id', text, required)
    .addColumn('node_name', text, required)
    .addColumn('mac', text, required)
    .addColumn('port_id', text)
    .addColumn('what', text, required)
    .addColumn('reason', text)
    .addColumn('at', text, required)
    .execute()
  await schema
    .createTable('history')
    .addColumn('id', 'bigint', primary)
    .addColumn('provider_id', text, required)
    .addColumn('node_name', text, required)
    .addColumn('at', text, required)
    .addColumn('what', text, required)
    .addColumn('why', text, required)
    .addColumn('after', text)
    .execute()
  let audit = schema.createTable('audit').addColumn('id', 'bigint', primary)
  for (const name of ['at', 'action', 'object', 'provider_id', 'caller', 'proof', 'source', 'outcome', 'recorded_by'])
    audit = audit.addColumn(name, text, required)
  await audit.execute()
  await schema
    .createTable('sequences')
    .addColumn('name', text, primary)
    .addColumn('value', 'bigint', required)
    .execute()
  await schema.createTable('milestones').addColumn('name', text, primary).addColumn('at', text, required).execute()
}

async function createVerdicts(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  const text = textOf(db)
  await schema
    .createTable('openstack_configs')
    .addColumn('provider_id', text, required)
    .addColumn('config', text, required)
    .addColumn('updated_at', text, required)
    .addColumn('plan', text)
    .addColumn('planned_at', text)
    .addPrimaryKeyConstraint('openstack_configs_key', [...ofConfig])
    .execute()
  await schema
    .createTable('verdicts')
    .addColumn('provider_id', text, required)
    .addColumn('config', text, required)
    .addColumn('vm', text, required)
    .addColumn('port_id', text, required)
    .addColumn('reason', text, required)
    .addColumn('kind', text, required)
    .addColumn('message', text, required)
    .addColumn('vm_name', text)
    .addColumn('name', text)
    .addColumn('port_security', text)
    .addPrimaryKeyConstraint('verdicts_key', [...ofVerdict])
    .addForeignKeyConstraint('verdicts_config', [...ofConfig], 'openstack_configs', [...ofConfig], key =>
      key.onDelete('cascade'),
    )
    .execute()
}

const indexes: Record<string, readonly [table: string, ...columns: string[]]> = {
  nodes_by_name: ['nodes', 'node_name'],
  nodes_by_instance: ['nodes', 'instance_id'],
  nodes_by_instance_name: ['nodes', 'instance_name'],
  nodes_by_provider_name: ['nodes', 'provider_name'],
  // The node that changed last has the name: without the index, holders would sort all nodes of a provider.
  nodes_by_change: ['nodes', 'provider_id', 'updated_at'],
  interfaces_by_mac: ['interfaces', 'mac'],
  interfaces_by_port: ['interfaces', 'port_id'],
  interfaces_by_network_id: ['interfaces', 'network_id'],
  interfaces_by_subnet_id: ['interfaces', 'subnet_id'],
  interfaces_by_source: ['interfaces', 'source'],
  interfaces_by_subnet_name: ['interfaces', 'subnet_name'],
  interfaces_by_network_name: ['interfaces', 'network_name'],
  addresses_by_address: ['addresses', 'address'],
  holdings_by_address: ['holdings', 'address', 'until'],
  holdings_by_mac: ['holdings', 'mac', 'until'],
  holdings_by_port_id: ['holdings', 'port_id', 'until'],
  holdings_by_end: ['holdings', 'until'],
  deliveries_of_node: ['deliveries', 'provider_id', 'node_name', 'id'],
  events_of_node: ['events', 'provider_id', 'node_name', 'id'],
  history_of_node: ['history', 'node_name', 'provider_id', 'id'],
  history_by_time: ['history', 'at'],
  // `?at=` finds the newest entry of each node until a time without reading the documents.
  history_times: ['history', 'provider_id', 'node_name', 'at', 'id'],
  audit_by_time: ['audit', 'at'],
  verdicts_by_port: ['verdicts', 'port_id'],
  verdicts_by_vm: ['verdicts', 'vm'],
}

async function createIndexes({ schema }: Kysely<unknown>): Promise<void> {
  for (const [name, [table, ...columns]] of Object.entries(indexes))
    await schema.createIndex(name).on(table).columns(columns).execute()
  await schema
    .createIndex('nodes_by_state')
    .on('nodes')
    .expression(sql`coalesce(state, 'Pending'), provider_id, node_name`)
    .execute()
  // Few of many ports are ignored, and the dashboard lists them all the time.
  await schema
    .createIndex('verdicts_ignored')
    .on('verdicts')
    .columns([...ofVerdict])
    .where(sql.ref('kind'), '=', sql.lit('ignored'))
    .execute()
}
