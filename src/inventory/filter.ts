/**
 * The filter of node records, and how it matches a record.
 */
import { canonical } from '../contract/address.ts'
import type { InventoryRecord } from '../contract/inventory.ts'
import { addressRows, interfaceRows, storedInterfaces } from './rows.ts'

export interface Filter {
  providerId?: string
  nodeName?: string
  instanceId?: string
  /** Pending, InProgress, Configured or Failed. A node without a reported state is Pending. */
  state?: string
  /** Nodes with an interface in this network or subnet, or of this OpenstackConfig (namespace/name). */
  networkId?: string
  subnetId?: string
  source?: string
  /** Prefix of an IP address, MAC address, port ID, VM ID, provider ID, or of the name of a node, VM, subnet, network or provider. */
  q?: string
  limit?: number
  /** The last record of the previous page. */
  after?: { providerId: string; nodeName: string }
}

/** The filter for a record of the history, which is not in the tables. `providerId` and `nodeName` are the query's. */
export function matchesFilter(record: InventoryRecord, filter: Filter): boolean {
  const { instanceId, state, q } = filter
  if (instanceId !== undefined && record.instanceId !== instanceId) return false
  if (state !== undefined && (record.state ?? 'Pending') !== state) return false
  for (const field of ['networkId', 'subnetId', 'source'] as const)
    if (filter[field] !== undefined && !storedInterfaces(record.config).some(nic => nic[field] === filter[field]))
      return false
  if (q === undefined) return true
  const texts = [
    record.nodeName,
    record.instanceId,
    record.providerId,
    record.instanceName ?? '',
    record.providerName ?? '',
    ...interfaceRows(record).flatMap(({ port_id, subnet_name, network_name }) => [
      ...(port_id ? [port_id] : []),
      ...(subnet_name ? [subnet_name] : []),
      ...(network_name ? [network_name] : []),
    ]),
  ]
  return (
    texts.some(text => text.startsWith(q)) ||
    interfaceRows(record).some(({ mac }) => mac.startsWith(q.toLowerCase())) ||
    addressRows(record).some(({ address }) => address.startsWith(normalizedAddress(q)))
  )
}

/**
 * Every document that matches `q` contains one of these texts; the others need not be parsed. Undefined for values that a
 * document may spell differently: IPv6 addresses and characters that JSON escapes.
 */
export function documentHints(q: string): string[] | undefined {
  const isMac = /^[0-9a-f]{2}(:[0-9a-f]{2})+:?$/i.test(q) && !q.includes('::')
  const text = q.split('/', 1)[0] ?? q
  if (!/^[\w.:-]+$/.test(text) || (text.includes(':') && !isMac)) return undefined
  return [...new Set([text, text.toLowerCase()])]
}

/** A complete address in canonical form; a prefix of one unchanged, in lower case. */
export function normalizedAddress(q: string): string {
  return canonical(q.split('/', 1)[0] ?? q) ?? q.toLowerCase()
}
