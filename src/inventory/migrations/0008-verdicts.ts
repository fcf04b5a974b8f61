/**
 * The verdicts of the operator on ports and VMs. The next sync of each OpenstackConfig fills them.
 */
import { type Kysely, sql } from 'kysely'
import { textOf } from './text.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  const text = textOf(db)
  const ofConfig = ['provider_id', 'config'] as const
  await db.schema
    .createTable('openstack_configs')
    .addColumn('provider_id', text, column => column.notNull())
    .addColumn('config', text, column => column.notNull())
    .addColumn('updated_at', text, column => column.notNull())
    .addPrimaryKeyConstraint('openstack_configs_key', [...ofConfig])
    .execute()

  const position = [...ofConfig, 'vm', 'port_id', 'reason'] as const
  await db.schema
    .createTable('verdicts')
    .addColumn('provider_id', text, column => column.notNull())
    .addColumn('config', text, column => column.notNull())
    .addColumn('vm', text, column => column.notNull())
    .addColumn('port_id', text, column => column.notNull())
    .addColumn('reason', text, column => column.notNull())
    .addColumn('kind', text, column => column.notNull())
    .addColumn('message', text, column => column.notNull())
    .addColumn('vm_name', text)
    .addColumn('name', text)
    .addColumn('port_security', text)
    .addPrimaryKeyConstraint('verdicts_key', [...position])
    .addForeignKeyConstraint('verdicts_config', [...ofConfig], 'openstack_configs', [...ofConfig], key =>
      key.onDelete('cascade'),
    )
    .execute()
  await db.schema.createIndex('verdicts_by_port').on('verdicts').column('port_id').execute()
  await db.schema.createIndex('verdicts_by_vm').on('verdicts').column('vm').execute()
  // Few of many ports are ignored, and the dashboard lists them all the time.
  await db.schema
    .createIndex('verdicts_ignored')
    .on('verdicts')
    .columns([...position])
    .where(sql.ref('kind'), '=', sql.lit('ignored'))
    .execute()
}
