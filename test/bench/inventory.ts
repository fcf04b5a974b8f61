/**
 * The inventory with 10,000 nodes of 10 interfaces: writes with history beside bare inserts of the same rows, search and a
 * page over HTTP beside a route that does nothing.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Agent, request } from 'undici'
import type { InventoryWrite } from '../../src/contract/inventory.ts'
import { createInventoryApp } from '../../src/inventory/app.ts'
import { openInventoryAuth } from '../../src/inventory/auth.ts'
import { openStore } from '../../src/inventory/store.ts'
import { silent } from '../../src/log.ts'
import { type Bench, figure } from './figure.ts'

const [nodes, providers, batch] = [10_000, 10, 200]

export const bench: Bench = async report => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-bench-inventory-'))
  const path = join(dir, 'inventory.db')
  const store = await openStore({ path, log: silent })
  const app = createInventoryApp({ store, auth: await openInventoryAuth(undefined, silent), log: silent })
  app.get('/nothing', async () => '')
  try {
    const writes = Array.from({ length: nodes }, (_, index) => writeOf(index))
    const started = performance.now()
    for (let at = 0; at < nodes; at += batch) await store.put(writes.slice(at, at + batch))
    const seconds = (performance.now() - started) / 1_000
    const bare = bareInserts(path, join(dir, 'bare.db'))
    report(
      figure(
        'inventory.upserts_10000',
        seconds,
        's',
        { against: 'bare inserts', reference: bare },
        { atMost: nodes / 2_000 },
      ),
    )

    const again = performance.now()
    await store.put(writes)
    const repeated = (performance.now() - again) / 1_000
    report(figure('inventory.unchanged_10000', repeated, 's', { against: 'the first time', reference: seconds }))

    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const nothing = { against: 'an empty route', reference: await p95(url, () => '/nothing') }
    const any = () => Math.floor(Math.random() * nodes)
    const byIp = await p95(url, () => `/v1/inventory/node-configs?q=${addressOf(any(), 3)}`)
    report(figure('inventory.search_ip_p95', byIp, 'ms', nothing, { atMost: 20 }))
    const byMac = await p95(url, () => `/v1/inventory/search?q=${macOf(any(), 7)}`)
    report(figure('inventory.search_mac_p95', byMac, 'ms', nothing, { atMost: 20 }))
    const page = await p95(url, () => `/v1/inventory/node-configs?providerId=provider-${any() % providers}&limit=100`)
    report(figure('inventory.provider_page_p95', page, 'ms', nothing, { atMost: 100 }))
  } finally {
    await app.close()
    await store.close()
    await rm(dir, { recursive: true })
  }
}

const hex = (byte: number) => byte.toString(16).padStart(2, '0')
const macOf = (node: number, nic: number) => `02:00:${hex(nic)}:00:${hex(node >> 8)}:${hex(node & 255)}`
const addressOf = (node: number, nic: number) => `10.${nic}.${node >> 8}.${node & 255}`

function writeOf(node: number): InventoryWrite {
  const nodeName = `node-${node}`
  const instanceId = `vm-${node}`
  const interfaces = Array.from({ length: 10 }, (_, id) => ({
    id,
    name: `multinic${id}`,
    portId: `port-${node}-${id}`,
    macAddress: macOf(node, id),
    address: addressOf(node, id),
    cidr: `10.${id}.0.0/16`,
    mtu: 1450,
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

/** Seconds for the rows of one database in another of the same schema, by prepared statements, as many a transaction. */
function bareInserts(from: string, to: string): number {
  const source = new DatabaseSync(from, { readOnly: true })
  const target = new DatabaseSync(to)
  target.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on')
  const made = source
    .prepare(`select sql, name, type from sqlite_master where sql is not null order by type desc`)
    .all()
  for (const { sql, name } of made) if (!String(name).startsWith('sqlite_')) target.exec(String(sql))
  const tables = ['providers', 'nodes', 'interfaces', 'addresses', 'deliveries', 'events', 'history'].map(table => {
    const rows = source.prepare(`select * from ${table} order by rowid`).all()
    const places = Object.keys(rows[0] ?? {}).map(() => '?')
    return {
      rows: rows.map(row => Object.values(row)),
      insert: target.prepare(`insert into ${table} values (${places})`),
    }
  })
  source.close()
  const started = performance.now()
  const transactions = nodes / batch
  for (let slice = 0; slice < transactions; slice++) {
    target.exec('begin')
    for (const { rows, insert } of tables) {
      // The few that all others hang on come first.
      const share = rows.length < transactions ? 1 : transactions
      const [first, last] = [slice, slice + 1].map(part => Math.floor((rows.length * part) / share))
      for (const row of rows.slice(first, last)) insert.run(...row)
    }
    target.exec('commit')
  }
  const seconds = (performance.now() - started) / 1_000
  target.close()
  return seconds
}

async function p95(url: string, path: () => string): Promise<number> {
  const dispatcher = new Agent({ connections: 1 })
  const times: number[] = []
  for (let i = 0; i < 300; i++) {
    const started = performance.now()
    const { body, statusCode } = await request(`${url}${path()}`, { dispatcher })
    await body.dump()
    if (statusCode !== 200) throw new Error(`${statusCode}`)
    if (i >= 50) times.push(performance.now() - started)
  }
  await dispatcher.close()
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Number.NaN
}
