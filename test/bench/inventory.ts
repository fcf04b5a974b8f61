/**
 * The inventory with 10,000 nodes of 10 interfaces: writes with history compared with bare inserts of the same rows, search,
 * a page and the holders of an address after 1,000,000 changes over HTTP compared with an empty route.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Agent, request } from 'undici'
import type { InventoryWrite } from '../../src/contract/inventory.ts'
import { createInventoryApp } from '../../src/inventory/app.ts'
import { openStore } from '../../src/inventory/store.ts'
import { environment } from '../../src/runtime/env.ts'
import { silent } from '../../src/telemetry/log.ts'
import { openToEveryone } from '../support/access.ts'
import { type Bench, figure, type Goal, percentile } from './figure.ts'

const [nodes, measured, batch, changes] = [10_000, 4_000, 200, 1_000_000]
export const providers = 10

export const bench: Bench = async report => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-bench-inventory-'))
  const path = join(dir, 'inventory.db')
  const store = await openStore({ path, log: silent })
  const app = createInventoryApp({ store, access: await openToEveryone(), log: silent })
  app.get('/nothing', async () => '')
  try {
    const writes = Array.from({ length: nodes }, (_, index) => writeOf(index))
    await store.put(writes)
    const { ours, bare } = await sideBySide(dir, path, writes.slice(0, measured))
    const inserts = { against: 'bare inserts', reference: bare }
    report(figure('inventory.upserts', ours, 's', inserts, { atMostTimes: 3 }))
    const each = 2_000 / measured
    report(
      figure(
        'inventory.upserts_2000',
        ours * each,
        's',
        { against: 'bare inserts', reference: bare * each },
        { atMost: 1 },
      ),
    )

    const again = performance.now()
    await store.put(writes)
    const repeated = ((performance.now() - again) / 1_000) * (measured / nodes)
    report(
      figure(
        'inventory.unchanged',
        repeated,
        's',
        { against: 'the first time', reference: ours },
        { atMostTimes: 0.5 },
      ),
    )

    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const any = () => Math.floor(Math.random() * nodes)
    const report95 = async (name: string, path: () => string, goal: Goal, each = 100) => {
      const { ours: value, nothing } = await p95(url, path, each)
      report(figure(name, value, 'ms', { against: 'an empty route', reference: nothing }, goal))
    }
    const search = () => `/v1/inventory/search?q=${any() % 2 === 0 ? addressOf(any(), 3) : macOf(any(), 7)}`
    await report95('inventory.search_p95', search, { atMostTimes: 4 })
    const page = () => `/v1/inventory/node-configs?providerId=provider-${any() % providers}&limit=100`
    await report95('inventory.provider_page_p95', page, { atMost: 100 })
    const now = new Date().toISOString()
    await report95(
      'inventory.who_had_p95',
      () => `/v1/inventory/node-configs?q=${addressOf(any(), 3)}&at=${now}&limit=10`,
      { atMost: 100 },
      2,
    )
    // Takes as long as everything before.
    if (environment()['BENCH_QUICK']) return
    addChanges(path, changes)
    const holders = () => `/v1/inventory/holders?q=${any() % 2 === 0 ? addressOf(any(), 3) : macOf(any(), 7)}`
    await report95('inventory.holders_p95_ms', holders, { atMost: 20 })
  } finally {
    await app.close()
    await store.close()
    await rm(dir, { recursive: true })
  }
}

const hex = (byte: number) => byte.toString(16).padStart(2, '0')
export const macOf = (node: number, nic: number) =>
  `02:00:${hex(nic)}:${hex(node >> 16)}:${hex((node >> 8) & 255)}:${hex(node & 255)}`
export const addressOf = (node: number, nic: number) =>
  `10.${nic + 10 * (node >> 16)}.${(node >> 8) & 255}.${node & 255}`

export function writeOf(node: number): InventoryWrite {
  const nodeName = `node-${node}`
  const instanceId = `vm-${node}`
  const interfaces = Array.from({ length: 10 }, (_, id) => ({
    id,
    name: `multinic${id}`,
    portId: `port-${node}-${id}`,
    macAddress: macOf(node, id),
    address: addressOf(node, id),
    cidr: '10.0.0.0/8',
    mtu: 1450,
    networkId: `network-${node % 1_000}`,
  }))
  return {
    providerId: `provider-${node % providers}`,
    nodeName,
    instanceId,
    config: { nodeName, instanceId, interfaces },
    lastConfigHash: `hash-${node}`,
    state: 'Configured',
    reason: 'AllInterfacesConfigured',
    interfaces: interfaces.map(({ id, name, portId, macAddress }) => ({
      id,
      name,
      portId,
      macAddress,
      status: 'Configured' as const,
    })),
    why: 'bench',
  }
}

/** Past changes with their holders: one interface of each node lost and got its address, again and again. */
function addChanges(path: string, count: number): void {
  const file = new DatabaseSync(path)
  file.exec(`pragma busy_timeout = 5000; begin;
    create temp table past as with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      select i, '2025-01-01T00:00:00.' || printf('%07d', i) || 'Z' as at from n;
    insert into history select -i, 'provider-' || i % ${providers}, 'node-' || i % ${nodes}, at, 'config', 'bench', '{}' from past;
    insert into holdings select h.provider_id, h.node_name, h.number, h.mac, h.port_id, h.address, at, at
      from past join (select *, row_number() over (order by node_name, number) as n from holdings where number in (3, 7)) h
      on h.n = 1 + i % ${2 * nodes};
    commit`)
  file.close()
}

/** Seconds of our writes and of bare inserts of the same rows, alternately, so that other load slows both. */
async function sideBySide(
  dir: string,
  filled: string,
  writes: InventoryWrite[],
): Promise<{ ours: number; bare: number }> {
  const store = await openStore({ path: join(dir, 'ours.db'), log: silent })
  const insert = bareInserts(filled, join(dir, 'bare.db'))
  let [ours, bare] = [0, 0]
  for (let at = 0; at < writes.length; at += batch) {
    const started = performance.now()
    await store.put(writes.slice(at, at + batch))
    const between = performance.now()
    insert.batch(at / batch)
    ours += between - started
    bare += performance.now() - between
  }
  await store.close()
  insert.close()
  return { ours: ours / 1_000, bare: bare / 1_000 }
}

/** Copies the rows to another database of the same schema: prepared statements, one transaction per batch. */
function bareInserts(from: string, to: string): { batch(index: number): void; close(): void } {
  const source = new DatabaseSync(from, { readOnly: true })
  const target = new DatabaseSync(to)
  target.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on')
  const objects = source
    .prepare(`select sql, name, type from sqlite_master where sql is not null order by type desc`)
    .all()
  for (const { sql, name } of objects) if (!String(name).startsWith('sqlite_')) target.exec(String(sql))
  const rowsOf = (table: string) => source.prepare(`select * from ${table} order by rowid`).all().map(Object.values)
  const into = (table: string, columns: number) =>
    target.prepare(`insert into ${table} values (${Array(columns).fill('?')})`)
  for (const row of rowsOf('providers')) into('providers', row.length).run(...row)
  const tables = ['nodes', 'interfaces', 'addresses', 'holdings', 'deliveries', 'events', 'history'].map(table => {
    const rows = rowsOf(table)
    return { rows, each: (rows.length / nodes) * batch, insert: into(table, rows[0]?.length ?? 0) }
  })
  source.close()
  return {
    batch(index) {
      target.exec('begin')
      for (const { rows, each, insert } of tables)
        for (const row of rows.slice(index * each, (index + 1) * each)) insert.run(...row)
      target.exec('commit')
    },
    close: () => target.close(),
  }
}

/**
 * Requests to both alternate, so that other load slows both. The result is the round with the least load.
 */
export async function p95(url: string, path: () => string, each: number): Promise<{ ours: number; nothing: number }> {
  const dispatcher = new Agent({ connections: 1 })
  const timed = async (target: string) => {
    const started = performance.now()
    const { body, statusCode } = await request(`${url}${target}`, { dispatcher })
    await body.dump()
    if (statusCode !== 200) throw new Error(`${statusCode} ${target}`)
    return performance.now() - started
  }
  const rounds: { ours: number; nothing: number }[] = []
  for (let round = 0; round < 10; round++) {
    const [ours, nothing]: number[][] = [[], []]
    for (let i = 0; i < each; i++) {
      nothing?.push(await timed('/nothing'))
      ours?.push(await timed(path()))
    }
    rounds.push({ ours: percentile(ours ?? [], 0.95), nothing: percentile(nothing ?? [], 0.95) })
  }
  await dispatcher.close()
  // The first round is a warm-up.
  const [quietest] = rounds.slice(1).sort((a, b) => a.ours + a.nothing - b.ours - b.nothing)
  return quietest ?? { ours: Number.NaN, nothing: Number.NaN }
}
