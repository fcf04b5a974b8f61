/** A SQLite file that is locked, read-only or full: writes wait or get a 503, and /readyz and the metrics show it. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { accessOf, adminCaller } from '../../test/support/access.ts'
import { eventually } from '../../test/support/eventually.ts'
import { aWrite } from '../../test/support/inventory.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { problem } from '../contract/problem.ts'
import { silent } from '../telemetry/log.ts'
import { createInventoryApp } from './app.ts'
import { openSqlite } from './sqlite.ts'
import { openStore } from './store.ts'
import { putChunk } from './write.ts'
import { watchWrites } from './write-watch.ts'

let dir: string
let cluster: TargetCluster
let count = 0
const newPath = () => join(dir, `inventory-${count++}.db`)
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-unavailable-'))
  cluster = await startTargetCluster()
})
after(async () => {
  await cluster.close()
  await rm(dir, { recursive: true })
})

/** Another process with the write lock, such as a backup. */
function lock(path: string): () => void {
  const other = new DatabaseSync(path)
  other.exec('begin immediate')
  return () => {
    other.exec('commit')
    other.close()
  }
}

test('writes wait for a lock of another process, in their order, and reads do not', async () => {
  const path = newPath()
  const store = await openStore({ path, log: silent })
  const unlock = lock(path)
  const done: string[] = []
  let checks = 0
  const writes = ['first', 'second'].map((why, index) =>
    store
      .put([aWrite('a', { nics: index + 1, why })], [], { requireWaiting: () => void checks++ })
      .then(() => done.push(why)),
  )
  await sleep(300)
  assert.deepEqual(await store.list(), [])
  assert.deepEqual(done, [])
  assert.equal(checks, 0, 'a write has the lock before it decides anything')
  unlock()
  await Promise.all(writes)
  assert.deepEqual(done, ['first', 'second'])
  assert.deepEqual(
    (await store.history()).map(({ why }) => why),
    ['second', 'first'],
  )
  assert.equal(store.writeProblem(), undefined)
  await store.close()
})

test('a write that cannot get the lock is a 503 with Retry-After, and /readyz and the metrics show it', async () => {
  const path = newPath()
  const store = await openStore({ path, log: silent, maxLockMs: 100 })
  const { token, tokensFile } = await adminCaller(dir)
  const app = createInventoryApp({ store, access: await accessOf(cluster.api.kubeconfig, tokensFile), log: silent })
  const headers = { authorization: `Bearer ${token}` }
  const put = () =>
    app.inject({ method: 'PUT', url: '/v1/inventory/records', headers, payload: { records: [aWrite('a')] } })
  const writable = async () =>
    /^multinic_inventory_database_writable (\d)$/m.exec((await app.inject('/metrics')).body)?.[1]
  const warnings = async () => (await app.inject('/readyz')).json().warnings
  assert.deepEqual([await writable(), await warnings()], ['1', []])
  const unlock = lock(path)
  const refused = await put()
  assert.equal(refused.statusCode, 503)
  assert.equal(refused.headers['retry-after'], '5')
  assert.equal(problem.parse(refused.json()).detail, 'inventory database unavailable: database is locked')
  const expected = ['database: writes fail and are answered with 503: database is locked']
  assert.deepEqual([await writable(), await warnings()], ['0', expected])
  assert.equal((await app.inject('/readyz')).statusCode, 200, 'reads work')
  assert.equal((await app.inject({ url: '/v1/inventory/node-configs', headers })).statusCode, 200)
  unlock()
  assert.equal((await put()).statusCode, 204)
  await app.close()
  await store.close()
})

const causes: Record<string, [pragma: string, undo: string, problem: RegExp]> = {
  'read-only': ['query_only = 1', 'query_only = 0', /readonly database/],
  full: ['max_page_count = 1', 'max_page_count = 1000000', /database or disk is full/],
}
for (const [name, [pragma, undo, expected]] of Object.entries(causes))
  test(`a ${name} file refuses writes with a reason, loses nothing, and is found usable without a restart`, async () => {
    const engine = watchWrites(await openSqlite(newPath(), silent, () => new Date()), silent, 20)
    const put = (node: string) =>
      engine.transaction(tx => putChunk(tx, [aWrite(node, { nics: 10 })], () => '2026-01-01T00:00:00.000Z'))
    const nodes = async () =>
      (await engine.db.selectFrom('nodes').select('node_name').orderBy('node_name').execute()).map(
        ({ node_name }) => node_name,
      )
    await put('before')
    await sql.raw(`pragma ${pragma}`).execute(engine.db)
    const stored: string[] = []
    await assert.rejects(
      async () => {
        // A full file has room for some more.
        for (let index = 0; index < 100; index++) {
          await put(`during-${index}`)
          stored.push(`during-${index}`)
        }
      },
      { status: 503, retryAfterSeconds: 5, message: expected },
    )
    assert.match(engine.writeProblem() ?? '', expected)
    assert.deepEqual(await nodes(), ['before', ...stored].toSorted())
    await sql.raw(`pragma ${undo}`).execute(engine.db)
    await eventually(() => assert.equal(engine.writeProblem(), undefined))
    await put('z-after')
    assert.deepEqual(await nodes(), ['before', ...stored.toSorted(), 'z-after'])
    await engine.close()
  })
