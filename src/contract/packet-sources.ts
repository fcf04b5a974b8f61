/**
 * The sources whose packets belong to a NIC: its whole subnet, so that every address that somebody adds later works as well,
 * or one address alone where the subnet is that of others too.
 *
 * Pure.
 */
import { bitsOf, type Cidr, contains, type Family, formatIp, networkOf, overlaps, parseCidr } from './address.ts'

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

/**
 * The same networks and addresses without overlaps: of two that overlap, the more specific one wins, and the other one is cut
 * around it.
 */
export function disjoint(entries: readonly { cidr: string; to: string }[]): { cidr: string; to: string }[] {
  const parsed = entries.flatMap(({ cidr, to }) => {
    const network = parseCidr(cidr)
    return network ? [{ network, to }] : []
  })
  const kept: typeof parsed = []
  for (const { network, to } of parsed.toSorted((a, b) => b.network.prefix - a.network.prefix)) {
    const inside = kept.filter(other => contains(network, other.network.address))
    // What goes to the same target needs no entry of its own.
    const same = inside.filter(other => other.to === to)
    for (const other of same) kept.splice(kept.indexOf(other), 1)
    const holes = inside.filter(other => other.to !== to).map(other => other.network)
    kept.push(...without(network, holes).map(part => ({ network: part, to })))
  }
  return kept
    .toSorted((a, b) => (a.network.address.value < b.network.address.value ? -1 : 1))
    .map(({ network, to }) => ({ cidr: networkOf(network), to }))
}

/** The parts of a network outside of the others. */
function without(network: Cidr, holes: readonly Cidr[]): Cidr[] {
  const inside = holes.filter(hole => overlaps(network, hole))
  if (inside.length === 0) return [network]
  if (inside.some(hole => hole.prefix <= network.prefix)) return []
  return halvesOf(network).flatMap(half => without(half, inside))
}

function halvesOf({ family, address, prefix }: Cidr): Cidr[] {
  const bit = BigInt(bitsOf(family) - prefix - 1)
  const first = (address.value >> (bit + 1n)) << (bit + 1n)
  return [first, first | (1n << bit)].map(value => ({ family, address: { family, value }, prefix: prefix + 1 }))
}
