/**
 * Search by the beginning of what people know: an IP or MAC address, a port id, a VM id, the name of a node or provider.
 *
 * Ranges instead of LIKE, so that the indexes are used and no character has a meaning of its own.
 */
import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { canonical } from '../contract/address.ts'
import { interfaceName } from '../contract/interfaces.ts'
import type { InventoryRecord, SearchHit } from '../contract/inventory.ts'
import type { Database } from './database.ts'
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

/** Single values that begin so, kind by kind, each kind in order. */
export async function find(db: Database, q: string, limit: number): Promise<SearchHit[]> {
  const nodes = (kind: SearchHit['kind'], column: 'node_name' | 'instance_id') =>
    db
      .selectFrom('nodes')
      .select(['provider_id', 'node_name', `${column} as value`])
      .where(column, '>=', q)
      .where(column, '<', after(q))
      .orderBy(column)
      .limit(limit)
      .execute()
      .then(rows => rows.map((row): SearchHit => ({ kind, value: row.value, ...placeOf(row) })))
  const interfaces = (kind: SearchHit['kind'], column: 'mac' | 'port_id', text: string) =>
    db
      .selectFrom('interfaces')
      .select(['provider_id', 'node_name', 'number', `${column} as value`])
      .where(column, '>=', text)
      .where(column, '<', after(text))
      .orderBy(column)
      .limit(limit)
      .execute()
      .then(rows => rows.map((row): SearchHit => ({ kind, value: row.value ?? '', ...placeOf(row) })))
  const address = addressOf(q)
  const addresses = db
    .selectFrom('addresses')
    .select(['provider_id', 'node_name', 'number', 'address as value'])
    .where('address', '>=', address)
    .where('address', '<', after(address))
    .orderBy('address')
    .limit(limit)
    .execute()
    .then(rows => rows.map((row): SearchHit => ({ kind: 'address', value: row.value, ...placeOf(row) })))
  const found = await Promise.all([
    nodes('node', 'node_name'),
    addresses,
    interfaces('mac', 'mac', q.toLowerCase()),
    interfaces('port', 'port_id', q),
    nodes('vm', 'instance_id'),
  ])
  return found.flat().slice(0, limit)
}

function placeOf(row: { provider_id: string; node_name: string; number?: number }) {
  return {
    providerId: row.provider_id,
    nodeName: row.node_name,
    ...(row.number === undefined ? {} : { interface: interfaceName(row.number) }),
  }
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

/** A whole address in its canonical form; the beginning of one as it is. */
function addressOf(q: string): string {
  return canonical(q.split('/', 1)[0] ?? q) ?? q.toLowerCase()
}

/** The smallest text that is above all with this beginning. */
function after(text: string): string {
  return `${text}\u{10ffff}`
}
