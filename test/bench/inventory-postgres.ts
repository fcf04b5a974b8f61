/**
 * The inventory with 100,000 nodes of 10 interfaces on a real PostgreSQL, after 1,000,000 changes in a year: search, holders, pages and
 * history over HTTP, compared with an empty route. The store writes the nodes, as an operator would.
 *
 * It takes several minutes and 3 GiB of memory: it runs only with ONLY=inventory-postgres.
 */
import assert from 'node:assert/strict'
import pg from 'pg'
import { createInventoryApp } from '../../src/inventory/app.ts'
import { openStore } from '../../src/inventory/store.ts'
import { silent } from '../../src/telemetry/log.ts'
import { startPostgres } from '../rigs/postgres/rig.ts'
import { openToEveryone } from '../support/access.ts'
import { figure, isolatedBench, printFigure, timed } from './figure.ts'
import { addressOf, macOf, p95, providers, writeOf } from './inventory.ts'

const [nodes, changes, batch] = [100_000, 1_000_000, 1_000]

export const bench = isolatedBench(import.meta.filename, 30 * 60_000)

if (import.meta.main) await measure()

async function measure(): Promise<void> {
  const server = await startPostgres()
  const databaseUrl = await server.database('inventory')
  let time = new Date()
  const store = await openStore({ path: ':memory:', databaseUrl, log: silent, now: () => time })
  // A year of partitions.
  for (const month of Array(12).keys()) {
    time = new Date(Date.UTC(2026, month, 1))
    await store.pruneHistory('2000-01-01T00:00:00.000Z')
  }
  const app = createInventoryApp({ store, access: await openToEveryone(), log: silent })
  app.get('/nothing', async () => '')
  try {
    const filled = await timed(async () => {
      for (let at = 0; at < nodes; at += batch)
        await store.put(Array.from({ length: batch }, (_, index) => writeOf(at + index)))
    })
    const each = { against: '1 ms for each node', reference: nodes / 1_000 }
    printFigure(figure('inventory-postgres.write_100000_s', filled, 's', each, { atMostTimes: 2 }))
    await addChanges(databaseUrl)

    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const any = () => Math.floor(Math.random() * nodes)
    const value = () => (any() % 2 === 0 ? addressOf(any(), 3) : macOf(any(), 7))
    const report = async (name: string, path: () => string, atMost: number, each = 100) => {
      const { ours, nothing } = await p95(url, path, each)
      const reference = { against: 'an empty route', reference: nothing }
      printFigure(figure(`inventory-postgres.${name}`, ours, 'ms', reference, { atMost }))
    }
    const root = '/v1/inventory'
    await report('search_p95_ms', () => `${root}/search?q=${value()}`, 20)
    await report('search_name_p95_ms', () => `${root}/search?q=node-${any()}`, 20)
    await report('holders_p95_ms', () => `${root}/holders?q=${value()}`, 20)
    const page = (more: string) => () => `${root}/node-configs?limit=100&${more}`
    await report('page_p95_ms', () => page(`providerId=provider-${any() % providers}`)(), 100)
    await report('page_search_p95_ms', () => page(`q=${addressOf(any(), 3)}`)(), 100)
    await report('page_failed_p95_ms', page('state=Failed'), 100, 10)
    await report('page_network_p95_ms', () => page(`networkId=network-${any() % 1_000}`)(), 100, 10)
    await report('node_p95_ms', () => `${root}/node-configs/node-${any()}`, 100)
    await report('node_history_p95_ms', () => `${root}/node-configs/node-${any()}/history`, 100)
    await report('history_p95_ms', () => `${root}/history?limit=100`, 100)
  } finally {
    await app.close()
    await store.close()
    await server.close()
  }
}

/** Past changes with their holders: one interface of each node lost and got its address, again and again. */
async function addChanges(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query('select count(*) as count from holdings')
  assert.equal(Number(rows[0]?.count), 10 * nodes)
  await client.query(`
    create temp table past as
      select i, to_char(timestamp '2026-01-01' + i * interval '30 seconds', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"') as at
      from generate_series(1, ${changes}) i;
    insert into history select -i, 'provider-' || i % ${providers}, 'node-' || i % ${nodes}, at, 'config', 'bench', '{}' from past;
    insert into holdings select h.provider_id, h.node_name, h.number, h.mac, h.port_id, h.address, at, at
      from past join (select *, row_number() over () as n from holdings where number in (3, 7)) h
      on h.n = 1 + i % ${2 * nodes};
    analyze`)
  await client.end()
}
