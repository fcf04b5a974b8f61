/** The history on a real PostgreSQL in partitions of a month: created from an existing table, ahead, and dropped. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { type Postgres, startPostgres } from '../../test/rigs/postgres/rig.ts'
import { aWrite } from '../../test/support/inventory.ts'
import { silent } from '../telemetry/log.ts'
import { openStore, type Store } from './store.ts'

let server: Postgres
let count = 0
before(async () => {
  server = await startPostgres()
})
after(() => server?.close())

interface Opened {
  store: Store
  /** A second replica: a version without partitions uses the tables in the same way, and never maintains them. */
  other: Store
  query: (text: string) => Promise<Record<string, unknown>[]>
  setTime: (text: string) => void
  database: string
}

async function opened(stack: AsyncDisposableStack): Promise<Opened> {
  const database = `partitions_${count++}`
  const databaseUrl = await server.database(database)
  let time = '2026-01-10T00:00:00.000Z'
  const open = () =>
    openStore({ path: join('/nowhere', database), databaseUrl, log: silent, now: () => new Date(time) })
  const [store, other] = [await open(), await open()]
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  stack.defer(async () => {
    await client.end()
    await Promise.all([store.close(), other.close()])
  })
  return {
    ...{ store, other, database },
    query: async text => (await client.query(text)).rows,
    setTime: text => {
      time = text
    },
  }
}

/** `table: bounds, rows`. */
async function partitions(query: Opened['query'], table = 'history'): Promise<string[]> {
  const rows = await query(
    `select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bounds,
      (xpath('//c/text()', query_to_xml('select count(*) as c from ' || c.relname, true, true, '')))[1]::text as rows
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = '${table}'::regclass order by 1`,
  )
  return rows.map(({ name, bounds, rows }) => `${name}: ${String(bounds).replace('FOR VALUES ', '')}, ${rows}`)
}

const never = '2000-01-01T00:00:00.000Z'
const nicsOf = async (store: Store, nodeName: string) =>
  (await store.history({ nodeName })).map(({ after }) => after?.config.interfaces.length)

test('an existing table becomes the first partition without being read under a lock, while others write', async () => {
  await using stack = new AsyncDisposableStack()
  const { store, other, query, database } = await opened(stack)
  await server.query(`alter database ${database} set log_min_messages = debug1`)
  for (const nics of [1, 2]) await store.put([aWrite('a', { nics })])
  let isDone = false
  const writing = (async () => {
    let written = 0
    while (!isDone || written < 20) await other.put([aWrite('busy', { nics: 1 + (written++ % 3) })])
    return written
  })()
  await store.pruneHistory(never)
  isDone = true
  const written = await writing
  assert.deepEqual(await partitions(query), [
    `history_2026_02: FROM ('2026-02') TO ('2026-03'), 0`,
    `history_2026_03: FROM ('2026-03') TO ('2026-04'), 0`,
    `history_first: FROM (MINVALUE) TO ('2026-02'), ${2 + written}`,
    'history_other: DEFAULT, 0',
  ])
  assert.match(await server.log(), /partition constraint for table "history_first" is implied by existing constraints/)
  assert.deepEqual(await nicsOf(other, 'a'), [2, 1])
  assert.equal((await store.history({ nodeName: 'busy', limit: 1_000 })).length, written)
  const indexes = await query(`select indexname from pg_indexes where tablename = 'history' order by 1`)
  assert.deepEqual(
    indexes.map(({ indexname }) => indexname),
    ['history_by_time', 'history_of_node', 'history_times'],
  )
  // It is not created a second time.
  await other.pruneHistory(never)
  assert.equal((await partitions(query)).length, 4)
})

test('an entry of a month without a partition is stored, and moves to its partition', async () => {
  await using stack = new AsyncDisposableStack()
  const { store, other, query, setTime } = await opened(stack)
  await store.pruneHistory(never)
  setTime('2026-06-05T00:00:00.000Z')
  await other.put([aWrite('a', { nics: 1 })])
  assert.ok((await partitions(query)).includes('history_other: DEFAULT, 1'))
  await store.pruneHistory(never)
  const found = await partitions(query)
  assert.ok(found.includes(`history_2026_06: FROM ('2026-06') TO ('2026-07'), 1`), found.join('\n'))
  assert.ok(found.includes('history_other: DEFAULT, 0'))
  assert.deepEqual(await nicsOf(store, 'a'), [1])
})

test('months before the retention are dropped, and the entries that still describe a node stay', async () => {
  await using stack = new AsyncDisposableStack()
  const { store, query, setTime } = await opened(stack)
  const write = (month: string, writes: Parameters<Store['put']>[0]) => {
    setTime(`${month}-15T00:00:00.000Z`)
    return store.put(writes)
  }
  await store.pruneHistory(never)
  await write('2026-01', [aWrite('quiet'), aWrite('busy'), aWrite('gone')])
  await write('2026-02', [aWrite('busy', { nics: 2 }), aWrite('gone', { removed: true })])
  // No partition has this month yet.
  await write('2026-05', [aWrite('busy', { nics: 3 })])
  await write('2026-06', [aWrite('busy', { nics: 4 })])
  const [kept, version] = [await store.at('2026-06-01T00:00:00.000Z'), await store.version()]
  const before = store.keepsHistoryFrom('2026-06-20T00:00:00.000Z')
  assert.equal(before, '2026-06-01T00:00:00.000Z')
  assert.equal(await store.pruneHistory(before), 4)
  const found = (await partitions(query)).filter(line => !line.endsWith(', 0'))
  assert.deepEqual(found, [
    `history_2026_06: FROM ('2026-06') TO ('2026-07'), 1`,
    `history_first: FROM (MINVALUE) TO ('2026-04'), 1`,
    'history_other: DEFAULT, 1',
  ])
  assert.deepEqual(await nicsOf(store, 'busy'), [4, 3])
  assert.deepEqual(await nicsOf(store, 'quiet'), [1])
  assert.deepEqual(await nicsOf(store, 'gone'), [])
  assert.deepEqual(await store.at('2026-06-01T00:00:00.000Z'), kept)
  assert.equal(await store.version(), version)
  assert.deepEqual(await partitions(query, 'deliveries').then(lines => lines.filter(line => !line.endsWith(', 0'))), [
    `deliveries_2026_06: FROM ('2026-06') TO ('2026-07'), 1`,
  ])
  assert.equal(await store.pruneHistory(before), 0)
  // The next months: again one partition has all that is kept.
  setTime('2026-09-02T00:00:00.000Z')
  assert.equal(await store.pruneHistory('2026-09-01T00:00:00.000Z'), 1)
  assert.deepEqual(
    (await partitions(query)).filter(line => !line.endsWith(', 0')),
    [`history_first: FROM (MINVALUE) TO ('2026-09'), 2`],
  )
  assert.deepEqual(await nicsOf(store, 'busy'), [4])
})

test('a reader that does not end delays it: writers wait seconds, nothing is lost, and the next attempt succeeds', async () => {
  await using stack = new AsyncDisposableStack()
  const { store, other, query } = await opened(stack)
  await store.put([aWrite('a')])
  await query('begin; select count(*) from history')
  await assert.rejects(store.pruneHistory(never), /lock timeout/)
  await other.put([aWrite('a', { nics: 2 })])
  await query('rollback')
  await store.pruneHistory(never)
  assert.deepEqual(await nicsOf(other, 'a'), [2, 1])
  assert.equal((await partitions(query)).length, 4)
})

test('an attempt that fails or is killed leaves tables that a version without partitions writes', async () => {
  await using stack = new AsyncDisposableStack()
  const { store, other, query, setTime } = await opened(stack)
  await store.put([aWrite('a')])
  await query('create table history_other ()')
  await assert.rejects(store.pruneHistory(never), /"history_other" already exists/)
  setTime('2026-06-05T00:00:00.000Z')
  await other.put([aWrite('a', { nics: 2 })])
  await query('drop table history_other')
  // What an attempt of an earlier month left that was killed.
  await query(`alter table history add constraint history_first check (at < '2026-02') not valid`)
  await store.pruneHistory(never)
  await other.put([aWrite('a', { nics: 3 })])
  assert.deepEqual(await nicsOf(store, 'a'), [3, 2, 1])
  assert.equal((await partitions(query)).length, 4)
})
