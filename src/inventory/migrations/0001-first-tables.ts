/**
 * The first tables. Never edit a released migration: add another one.
 */
import type { Kysely } from 'kysely'
import { textOf } from './text.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  const { schema } = db
  const text = textOf(db)
  await schema
    .createTable('providers')
    .addColumn('provider_id', text, column => column.primaryKey())
    .addColumn('first_seen_at', text, column => column.notNull())
    .execute()

  await schema
    .createTable('nodes')
    .addColumn('provider_id', text, column => column.notNull().references('providers.provider_id'))
    .addColumn('node_name', text, column => column.notNull())
    .addColumn('instance_id', text, column => column.notNull())
    .addColumn('config', text, column => column.notNull())
    .addColumn('config_hash', text, column => column.notNull())
    .addColumn('statuses', text)
    .addColumn('state', text)
    .addColumn('reason', text)
    .addColumn('message', text)
    .addColumn('interface_count', 'integer', column => column.notNull())
    .addColumn('updated_at', text, column => column.notNull())
    .addPrimaryKeyConstraint('nodes_key', ['provider_id', 'node_name'])
    .execute()
  await schema.createIndex('nodes_by_name').on('nodes').column('node_name').execute()
  await schema.createIndex('nodes_by_instance').on('nodes').column('instance_id').execute()

  const ofNode = ['provider_id', 'node_name'] as const
  await schema
    .createTable('interfaces')
    .addColumn('provider_id', text, column => column.notNull())
    .addColumn('node_name', text, column => column.notNull())
    .addColumn('number', 'integer', column => column.notNull())
    .addColumn('mac', text, column => column.notNull())
    .addColumn('port_id', text)
    .addColumn('network_id', text)
    .addColumn('subnet_id', text)
    .addColumn('source', text)
    .addPrimaryKeyConstraint('interfaces_key', [...ofNode, 'number'])
    .addForeignKeyConstraint('interfaces_node', [...ofNode], 'nodes', [...ofNode], key => key.onDelete('cascade'))
    .execute()
  await schema.createIndex('interfaces_by_mac').on('interfaces').column('mac').execute()
  await schema.createIndex('interfaces_by_port').on('interfaces').column('port_id').execute()

  await schema
    .createTable('addresses')
    .addColumn('provider_id', text, column => column.notNull())
    .addColumn('node_name', text, column => column.notNull())
    .addColumn('number', 'integer', column => column.notNull())
    .addColumn('address', text, column => column.notNull())
    .addPrimaryKeyConstraint('addresses_key', [...ofNode, 'number', 'address'])
    .addForeignKeyConstraint('addresses_node', [...ofNode], 'nodes', [...ofNode], key => key.onDelete('cascade'))
    .execute()
  await schema.createIndex('addresses_by_address').on('addresses').column('address').execute()

  await schema
    .createTable('deliveries')
    .addColumn('id', 'bigint', column => column.primaryKey())
    .addColumn('provider_id', text, column => column.notNull())
    .addColumn('node_name', text, column => column.notNull())
    .addColumn('config_hash', text, column => column.notNull())
    .addColumn('at', text, column => column.notNull())
    .execute()
  await schema
    .createIndex('deliveries_of_node')
    .on('deliveries')
    .columns([...ofNode, 'id'])
    .execute()

  await schema
    .createTable('events')
    .addColumn('id', 'bigint', column => column.primaryKey())
    .addColumn('provider_id', text, column => column.notNull())
    .addColumn('node_name', text, column => column.notNull())
    .addColumn('mac', text, column => column.notNull())
    .addColumn('port_id', text)
    .addColumn('what', text, column => column.notNull())
    .addColumn('reason', text)
    .addColumn('at', text, column => column.notNull())
    .execute()
  await schema
    .createIndex('events_of_node')
    .on('events')
    .columns([...ofNode, 'id'])
    .execute()

  await schema
    .createTable('history')
    .addColumn('id', 'bigint', column => column.primaryKey())
    .addColumn('provider_id', text, column => column.notNull())
    .addColumn('node_name', text, column => column.notNull())
    .addColumn('at', text, column => column.notNull())
    .addColumn('what', text, column => column.notNull())
    .addColumn('why', text, column => column.notNull())
    .addColumn('after', text)
    .execute()
  await schema.createIndex('history_of_node').on('history').columns(['node_name', 'provider_id', 'id']).execute()
  await schema.createIndex('history_by_time').on('history').column('at').execute()

  await schema
    .createTable('sequences')
    .addColumn('name', text, column => column.primaryKey())
    .addColumn('value', 'bigint', column => column.notNull())
    .execute()
  await schema
    .createTable('milestones')
    .addColumn('name', text, column => column.primaryKey())
    .addColumn('at', text, column => column.notNull())
    .execute()
}
