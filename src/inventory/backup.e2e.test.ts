/** Dumps of a real PostgreSQL, as documented (`pg_dump`): what they have, and an inventory on the restored database. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { type Postgres, startPostgres } from '../../test/rigs/postgres/rig.ts'
import { aWrite, filledTables, putEverything } from '../../test/support/inventory.ts'
import { silent } from '../telemetry/log.ts'
import { openStore } from './store.ts'

let server: Postgres
let count = 0
const newDatabase = () => server.database(`inventory_${count++}`)
const path = '/nowhere/inventory.db'

before(async () => {
  server = await startPostgres()
})
after(() => server?.close())

test('a dump of a running inventory restores records and history', async () => {
  const [here, there] = [await newDatabase(), await newDatabase()]
  const now = () => new Date()
  const running = await openStore({ path, databaseUrl: here, log: silent, now })
  try {
    for (const state of ['Pending', 'Configured'] as const) await running.put([aWrite('n1', { nics: 2, state })])
    await server.copy(here, there)
    const restored = await openStore({ path, databaseUrl: there, log: silent, now })
    try {
      assert.deepEqual(await restored.history({ nodeName: 'n1' }), await running.history({ nodeName: 'n1' }))
      await restored.put([aWrite('n1', { nics: 3, state: 'Configured' })])
      assert.equal((await restored.history({ nodeName: 'n1' })).length, 3)
    } finally {
      await restored.close()
    }
  } finally {
    await running.close()
  }
})

test('a restored dump has every row of every table, also of partitions', async () => {
  const [here, there] = [await newDatabase(), await newDatabase()]
  const running = await openStore({ path, databaseUrl: here, log: silent })
  await putEverything(running)
  await running.pruneHistory('2000-01-01T00:00:00.000Z')
  await server.copy(here, there)
  const restored = await openStore({ path, databaseUrl: there, log: silent })
  const rowsIn = async (connectionString: string, table: string) => {
    const client = new pg.Client({ connectionString })
    await client.connect()
    const { rows } = await client.query(`select to_jsonb(row)::text as text from ${table} as row order by 1`)
    await client.end()
    return rows
  }
  try {
    for (const table of filledTables) {
      const rows = await rowsIn(here, table)
      assert.ok(rows.length > 0, `no row of ${table}`)
      assert.deepEqual(await rowsIn(there, table), rows)
    }
    // The partitions are those of the source: the next write and the next retention work on them.
    await restored.put([aWrite('new')])
    await restored.pruneHistory('2000-01-01T00:00:00.000Z')
  } finally {
    await Promise.all([running.close(), restored.close()])
  }
})
