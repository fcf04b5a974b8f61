/**
 * Search by the beginning of what people know: an IP or MAC address, a port id, a VM id, the name of a node or provider.
 *
 * Ranges instead of LIKE, so that the indexes are used and no character has a meaning of its own.
 */
import { type Expression, type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from 'kysely'
import { canonical } from '../contract/address.ts'
import { interfaceName } from '../contract/interfaces.ts'
import type { InventoryRecord, SearchHit } from '../contract/inventory.ts'
import type { Engine } from './database.ts'
import { prepared, type Slot } from './prepared.ts'
import { addressRows, completed, interfaceRows } from './rows.ts'
import type { Tables } from './schema.ts'
import type { Filter } from './store.ts'

export function prefixOf(q: string) {
  return (eb: ExpressionBuilder<Tables, 'nodes'>): Expression<SqlBool> => {
    const begins = <T extends 'nodes' | 'interfaces' | 'addresses'>(
      table: T,
      column: keyof Tables[T] & string,
      text: string,
    ) =>
      sql`select provider_id, node_name from ${sql.table(table)} where ${sql.ref(column)} >= ${text} and ${sql.ref(column)} < ${after(text)}`
    const found = [
      begins('nodes', 'node_name', q),
      begins('nodes', 'instance_id', q),
      begins('nodes', 'provider_id', q),
      begins('interfaces', 'mac', q.toLowerCase()),
      begins('interfaces', 'port_id', q),
      begins('addresses', 'address', addressOf(q)),
    ]
    return sql<SqlBool>`${eb.refTuple('provider_id', 'node_name')} in (${sql.join(found, sql` union `)})`
  }
}

/** Where each kind of value is, in the order in which hits are told. */
const places = [
  ['node', 'nodes', 'node_name', 'text'],
  ['address', 'addresses', 'address', 'address'],
  ['mac', 'interfaces', 'mac', 'lower'],
  ['port', 'interfaces', 'port_id', 'text'],
  ['vm', 'nodes', 'instance_id', 'text'],
] as const

/** Single values that begin so, kind by kind, each kind in order. */
export async function find(engine: Pick<Engine, 'db' | 'read'>, q: string, limit: number): Promise<SearchHit[]> {
  const [lower, address] = [q.toLowerCase(), addressOf(q)]
  const values = {
    text: q,
    textEnd: after(q),
    lower,
    lowerEnd: after(lower),
    address,
    addressEnd: after(address),
    limit,
  }
  const asked = places.filter(([, , , by]) => mayBegin[by](values[by]))
  const name = `find ${asked.map(([kind]) => kind).join(' ')}`
  const rows = await prepared<Found>(engine, name, slot => findQuery(asked, slot), values)
  const hits = rows.map(({ kind, value, provider_id, node_name, number }): SearchHit => {
    const place = { providerId: provider_id, nodeName: node_name }
    return { kind, value, ...place, ...(number === null ? {} : { interface: interfaceName(number) }) }
  })
  return places.flatMap(([kind]) => hits.filter(hit => hit.kind === kind)).slice(0, limit)
}

/** Whether any such value may begin so: what cannot be there need not be looked for. Addresses are kept in canonical form. */
const mayBegin = {
  text: () => true,
  lower: (text: string) => /^[0-9a-f:]*$/.test(text),
  address: (text: string) => /^[0-9a-f.:]*$/.test(text) && !/(^|[.:])0[0-9a-f]/.test(text),
}

interface Found {
  kind: SearchHit['kind']
  value: string
  provider_id: string
  node_name: string
  number: number | null
}

function findQuery(asked: readonly (typeof places)[number][], slot: Slot): RawBuilder<Found> {
  const found = asked.map(([kind, table, column, by]) => {
    const number = table === 'nodes' ? sql`cast(null as integer)` : sql.ref('number')
    return sql`select * from (
      select ${sql.lit(kind)} as kind, ${sql.ref(column)} as value, provider_id, node_name, ${number} as number
      from ${sql.table(table)}
      where ${sql.ref(column)} >= ${slot(by)} and ${sql.ref(column)} < ${slot(`${by}End`)}
      order by ${sql.ref(column)} limit ${slot('limit')}
    ) as ${sql.ref(`by_${column}`)}`
  })
  return sql<Found>`${sql.join(found, sql` union all `)}`
}

/** The same question to a record that is not in the tables any more. */
export function matching(record: InventoryRecord, filter: Filter): boolean {
  const { instanceId, state, q } = filter
  if (instanceId !== undefined && record.instanceId !== instanceId) return false
  if (state !== undefined && (record.state ?? 'Pending') !== state) return false
  for (const field of ['networkId', 'subnetId', 'source'] as const)
    if (filter[field] !== undefined && !completed(record.config).some(nic => nic[field] === filter[field])) return false
  if (q === undefined) return true
  const texts = [
    record.nodeName,
    record.instanceId,
    record.providerId,
    ...interfaceRows(record).flatMap(({ port_id }) => port_id ?? []),
  ]
  return (
    texts.some(text => text.startsWith(q)) ||
    interfaceRows(record).some(({ mac }) => mac.startsWith(q.toLowerCase())) ||
    addressRows(record).some(({ address }) => address.startsWith(addressOf(q)))
  )
}

/**
 * Texts of which one is in every document that matches: the others need not be taken apart. Undefined where a document may
 * spell it otherwise: IPv6 addresses, and what JSON escapes.
 */
export function hintsOf(q: string): string[] | undefined {
  const isMac = /^[0-9a-f]{2}(:[0-9a-f]{2})+:?$/i.test(q) && !q.includes('::')
  const text = q.split('/', 1)[0] ?? q
  if (!/^[\w.:-]+$/.test(text) || (text.includes(':') && !isMac)) return undefined
  return [...new Set([text, text.toLowerCase()])]
}

/** A whole address in its canonical form; the beginning of one as it is. */
function addressOf(q: string): string {
  return canonical(q.split('/', 1)[0] ?? q) ?? q.toLowerCase()
}

/** The smallest text that is above all with this beginning. */
function after(text: string): string {
  return `${text}\u{10ffff}`
}
