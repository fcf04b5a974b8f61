/** The inventory on a real PostgreSQL: the store suite, several replicas, and outages of the server. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Kysely, PostgresDialect } from 'kysely'
import { Migrator } from 'kysely/migration'
import pg from 'pg'
import { request } from 'undici'
import { inventoryStoreConformance } from '../../test/conformance/inventory-store.ts'
import { inventoryVerdictsConformance } from '../../test/conformance/inventory-verdicts.ts'
import { type Postgres, startPostgres } from '../../test/rigs/postgres/rig.ts'
import { adminCaller } from '../../test/support/access.ts'
import { eventually } from '../../test/support/eventually.ts'
import { startFrozenProxy } from '../../test/support/frozen-proxy.ts'
import { aReadyWrite, aWrite } from '../../test/support/inventory.ts'
import { assertReached, fuzzInventory, seeds } from '../../test/support/inventory-fuzz.ts'
import { startTargetCluster } from '../../test/support/target-cluster.ts'
import { createLog, silent } from '../telemetry/log.ts'
import { type RunningInventory, startInventory } from './main.ts'
import { migrations } from './migrations/all.ts'
import { openStore, type Store } from './store.ts'

const within = 60_000
let server: Postgres
let dir: string
let count = 0
const lines: string[] = []
const log = createLog({}, { level: 'debug', write: line => lines.push(line) })
const newDatabase = () => server.database(`inventory_${count++}`)
const noFile = () => join(dir, `none-${count++}.db`)

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-postgres-'))
  server = await startPostgres()
})
after(async () => {
  await server?.close()
  await rm(dir, { recursive: true })
})

async function emptyStore(now: () => Date): Promise<Store> {
  const store = await openStore({ path: noFile(), databaseUrl: await newDatabase(), log: silent, now })
  // Creates the partitions.
  await store.pruneHistory('2000-01-01T00:00:00.000Z')
  return store
}

inventoryStoreConformance(emptyStore)
inventoryVerdictsConformance(emptyStore)

test('replicas that start together migrate once and import the legacy file once', async () => {
  const databaseUrl = await newDatabase()
  const path = join(dir, 'inventory.json')
  const record = { providerId: 'p1', nodeName: 'old', config: { interfaces: [{ macAddress: '02:00:00:00:00:01' }] } }
  writeFileSync(path, JSON.stringify({ records: [record] }))
  const replicas = await Promise.all([1, 2, 3, 4].map(() => openStore({ path, databaseUrl, log })))
  for (const store of replicas) {
    assert.equal(store.problem(), undefined)
    assert.equal((await store.history({ nodeName: 'old' })).length, 1)
  }
  await replicas[0]?.put([aWrite('old', { removed: true })])
  await Promise.all(replicas.map(store => store.close()))
  const later = await openStore({ path, databaseUrl, log })
  assert.equal(await later.get('p1', 'old'), undefined)
  await later.close()
})

async function withDatabase<T>(connectionString: string, work: (db: Kysely<unknown>) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ connectionString })
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  try {
    return await work(db)
  } finally {
    await db.destroy()
  }
}
test('a later version migrates while this one writes, and this one starts again on its tables', async () => {
  const databaseUrl = await newDatabase()
  const open = () => openStore({ path: noFile(), databaseUrl, log })
  const running = await open()
  const nextVersion = {
    ...migrations,
    '9999-colours': {
      async up(db: Kysely<unknown>) {
        await db.schema.alterTable('nodes').addColumn('colour', 'text').execute()
      },
    },
  }
  let written = 0
  const upgrade = withDatabase(databaseUrl, db =>
    new Migrator({ db, provider: { getMigrations: async () => nextVersion } }).migrateToLatest(),
  )
  let upgraded = false
  upgrade.finally(() => {
    upgraded = true
  })
  while (!upgraded || written < 20) await running.put([aWrite('w1', { nics: 1 + (written++ % 3) })])
  assert.equal((await upgrade).error, undefined)
  const restarted = await open()
  try {
    assert.equal(restarted.problem(), undefined)
    await restarted.put([aWrite('w2', { nics: 1 })])
    assert.equal((await running.get('p1', 'w2'))?.config.interfaces.length, 1)
    assert.equal((await restarted.history({ nodeName: 'w1' })).length, written)
  } finally {
    await Promise.all([running.close(), restarted.close()])
  }
})

test('repeated queries run as named statements, which PostgreSQL plans once per connection', async () => {
  const databaseUrl = await newDatabase()
  const [name] = new URL(databaseUrl).pathname.slice(1).split('/')
  await server.query(`alter database "${name}" set log_statement = 'all'`)
  const store = await openStore({ path: noFile(), databaseUrl, log })
  try {
    await store.put([aWrite('w1', { nics: 1 })])
    await store.holders('10.0.0.1')
    const lines = await server.log()
    for (const statement of ['holders', 'nodes 1', 'history 1'])
      assert.match(lines, new RegExp(`execute ${statement}: `), `not prepared: ${statement}`)
  } finally {
    await store.close()
  }
})

test('two replicas write concurrently: each change is one history entry, and a reader of one gets the changes of the other', async () => {
  const databaseUrl = await newDatabase()
  const env = {
    INVENTORY_ADDR: '127.0.0.1:0',
    INVENTORY_DATABASE_URL: databaseUrl,
    INVENTORY_DB_PATH: noFile(),
    INVENTORY_ANONYMOUS_ACCESS: 'true',
  }
  const [one, two] = (await Promise.all([startInventory({ env, log }), startInventory({ env, log })])) as [
    RunningInventory,
    RunningInventory,
  ]
  try {
    const { body } = await request(`${two.url}/v1/inventory/events`)
    const ids: number[] = []
    const reading = (async () => {
      let text = ''
      for await (const piece of body) {
        text += piece
        const whole = text.lastIndexOf('\n\n')
        for (const [, id] of text.slice(0, whole + 2).matchAll(/^id: (\d+)$/gm)) ids.push(Number(id))
        text = text.slice(whole + 2)
      }
    })().catch(() => {})
    const rounds = Array.from({ length: 30 }, (_, i) => i)
    // Both write the same change of a shared node, as two operators would, and a node of their own.
    const writesOf = (who: string) => (i: number) => [
      aWrite('shared', { lastConfigHash: `h${i}` }),
      aWrite(`${who}-${i}`, { nics: 2 }),
    ]
    for (const i of rounds)
      await Promise.all([one.recorder.put(writesOf('one')(i)), two.recorder.put(writesOf('two')(i))])

    const history = await askJson<{ id: number; after: { lastConfigHash: string } }[]>(
      `${one.url}/v1/inventory/node-configs/shared/history`,
    )
    assert.deepEqual(
      history.map(entry => entry.after.lastConfigHash),
      rounds.map(i => `h${i}`).toReversed(),
    )
    const all = await askJson<{ id: number }[]>(`${two.url}/v1/inventory/history?limit=1000`)
    assert.equal(all.length, 90)
    await eventually(() => assert.equal(ids.length, 90), { within })
    assert.deepEqual(ids, all.map(({ id }) => id).toReversed())
    const [first, second] = await Promise.all([one, two].map(({ url }) => request(`${url}/v1/interfaces/providers`)))
    assert.equal(first?.headers['etag'], second?.headers['etag'])
    await Promise.all([first?.body.dump(), second?.body.dump()])
    body.destroy()
    await reading
  } finally {
    await Promise.all([one.close(), two.close()])
  }
})

test('a port that two replicas report as ready is measured by one of them', async () => {
  const databaseUrl = await newDatabase()
  let measured = 0
  const onReady = () => measured++
  const replicas = await Promise.all([1, 2].map(() => openStore({ path: noFile(), databaseUrl, log, onReady })))
  try {
    for (let node = 0; node < 20; node++)
      // Both writes are changes of the record, and the second one completes nothing.
      await Promise.all(
        replicas.map((store, replica) =>
          store.put([{ ...aReadyWrite(`worker-${node}`), message: `of replica ${replica}` }]),
        ),
      )
    assert.equal(measured, 20)
  } finally {
    await Promise.all(replicas.map(store => store.close()))
  }
})

test('a killed PostgreSQL loses no acknowledged write, and the inventory recovers without help', async () => {
  const env = {
    INVENTORY_ADDR: '127.0.0.1:0',
    INVENTORY_DATABASE_URL: await newDatabase(),
    INVENTORY_DB_PATH: noFile(),
    INVENTORY_ANONYMOUS_ACCESS: 'true',
  }
  const inventory = await startInventory({ env, log })
  const received: string[] = []
  const { body } = await request(`${inventory.url}/v1/inventory/events`, { bodyTimeout: 0 })
  const reading = (async () => {
    for await (const piece of body) received.push(String(piece))
  })().catch(() => {})
  const acknowledged = new Set<number>()
  let [next, running, failures] = [0, true, 0]
  const writing = (async () => {
    while (running) {
      try {
        await inventory.recorder.put([aWrite(`n${next}`)])
        acknowledged.add(next++)
      } catch {
        failures++
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    }
  })()
  try {
    for (const round of [1, 2]) {
      const before = acknowledged.size
      await eventually(() => assert.ok(acknowledged.size > before + 20), { within })
      await server.kill()
      const failuresBefore = failures
      await eventually(async () => assert.equal((await ready(inventory)).status, 503), { within })
      const answer = await request(`${inventory.url}/v1/inventory/node-configs`)
      assert.equal(answer.statusCode, 503)
      assert.match(((await answer.body.json()) as { detail: string }).detail, /inventory database unavailable/)
      await eventually(() => assert.ok(failures > failuresBefore, `no write failed in round ${round}`), { within })
      await server.start()
      await eventually(async () => assert.equal((await ready(inventory)).status, 200), { within })
    }
    const before = acknowledged.size
    await eventually(() => assert.ok(acknowledged.size > before + 5), { within })
    running = false
    await writing
    const names = new Set(
      (await askJson<{ nodeName: string }[]>(`${inventory.url}/v1/inventory/node-configs`)).map(one => one.nodeName),
    )
    for (const i of acknowledged) assert.ok(names.has(`n${i}`), `n${i} was acknowledged and is missing`)
    // The reader stayed connected and got every change, also those after each outage.
    await eventually(
      () => {
        const text = received.join('')
        for (const i of acknowledged) assert.ok(text.includes(`"nodeName":"n${i}"`), `the reader missed n${i}`)
      },
      { within },
    )
  } finally {
    running = false
    await writing
    body.destroy()
    await reading
    await inventory.close()
  }
})

test('after a failover without a packet of the old server, one query fails and the next one is answered', async () => {
  const url = new URL(await newDatabase())
  const proxy = await startFrozenProxy(`http://${url.host}`)
  url.host = new URL(proxy.url).host
  const store = await openStore({ path: noFile(), databaseUrl: url.href, log })
  try {
    await store.put([aWrite('a')])
    proxy.lose()
    await assert.rejects(store.put([aWrite('b')]), /inventory database unavailable: Query read timeout/)
    await store.put([aWrite('c')])
    assert.deepEqual((await store.list()).map(({ nodeName }) => nodeName).sort(), ['a', 'c'])
  } finally {
    await store.close()
    await proxy.close()
  }
})

test('an inventory that starts before its database waits for it', async () => {
  const databaseUrl = await newDatabase()
  await server.kill()
  const store: Store = await openStore({ path: noFile(), databaseUrl, log })
  try {
    assert.match(store.problem() ?? '', /ECONNREFUSED/)
    await assert.rejects(store.put([aWrite('a')]), /inventory database unavailable/)
    await server.start()
    await eventually(() => store.put([aWrite('a')]), { within })
    assert.equal((await store.list()).length, 1)
  } finally {
    await store.close()
  }
})

test('every response conforms to the OpenAPI document on PostgreSQL too', async () => {
  await using stack = new AsyncDisposableStack()
  const cluster = await startTargetCluster()
  stack.defer(() => cluster.close())
  const { token, tokensFile } = await adminCaller(dir)
  const inventory = await startInventory({
    env: {
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DATABASE_URL: await newDatabase(),
      INVENTORY_DB_PATH: noFile(),
      INVENTORY_TOKENS_FILE: tokensFile,
      INVENTORY_ANONYMOUS_ACCESS: 'true',
      KUBECONFIG: cluster.api.kubeconfig,
      INVENTORY_RATE_LIMIT: '0',
    },
    log,
  })
  stack.defer(() => inventory.close())
  await inventory.recorder.put(seeds)
  assertReached(await fuzzInventory({ url: inventory.url, token, each: 80 }), [200, 204, 400])
})

test('the server certificate is verified, and one of an unknown CA is refused', async () => {
  const databaseUrl = await newDatabase()
  const ca = await server.encrypt()
  const open = (more: string) => openStore({ path: noFile(), databaseUrl: `${databaseUrl}?${more}`, log })
  await eventually(
    async () => {
      const store = await open(`sslmode=verify-full&sslrootcert=${encodeURIComponent(ca)}`)
      try {
        await store.put([aWrite('a')])
      } finally {
        await store.close()
      }
    },
    { within },
  )
  const withoutCa = await open('sslmode=verify-full')
  assert.match(withoutCa.problem() ?? '', /self-signed certificate/)
  await withoutCa.close()
})

test('a wrong password is reported without the password', async () => {
  const url = new URL(await newDatabase())
  url.password = 'not-the-one-it-knows'
  const store = await openStore({ path: noFile(), databaseUrl: url.href, log })
  assert.match(store.problem() ?? '', /password authentication failed for user "postgres"/)
  await store.close()
})

test('no log line contains a password', () => {
  const text = lines.join('')
  assert.match(text, /inventory database unavailable/)
  assert.match(text, /127\.0\.0\.1:5432\/inventory_/)
  for (const secret of [server.password, encodeURIComponent(server.password), 'not-the-one-it-knows'])
    assert.ok(!text.includes(secret))
})

async function askJson<T>(url: string): Promise<T> {
  const { body } = await request(url)
  return (await body.json()) as T
}

async function ready({ url }: RunningInventory): Promise<{ status: number }> {
  const { statusCode, body } = await request(`${url}/readyz`)
  await body.dump()
  return { status: statusCode }
}
