/**
 * The sources whose packets belong to a NIC: its whole subnet, so that every address that somebody adds later works as well,
 * or one address alone where the subnet is that of others too.
 *
 * Pure.
 */
import {
  bitsOf,
  type Cidr,
  contains,
  type Family,
  formatIp,
  networkOf,
  overlaps,
  parseCidr,
} from '../contract/address.ts'

export interface PacketSource {
  family: Family
  /** What the source of a packet is compared with. */
  cidr: string
  /** The NIC's network that another device reaches too: packets from this address to it leave by this NIC. */
  sharedNetwork?: string
}

/** What decides who else reaches a network. */
export interface Neighbourhood {
  /** Networks of the other NICs. */
  others: readonly { index: number; network: Cidr }[]
  /** Why the main table must not have the network; undefined when it may. */
  reservedBy(network: Cidr): string | undefined
}

/** In the order of the addresses. */
export function packetSources(index: number, addresses: readonly Cidr[], around: Neighbourhood): PacketSource[] {
  const sources = addresses.flatMap(address => sourcesOf(index, address, around))
  return sources.filter((source, position) => sources.findIndex(other => other.cidr === source.cidr) === position)
}

function sourcesOf(index: number, address: Cidr, { others, reservedBy }: Neighbourhood): PacketSource[] {
  const { family, prefix } = address
  const host = { family, cidr: `${formatIp(address.address)}/${bitsOf(family)}` }
  if (prefix === bitsOf(family)) return [host]
  const network = networkOf(address)
  const whole = { family, cidr: network }
  const sharing = others.filter(other => other.network.family === family && overlaps(other.network, address))
  const reserved = reservedBy(address) !== undefined
  if (!reserved && sharing.length === 0) return [whole]
  const own = { ...host, sharedNetwork: network }
  // Every other address of a shared subnet is that of the first NIC in it, whose route the main table prefers.
  const isFirst = sharing.every(other => networkOf(other.network) === network && other.index > index)
  return !reserved && isFirst ? [own, whole] : [own]
}

/** Networks and addresses that do not overlap: of two that do, the more specific one. */
export function disjoint<T extends { cidr: string }>(entries: readonly T[]): T[] {
  const parsed = entries.flatMap(entry => {
    const cidr = parseCidr(entry.cidr)
    return cidr ? [{ entry, cidr }] : []
  })
  const kept: typeof parsed = []
  for (const item of parsed.toSorted((a, b) => b.cidr.prefix - a.cidr.prefix))
    if (!kept.some(({ cidr }) => contains(item.cidr, cidr.address))) kept.push(item)
  return kept.toSorted((a, b) => (a.cidr.address.value < b.cidr.address.value ? -1 : 1)).map(({ entry }) => entry)
}
