/** A PostgreSQL that answers reads and refuses writes, such as a standby. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { startPostgres } from '../../test/rigs/postgres/rig.ts'
import { eventually } from '../../test/support/eventually.ts'
import { aWrite } from '../../test/support/inventory.ts'
import { silent } from '../telemetry/log.ts'
import { openStore } from './store.ts'

const within = 60_000

test('a read-only PostgreSQL refuses writes with a reason, answers reads, and is found writable without a restart', async t => {
  const server = await startPostgres()
  t.after(() => server.close())
  const databaseUrl = await server.database('inventory')
  const name = new URL(databaseUrl).pathname.slice(1)
  // Another database: sessions of this one are read-only too.
  const admin = new pg.Client({ connectionString: new URL('/postgres', databaseUrl).href })
  await admin.connect()
  const setReadOnly = async (value: 'on' | 'off') => {
    await admin.query(`alter database ${name} set default_transaction_read_only = ${value}`)
    // The setting applies to new sessions.
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  }
  const store = await openStore({ path: '/nowhere/inventory.db', databaseUrl, log: silent })
  try {
    await store.put([aWrite('a')])
    await setReadOnly('on')
    await eventually(() => assert.rejects(store.put([aWrite('b')]), /read-only transaction/), { within })
    await assert.rejects(store.put([aWrite('b')]), { status: 503, retryAfterSeconds: 5 })
    assert.match(store.writeProblem() ?? '', /read-only transaction/)
    assert.deepEqual(
      (await eventually(() => store.list(), { within })).map(({ nodeName }) => nodeName),
      ['a'],
    )
    await setReadOnly('off')
    await eventually(() => assert.equal(store.writeProblem(), undefined), { within })
    await store.put([aWrite('b')])
    assert.equal((await store.list()).length, 2)
  } finally {
    await store.close()
    await admin.end()
  }
})
