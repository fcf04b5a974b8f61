/**
 * Search by the beginning of what people know: an IP or MAC address, a port id, a VM id, the name of a node or provider.
 *
 * Ranges instead of LIKE, so that the indexes are used and no character has a meaning of its own.
 */
import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { canonical } from '../contract/address.ts'
import type { InventoryRecord } from '../contract/inventory.ts'
import { addressRows, interfaceRows } from './rows.ts'
import type { Tables } from './schema.ts'

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

/** The same question to a record that is not in the tables any more. */
export function matching(record: InventoryRecord, filter: { instanceId?: string; q?: string }): boolean {
  const { instanceId, q } = filter
  if (instanceId !== undefined && record.instanceId !== instanceId) return false
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
