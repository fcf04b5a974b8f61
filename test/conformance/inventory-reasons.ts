/**
 * Retired reasons in a database of an older version get their new names: one test for SQLite and PostgreSQL.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InventoryRecord } from '../../src/contract/inventory.ts'
import type { Store } from '../../src/inventory/store.ts'
import { retiredReasons } from '../repo/retired-words.ts'

export interface OldDatabase {
  /** Makes a database with the tables of migration 0002. */
  create(): Promise<void>
  query(statement: string): Promise<Record<string, unknown>[]>
  /** Opens it with this version, which migrates it. */
  open(): Promise<Store>
}

const migration = '0003-reason-names'
const undoLaterMigrations = [
  'drop table audit',
  'drop table verdicts',
  'drop table openstack_configs',
  'drop table holdings',
  ...['nodes_by_change', 'nodes_by_state'].map(index => `drop index ${index}`),
  ...['network_id', 'subnet_id', 'source'].map(column => `drop index interfaces_by_${column}`),
  'alter table nodes drop column agent_rollout',
  ...[
    ['nodes', 'instance_name'],
    ['nodes', 'provider_name'],
    ['interfaces', 'subnet_name'],
    ['interfaces', 'network_name'],
  ].flatMap(([table, column]) => [`drop index ${table}_by_${column}`, `alter table ${table} drop column ${column}`]),
]
/** Two annotations and a reason that no component ever wrote are in the list too. */
const renamed = Object.entries(retiredReasons).filter(([, name]) => /^[A-Z][A-Za-z]+$/.test(name))
const reasons = [...renamed, ['AllInterfacesConfigured', 'AllInterfacesConfigured']] as [old: string, name: string][]
const at = '2026-01-01T00:00:00.000Z'
/** More history than the migration reads in one page. */
const entriesPerReason = 25

export function inventoryReasonsConformance(database: OldDatabase): void {
  test('retired reasons in records, history and events of an older version are renamed, messages are not', async () => {
    await database.create()
    await fill(database)
    const before = await content(database)

    await using(database, async store => {
      for (const [index, [old, name]] of reasons.entries())
        assert.deepEqual(await store.get('p1', nodeName(index)), record(index, name, old))
      const history = await store.history({ limit: 100_000 })
      assert.equal(history.length, reasons.length * entriesPerReason)
      for (const { id, why, before, after } of history) {
        const [old, name] = reasons[(id - 1) % reasons.length] ?? assert.fail()
        assert.deepEqual(withoutRemedies(after), record((id - 1) % reasons.length, name, old))
        assert.deepEqual(before, id <= reasons.length ? undefined : withoutRemedies(after))
        assert.equal(why, freeText(old))
      }
    })
    const after = await content(database)
    assert.deepEqual(
      after.events,
      before.events.map((_, index) => reasons[index % reasons.length]?.[1]),
    )
    assert.equal(after.version, before.version + 1, 'callers with an ETag read again')

    for (const statement of undoLaterMigrations) await database.query(statement)
    await database.query(`delete from kysely_migration where name >= '${migration}'`)
    await using(database, async () => {})
    assert.deepEqual(await content(database), after, 'a migration that runs again changes nothing')
  })
}

/** The store adds the remedy of a reason when it reads an entry. */
function withoutRemedies(entry: unknown): unknown {
  return JSON.parse(JSON.stringify(entry, (key, value) => (key === 'remedy' ? undefined : value)))
}

async function using({ open }: OldDatabase, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await open()
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

async function fill({ query }: OldDatabase): Promise<void> {
  const entries = Array.from({ length: reasons.length * entriesPerReason }, (_, position) => {
    const index = position % reasons.length
    const old = reasons[index]?.[0] ?? ''
    return [position + 1, 'p1', nodeName(index), at, 'status', freeText(old), JSON.stringify(record(index, old, old))]
  })
  const nodes = reasons.map(([old], index) => {
    const { config, interfaces } = record(index, old, old)
    const documents = [JSON.stringify(config), 'hash', JSON.stringify(interfaces)]
    return ['p1', nodeName(index), 'vm', ...documents, 'Failed', old, freeText(old), 0, at]
  })
  const events = reasons.map(([old], index) => {
    const id = entries.length + index + 1
    return [id, 'p1', nodeName(index), '02:00:00:00:00:01', 'port', 'status/Failed', old, at]
  })
  await query(insert('providers', [['p1', at]]))
  await query(insert('history', entries))
  await query(insert('nodes', nodes))
  await query(insert('events', events))
  await query(insert('sequences', [['changes', entries.length + events.length]]))
}

function insert(table: string, rows: (string | number)[][]): string {
  const literal = (value: string | number) =>
    typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
  return `insert into ${table} values ${rows.map(row => `(${row.map(literal).join(', ')})`).join(', ')}`
}

/** With the keys in the order in which a stored record is read. */
function record(index: number, reason: string, old: string): InventoryRecord {
  const message = freeText(old)
  const macAddress = '02:00:00:00:00:01'
  return {
    providerId: 'p1',
    nodeName: nodeName(index),
    instanceId: 'vm',
    config: { nodeName: nodeName(index), interfaces: [] },
    lastConfigHash: 'hash',
    updatedAt: at,
    state: 'Failed',
    reason,
    message,
    interfaces: [
      { macAddress, status: 'Failed', reason, message },
      { macAddress, status: 'Configured', reason: 'Configured' },
      { macAddress, status: 'Failed', reason },
    ],
  }
}

const nodeName = (index: number) => `node-${index}`
/** A message may quote a document. */
const freeText = (old: string) => `it's ${old}: {"reason":"${old}"}`

async function content({ query }: OldDatabase): Promise<{ events: unknown[]; version: number; documents: unknown }> {
  const [sequence] = await query("select value from sequences where name = 'changes'")
  const events = await query('select reason from events order by id')
  return {
    events: events.map(({ reason }) => reason),
    version: Number(sequence?.['value']),
    documents: [
      await query('select * from nodes order by node_name'),
      await query('select * from history order by id'),
    ],
  }
}
