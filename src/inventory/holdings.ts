/**
 * Who has or had an address, a MAC address or a port: an index over the whole history.
 *
 * A row is one address of one interface from the change that gave it until the change that took it away. A MAC address or
 * port whose addresses change has several rows in a row; reading joins them.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { interfaceName } from '../contract/interfaces.ts'
import type { Holder, HoldersAnswer, InventoryRecord } from '../contract/inventory.ts'
import { insertAll } from './bulk.ts'
import { normalizedAddress } from './filter.ts'
import { type Placeholder, prepared, type Reader } from './prepared.ts'
import { type Holding, holdingsOf } from './rows.ts'
import type { HoldingRow, NodeRow, Tables } from './schema.ts'

export interface HoldingChange {
  before?: InventoryRecord | undefined
  after?: InventoryRecord | undefined
  at: string
}

/** Changes of configs, in order. A node may occur several times. */
export async function writeHoldings(tx: Kysely<Tables>, changes: readonly HoldingChange[]): Promise<void> {
  const opened: HoldingRow[] = []
  const current = new Map<string, HoldingRow>()
  for (const { before, after, at } of changes) {
    const [had, has] = [holdingsOf(before), holdingsOf(after)]
    for (const [key, holding] of had) {
      if (has.has(key)) continue
      const unwritten = current.get(key)
      if (unwritten) unwritten.until = at
      else await endHolding(tx, holding, at)
      current.delete(key)
    }
    for (const [key, holding] of has) {
      if (had.has(key)) continue
      const row = { ...holding, since: at, until: null }
      opened.push(row)
      current.set(key, row)
    }
  }
  await insertAll(tx, 'holdings', opened)
}

/** By MAC address and end first, because they have an index. */
async function endHolding(tx: Kysely<Tables>, { mac, provider_id, node_name, number, address }: Holding, at: string) {
  await tx
    .updateTable('holdings')
    .set({ until: at })
    .where('mac', '=', mac)
    .where('provider_id', '=', provider_id)
    .where('node_name', '=', node_name)
    .where('number', '=', number)
    .where('address', address === null ? 'is' : '=', address)
    .where('until', 'is', null)
    .execute()
}

/** Periods of one kind that are listed at most. */
const maxPeriods = 1_000

/** Kind of value, its column, and the form of the query text. */
const kinds = [
  ['address', 'address', 'bare'],
  ['mac', 'mac', 'lower'],
  ['port', 'port_id', 'text'],
] as const

type Found = Pick<HoldingRow, 'provider_id' | 'node_name' | 'number' | 'since' | 'until'> & { kind: Holder['kind'] }

/** The value must be complete: a prefix has too many holders. */
export async function findHolders(reader: Reader, q: string): Promise<HoldersAnswer> {
  const values = { bare: normalizedAddress(q), lower: q.toLowerCase(), text: q }
  const found = await prepared<Found>(reader, 'holders', holdersQuery, values)
  const [kept] = await prepared<{ at: string }>(reader, 'kept since', keptSinceQuery, { name: keptSince })
  const valueFor = (kind: Holder['kind']) => values[kinds.find(([one]) => one === kind)?.[2] ?? 'text']
  const listed = [...Map.groupBy(found, ({ kind }) => kind).values()].flatMap(rows =>
    rows.toSorted(latestFirst).slice(0, maxPeriods),
  )
  const names = await providerNames(reader, new Set(listed.map(({ provider_id }) => provider_id)))
  const holders = joined(listed)
    .sort(latestFirst)
    .map(
      ({ kind, provider_id, node_name, number, since, until }): Holder => ({
        kind,
        value: valueFor(kind),
        providerId: provider_id,
        ...names.get(provider_id),
        nodeName: node_name,
        interface: interfaceName(number),
        from: since,
        ...(until === null ? {} : { to: until }),
      }),
    )
  return {
    holders,
    never: holders.length === 0 && kept === undefined,
    ...(kept && { keptSince: kept.at }),
    ...(listed.length < found.length && { more: true }),
  }
}

/** Nodes that are gone have no row: of each provider, the node that changed last has the name. */
async function providerNames(
  reader: Reader,
  providerIds: ReadonlySet<string>,
): Promise<Map<string, { providerName: string }>> {
  const names = new Map<string, { providerName: string }>()
  for (const id of providerIds) {
    const [row] = await prepared<Pick<NodeRow, 'provider_name'>>(reader, 'provider name', providerNameQuery, { id })
    if (row?.provider_name) names.set(id, { providerName: row.provider_name })
  }
  return names
}

const providerNameQuery = (value: Placeholder) =>
  sql<Pick<NodeRow, 'provider_name'>>`
    select provider_name from nodes where provider_id = ${value('id')} order by updated_at desc limit 1`

/** Current periods and the latest of the others are read apart: a current one may have begun long before all the others. */
function holdersQuery(value: Placeholder): RawBuilder<Found> {
  const found = kinds.flatMap(([kind, column, by]) =>
    [sql`until is null`, sql`until is not null`].map(
      (range, at) => sql`select * from (
        select ${sql.lit(kind)} as kind, provider_id, node_name, number, since, until
        from holdings where ${sql.ref(column)} = ${value(by)} and ${range}
        order by ${sql.ref(column)}, until desc limit ${sql.lit(maxPeriods + 1)}
      ) as ${sql.ref(`by_${column}_${at}`)}`,
    ),
  )
  return sql<Found>`${sql.join(found, sql` union all `)}`
}

/** Current ones first. */
function latestFirst(a: Found, b: Found): number {
  const end = ({ until }: Found) => until ?? '~'
  return compare(end(b), end(a)) || compare(b.since, a.since)
}

/** Joins the rows of one interface that follow each other or overlap. */
function joined(rows: readonly Found[]): Found[] {
  const last = new Map<string, Found>()
  const all: Found[] = []
  for (const row of rows.toSorted((a, b) => compare(a.since, b.since))) {
    const key = JSON.stringify([row.kind, row.provider_id, row.node_name, row.number])
    const before = last.get(key)
    if (before && (before.until === null || row.since <= before.until)) {
      if (before.until !== null && (row.until === null || row.until > before.until)) before.until = row.until
      continue
    }
    const copy = { ...row }
    last.set(key, copy)
    all.push(copy)
  }
  return all
}

/** Name of the milestone. */
const keptSince = 'history kept since'
const keptSinceQuery = (value: Placeholder) =>
  sql<{ at: string }>`select at from milestones where name = ${value('name')}`

/** From now on, "never" is not known any more. */
export async function markKeptSince(db: Kysely<Tables>, at: string): Promise<void> {
  await db
    .insertInto('milestones')
    .values({ name: keptSince, at })
    .onConflict(conflict => conflict.column('name').doUpdateSet({ at }))
    .execute()
}

export async function deleteHoldingsBefore(tx: Kysely<Tables>, time: string): Promise<void> {
  const { numDeletedRows } = await tx.deleteFrom('holdings').where('until', '<', time).executeTakeFirst()
  if (numDeletedRows > 0n) await markKeptSince(tx, time)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
