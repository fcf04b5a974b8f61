/** Migrates a database of every version since the first migration, then reads and writes it. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { aWrite } from '../../test/support/inventory.ts'
import { schemaOf } from '../../test/support/inventory-dump.ts'
import { silent } from '../telemetry/log.ts'
import { migrations } from './migrations/all.ts'
import { openStore } from './store.ts'

const names = Object.keys(migrations)
const golden = new URL('../../test/golden/inventory/', import.meta.url)
let dir: string
let fresh: string[]

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-migrations-'))
  const path = join(dir, 'fresh.db')
  await (await openStore({ path, log: silent })).close()
  fresh = schemaIn(path)
})
after(() => rm(dir, { recursive: true }))

function schemaIn(path: string): string[] {
  const file = new DatabaseSync(path, { readOnly: true })
  const schema = schemaOf(file)
  file.close()
  return schema
}

test('migrations are numbered in order', () => {
  assert.deepEqual(
    names.map(name => Number(name.slice(0, 4))),
    names.map((_, at) => at + 1),
  )
})

for (const name of names) {
  test(`a database of version ${name} is migrated, read and written`, async () => {
    const path = join(dir, `${name}.db`)
    const file = new DatabaseSync(path)
    // If the file is missing: create it while this migration is the newest one, with test/support/inventory-dump.ts.
    file.exec(readFileSync(new URL(`${name}.sql`, golden), 'utf8'))
    file.close()

    const store = await openStore({ path, log: silent })
    try {
      assert.deepEqual(
        (await store.list()).map(({ providerId, nodeName, state }) => `${providerId}/${nodeName} ${state}`),
        ['p1/w1 undefined', 'p1/w2 Failed'],
      )
      assert.equal((await store.get('p1', 'w2'))?.interfaces?.[0]?.reason, 'InterfaceNameInUse')
      assert.deepEqual(
        (await store.history({ nodeName: 'w1', providerId: 'p2' })).map(({ what, why }) => `${what}: ${why}`),
        ['removed: detached', 'created: a port was attached'],
      )
      const { holders, never } = await store.holders('port-w1-0')
      assert.deepEqual(
        holders.map(({ providerId, to }) => [providerId, to === undefined]),
        [
          ['p1', true],
          ['p2', false],
        ],
      )
      assert.equal(never, false)
      assert.equal((await store.holders('nobody')).never, true)
      assert.equal((await store.find('port-w1-1'))[0]?.nodeName, 'w1')
      assert.equal((await store.at('2026-01-01T00:00:03.500Z')).length, 3)
      const version = Number(await store.version())
      await store.put([aWrite('w1', { nics: 3, why: 'a third port' })])
      const [entry] = await store.history({ nodeName: 'w1', providerId: 'p1' })
      assert.equal(entry?.before?.config.interfaces.length, 2)
      assert.ok((entry?.id ?? 0) > version)
    } finally {
      await store.close()
    }
    assert.deepEqual(schemaIn(path), fresh)
  })
}

interface Column {
  table: string
  name: string
  required: number
}

function columnsAfter(name: string, statements = ''): Column[] {
  const file = new DatabaseSync(':memory:')
  file.exec(readFileSync(new URL(`${name}.sql`, golden), 'utf8'))
  file.exec(statements)
  const rows = file
    .prepare(
      `select m.name as "table", c.name, c."notnull" and c.dflt_value is null as required
      from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'`,
    )
    .all()
  file.close()
  return rows as unknown as Column[]
}

/** The version before a migration works on the same tables during a rolling upgrade. */
function breaksTheVersionBefore(before: readonly Column[], now: readonly Column[]): string[] {
  const isIn = (columns: readonly Column[], { table, name }: Column) =>
    columns.some(one => one.table === table && one.name === name)
  const removed = before.filter(column => !isIn(now, column))
  const required = now.filter(
    column => column.required && !isIn(before, column) && before.some(({ table }) => table === column.table),
  )
  return [...removed, ...required].map(({ table, name }) => `${table}.${name}`)
}

test('migrations only add: no column disappears, and a new one may be null', () => {
  for (const [at, name] of names.entries()) {
    const before = names[at - 1]
    if (before) assert.deepEqual(breaksTheVersionBefore(columnsAfter(before), columnsAfter(name)), [], name)
  }
})

for (const [statements, broken] of [
  ['alter table nodes add column colour text; create table colours (name text not null)', []],
  ['alter table milestones drop column at', ['milestones.at']],
  [
    'drop table milestones; create table milestones (name text primary key, at text, why text not null)',
    ['milestones.why'],
  ],
] as const)
  test(`a migration with "${statements}" ${broken.length > 0 ? 'is refused' : 'only adds'}`, () => {
    const name = names.at(-1) ?? ''
    assert.deepEqual(breaksTheVersionBefore(columnsAfter(name), columnsAfter(name, statements)), broken)
  })

test('a database that a later version migrated is read and written', async () => {
  const path = join(dir, 'later.db')
  const before = await openStore({ path, log: silent })
  await before.put([aWrite('w1', { nics: 1 })])
  await before.close()
  const file = new DatabaseSync(path)
  file.exec(`alter table nodes add column colour text; create table colours (name text);
    insert into kysely_migration (name, timestamp) values ('9999-colours', '9999-01-01T00:00:00.000Z')`)
  file.close()
  const store = await openStore({ path, log: silent })
  try {
    await store.put([aWrite('w1', { nics: 2 })])
    assert.equal((await store.get('p1', 'w1'))?.config.interfaces.length, 2)
  } finally {
    await store.close()
  }
})

test('released migrations still create the same schema', () => {
  const newest = readFileSync(new URL(`${names.at(-1)}.sql`, golden), 'utf8')
  for (const made of fresh) assert.ok(newest.includes(`${made};\n`), `changed: ${made}`)
})
