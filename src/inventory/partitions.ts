/**
 * Partitions of the history by month, in PostgreSQL: a month that is older than the retention is dropped as a whole.
 *
 * Partitions are no migration, because the tables keep their names, columns and indexes: a version without partitions reads and
 * writes them. Entries of a month without a partition are in the default partition.
 */
export type Query = (text: string) => Promise<Record<string, unknown>[]>

const partitionedTables = ['history', 'events', 'deliveries'] as const
type PartitionedTable = (typeof partitionedTables)[number]

interface Partition {
  name: string
  /** Months; the first partition has everything before its end. */
  from: string
  to: string
}

/** Months with a partition, from the current one on. */
const monthsAhead = 3
/** A lock that is not free yet makes all other users of the table wait. */
const lockTimeout = `set local lock_timeout = '5s'`

/** The first moment of the month. */
export function startOfMonth(time: string): string {
  return `${time.slice(0, 7)}-01T00:00:00.000Z`
}

/** `2026-12` for 2026-11 and one month. Bounds are texts, like the times. */
function monthAfter(time: string, months = 1): string {
  const date = new Date(startOfMonth(time))
  date.setUTCMonth(date.getUTCMonth() + months)
  return date.toISOString().slice(0, 7)
}

/** Partitions the tables, and creates the partitions of the next months. `lock` makes other writers wait. */
export async function createPartitions(query: Query, lock: string, now: string): Promise<void> {
  for (const table of partitionedTables) {
    if (!(await isPartitioned(query, table))) await partition(query, table, lock, now)
    const known = await partitionsOf(query, table)
    for (let ahead = 0; ahead < monthsAhead; ahead++) {
      const from = monthAfter(now, ahead)
      if (!known.some(one => one.from <= from && from < one.to)) await createMonth(query, table, lock, from)
    }
  }
}

/** Returns the number of deleted history entries. Entries that still describe a node at that time stay. */
export async function dropPartitionsBefore(query: Query, lock: string, time: string): Promise<number> {
  const expiredOf = async (table: PartitionedTable) => (await partitionsOf(query, table)).filter(({ to }) => to <= time)
  for (const table of ['events', 'deliveries'] as const)
    for (const { name } of await expiredOf(table)) await transaction(query, [lockTimeout, lock, `drop table ${name}`])
  return keepNeeded(query, await expiredOf('history'), lock, time)
}

/**
 * The existing table becomes the first partition. A valid constraint makes PostgreSQL attach it without reading it. Validation
 * reads the table, while others read and write it.
 */
async function partition(query: Query, table: PartitionedTable, lock: string, now: string): Promise<void> {
  const [newest] = await query(`select max(at) as at from ${table}`)
  // Writers go on until the table is attached: the end must not come before that.
  const soon = new Date(Date.parse(now) + 48 * 3_600_000).toISOString()
  const last = String(newest?.['at'] ?? '')
  const end = monthAfter(last > soon ? last : soon)
  const constraint = `${table}_first`
  const withoutConstraint = `alter table ${table} drop constraint if exists ${constraint}`
  await transaction(query, [
    lockTimeout,
    lock,
    withoutConstraint,
    `alter table ${table} add constraint ${constraint} check (at < '${end}') not valid`,
  ])
  try {
    await query(`alter table ${table} validate constraint ${constraint}`)
    const indexes = await query(
      `select indexname as name, indexdef as text from pg_indexes
      where schemaname = current_schema() and tablename = '${table}' and indexdef like 'CREATE INDEX %'`,
    )
    await transaction(query, [
      lockTimeout,
      lock,
      `alter table ${table} rename to ${table}_first`,
      ...indexes.map(({ name }) => `alter index ${name} rename to ${name}_first`),
      `create table ${table} (like ${table}_first including defaults) partition by range (at)`,
      `alter table ${table} attach partition ${table}_first for values from (minvalue) to ('${end}')`,
      // Each finds the index of the first partition.
      ...indexes.map(({ text }) => String(text)),
      `alter table ${table}_first drop constraint ${constraint}`,
      `create table ${table}_other partition of ${table} (primary key (id)) default`,
    ])
  } catch (error) {
    // A version without partitions could not write after this time.
    await transaction(query, [lockTimeout, withoutConstraint]).catch(() => {})
    throw error
  }
}

/** What the default partition has of the month moves to it. */
async function createMonth(query: Query, table: PartitionedTable, lock: string, from: string): Promise<void> {
  const [name, to] = [`${table}_${from.replace('-', '_')}`, monthAfter(from)]
  await transaction(query, [
    lockTimeout,
    lock,
    createLike(table, name, { from, to }),
    `with moved as (delete from ${table}_other where at >= '${from}' and at < '${to}' returning *)
    insert into ${name} select * from moved`,
    `alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`,
  ])
}

/**
 * One partition replaces those that end before the time. It has the entries that still describe a node then, also those of
 * the default partition. Others read meanwhile; writers wait, so that none adds an entry in between.
 */
async function keepNeeded(query: Query, expired: readonly Partition[], lock: string, time: string): Promise<number> {
  const to = expired
    .map(one => one.to)
    .sort()
    .at(-1)
  if (to === undefined) return 0
  const newest = `select max(id) from history where at <= '${time}' group by provider_id, node_name`
  const [counts] = await query(
    `select count(*) as found, count(*) filter (where what <> 'removed' and id in (${newest})) as needed
    from history where at < '${to}'`,
  )
  const deleted = Number(counts?.['found']) - Number(counts?.['needed'])
  if (deleted === 0 && expired.length === 1) return 0
  await transaction(query, [
    lockTimeout,
    lock,
    createLike('history', 'history_needed', { from: '', to }),
    `insert into history_needed select * from history
    where at < '${to}' and what <> 'removed' and id in (${newest})`,
    ...expired.flatMap(({ name }) => [`alter table history detach partition ${name}`, `drop table ${name}`]),
    `delete from history_other where at < '${to}'`,
    'alter table history_needed rename to history_first',
    `alter table history attach partition history_first for values from (minvalue) to ('${to}')`,
  ])
  return deleted
}

/** The check makes PostgreSQL attach it without reading it. */
function createLike(table: PartitionedTable, name: string, { from, to }: Pick<Partition, 'from' | 'to'>): string {
  return `create table ${name} (like ${table} including defaults, primary key (id), check (at >= '${from}' and at < '${to}'))`
}

async function isPartitioned(query: Query, table: PartitionedTable): Promise<boolean> {
  const [row] = await query(`select relkind from pg_class where oid = '${table}'::regclass`)
  return row?.['relkind'] === 'p'
}

/** Without the default partition. */
async function partitionsOf(query: Query, table: PartitionedTable): Promise<Partition[]> {
  const rows = await query(
    `select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bounds
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = '${table}'::regclass order by c.relname`,
  )
  return rows.flatMap(({ name, bounds }) => {
    const [, from = '', to] = /FROM \((?:MINVALUE|'([^']*)')\) TO \('([^']*)'\)/.exec(String(bounds)) ?? []
    return to === undefined ? [] : [{ name: String(name), from, to }]
  })
}

async function transaction(query: Query, statements: readonly string[]): Promise<void> {
  await query('begin')
  try {
    for (const statement of statements) await query(statement)
    await query('commit')
  } catch (error) {
    await query('rollback').catch(() => {})
    throw error
  }
}
