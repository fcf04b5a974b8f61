/**
 * Search by prefix of an IP address, MAC address, port ID, VM ID, provider ID, or of the name of a node, VM, subnet, network or
 * provider.
 *
 * It uses ranges instead of LIKE: ranges use the indexes, and no character is a wildcard.
 */
import { type Expression, type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from 'kysely'
import { interfaceName } from '../contract/interfaces.ts'
import type { SearchHit } from '../contract/inventory.ts'
import { normalizedAddress } from './filter.ts'
import { type Placeholder, prepared, type Reader } from './prepared.ts'
import type { Tables } from './schema.ts'

export function matchesPrefix(q: string) {
  return (eb: ExpressionBuilder<Tables, 'nodes'>): Expression<SqlBool> => {
    const startsWith = <T extends 'nodes' | 'interfaces' | 'addresses'>(
      table: T,
      column: keyof Tables[T] & string,
      text: string,
    ) =>
      sql`select provider_id, node_name from ${sql.table(table)} where ${sql.ref(column)} >= ${text} and ${sql.ref(column)} < ${prefixEnd(text)}`
    const found = [
      startsWith('nodes', 'node_name', q),
      startsWith('nodes', 'instance_id', q),
      startsWith('nodes', 'provider_id', q),
      startsWith('interfaces', 'mac', q.toLowerCase()),
      startsWith('interfaces', 'port_id', q),
      startsWith('nodes', 'instance_name', q),
      startsWith('nodes', 'provider_name', q),
      startsWith('interfaces', 'subnet_name', q),
      startsWith('interfaces', 'network_name', q),
      startsWith('addresses', 'address', normalizedAddress(q)),
    ]
    return sql<SqlBool>`${eb.refTuple('provider_id', 'node_name')} in (${sql.join(found, sql` union `)})`
  }
}

/** Kind of value, its table and column, and the form of the query text. Hits are listed in this order. */
const searchColumns = [
  ['node', 'nodes', 'node_name', 'text'],
  ['address', 'addresses', 'address', 'address'],
  ['mac', 'interfaces', 'mac', 'lower'],
  ['port', 'interfaces', 'port_id', 'text'],
  ['vm', 'nodes', 'instance_id', 'text'],
  ['vm', 'nodes', 'instance_name', 'text'],
  ['subnet', 'interfaces', 'subnet_name', 'text'],
  ['network', 'interfaces', 'network_name', 'text'],
  ['provider', 'nodes', 'provider_name', 'text'],
] as const

/** Values with the prefix `q`, by kind and then by value. A VM that has the name of its node is found as the node. */
export async function find(engine: Reader, q: string, limit: number): Promise<SearchHit[]> {
  const [lower, address] = [q.toLowerCase(), normalizedAddress(q)]
  const values = {
    text: q,
    textEnd: prefixEnd(q),
    lower,
    lowerEnd: prefixEnd(lower),
    address,
    addressEnd: prefixEnd(address),
    limit,
  }
  const columns = searchColumns.filter(([, , , by]) => canMatch[by](values[by]))
  const name = `find ${columns.map(([kind]) => kind).join(' ')}`
  const rows = await prepared<Found>(engine, name, value => findQuery(columns, value), values)
  const hits = rows.map(({ kind, value, provider_id, node_name, number }): SearchHit => {
    const place = { providerId: provider_id, nodeName: node_name }
    return { kind, value, ...place, ...(number === null ? {} : { interface: interfaceName(number) }) }
  })
  const found = hits.filter(({ kind, value, nodeName }) => kind !== 'vm' || value !== nodeName)
  const kinds = new Set(searchColumns.map(([kind]) => kind))
  return [...kinds].flatMap(kind => found.filter(hit => hit.kind === kind)).slice(0, limit)
}

/** Whether a value of this form can have the prefix; skips useless queries. Addresses are stored in canonical form. */
const canMatch = {
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

function findQuery(columns: readonly (typeof searchColumns)[number][], value: Placeholder): RawBuilder<Found> {
  const found = columns.map(([kind, table, column, by]) => {
    const number = table === 'nodes' ? sql`cast(null as integer)` : sql.ref('number')
    return sql`select * from (
      select ${sql.lit(kind)} as kind, ${sql.ref(column)} as value, provider_id, node_name, ${number} as number
      from ${sql.table(table)}
      where ${sql.ref(column)} >= ${value(by)} and ${sql.ref(column)} < ${value(`${by}End`)}
      order by ${sql.ref(column)} limit ${value('limit')}
    ) as ${sql.ref(`by_${column}`)}`
  })
  return sql<Found>`${sql.join(found, sql` union all `)}`
}

/** The upper bound of all texts with this prefix. */
function prefixEnd(text: string): string {
  return `${text}\u{10ffff}`
}
