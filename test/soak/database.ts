/**
 * The PostgreSQL of the inventory: its sizes, its connections, and what it stores of each VM.
 */

import pg from 'pg'
import { sandboxClusterId } from '../../sandbox/cloud/state.ts'
import { type Postgres, startPostgres } from '../rigs/postgres/rig.ts'
import type { Values } from './names.ts'

export interface SoakDatabase {
  /** With TLS and verification of the server. */
  url: string
  killAndRestart(): Promise<void>
  sample(): Promise<Values>
  /** What the inventory has for each VM ID. */
  vms(): Promise<Map<string, RecordedVm>>
  close(): Promise<void>
}

export interface RecordedVm {
  nodes: string[]
  portIds: string[]
}

/** Their rows are the present state. All others are history, which grows with every change. */
const currentTables = ['nodes', 'interfaces', 'addresses', 'verdicts', 'openstack_configs', 'providers']
const historyTables = ['holdings', 'deliveries', 'events', 'history']
const name = 'inventory'

export async function startDatabase(): Promise<SoakDatabase> {
  const postgres = await startPostgres()
  const url = new URL(await postgres.database(name))
  const own = url.href
  url.search = `?sslmode=verify-full&sslrootcert=${await postgres.encrypt()}`
  const rows = async (text: string) => {
    const client = new pg.Client({ connectionString: own, application_name: 'soak' })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(text)).rows as Record<string, string>[]
    } finally {
      await client.end()
    }
  }
  return {
    url: url.href,
    killAndRestart: () => restart(postgres),
    async sample() {
      const [row = {}] = await rows(sizes)
      return Object.fromEntries(Object.entries(row).map(([key, value]) => [`database.${key}`, Number(value)]))
    },
    async vms() {
      const found = await rows(
        `select instance_id, node_name, port_id from nodes left join interfaces using (provider_id, node_name)
         where provider_id = '${sandboxClusterId}'`,
      )
      const byVm = Map.groupBy(found, row => row['instance_id'] ?? '')
      return new Map(
        [...byVm].map(([vm, own]) => [
          vm,
          {
            nodes: [...new Set(own.map(row => row['node_name'] ?? ''))],
            portIds: own.flatMap(row => row['port_id'] ?? []),
          },
        ]),
      )
    },
    close: () => postgres.close(),
  }
}

async function restart(postgres: Postgres): Promise<void> {
  await postgres.kill()
  await postgres.start()
}

const rowsIn = (tables: readonly string[]) => tables.map(table => `(select count(*) from ${table})`).join(' + ')
const kibOf = (tables: readonly string[]) =>
  `(${tables.map(table => `pg_total_relation_size('${table}')`).join(' + ')}) / 1024`

const sizes = `select
  (select count(*) from pg_stat_activity where datname = '${name}' and application_name <> 'soak') as connections,
  pg_database_size('${name}') / 1024 as kib,
  ${rowsIn(currentTables)} as current_rows,
  ${kibOf(currentTables)} as current_kib,
  ${rowsIn(historyTables)} as history_rows,
  (select count(*) from deliveries) as deliveries`
