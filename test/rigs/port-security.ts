/**
 * Port security as in Neutron: on a bridge, a port sends and receives only frames with its own MAC address and addresses.
 *
 * Returns the input of `nft -f -`, for the network namespace of the bridge. It replaces the rules of an earlier call.
 */
import { parseIp } from '../../src/contract/address.ts'

export interface SecuredPort {
  /** The bridge's end of the port. */
  device: string
  macAddress: string
  /** Without prefix length. */
  addresses: readonly string[]
}

const table = 'table bridge port_security'

export function portSecurity(ports: readonly SecuredPort[]): string {
  const chains = ports.flatMap((port, index) => [...fromPort(port, `from_${index}`), ...toPort(port, `to_${index}`)])
  const jumps = (direction: 'from' | 'to', key: string) =>
    ports.map(({ device }, index) => `${key} "${device}" jump ${direction}_${index}`)
  return `${[
    `${table} {}`,
    `delete ${table}`,
    `${table} {`,
    ...chains,
    'chain prerouting { type filter hook prerouting priority 0;',
    ...jumps('from', 'iifname'),
    '}',
    'chain postrouting { type filter hook postrouting priority 0;',
    ...jumps('to', 'oifname'),
    '}',
    '}',
  ].join('\n')}\n`
}

/** What the node sends. DHCP and duplicate address detection have no source address yet. */
function fromPort({ macAddress, addresses }: SecuredPort, chain: string): string[] {
  const [ipv4, ipv6] = byFamily(macAddress, addresses)
  return [
    `chain ${chain} {`,
    `ether saddr != ${macAddress} drop`,
    'ip saddr 0.0.0.0 udp sport 68 udp dport 67 accept',
    'ip6 saddr :: icmpv6 type { mld-listener-report, mld2-listener-report, nd-router-solicit, nd-neighbor-solicit } accept',
    `arp saddr ether != ${macAddress} drop`,
    ...allow('arp saddr ip', ipv4),
    ...allow('ip saddr', ipv4),
    ...allow('ip6 saddr', ipv6),
    'drop',
    '}',
  ]
}

function toPort({ macAddress, addresses }: SecuredPort, chain: string): string[] {
  const [ipv4, ipv6] = byFamily(macAddress, addresses)
  return [
    `chain ${chain} {`,
    'ether daddr & 01:00:00:00:00:00 != 0 accept',
    // A bridge floods frames to hosts that it does not know yet.
    `ether daddr != ${macAddress} drop`,
    'ether type arp accept',
    'udp sport 67 udp dport 68 accept',
    ...allow('ip daddr', ipv4),
    ...allow('ip6 daddr', ipv6),
    'drop',
    '}',
  ]
}

function allow(field: string, addresses: readonly string[]): string[] {
  return addresses.length > 0 ? [`${field} { ${addresses.join(', ')} } accept`] : []
}

/** Every port may use the link-local address of its MAC address. */
function byFamily(macAddress: string, addresses: readonly string[]): [string[], string[]] {
  const ofFamily = (family: 4 | 6) => addresses.filter(address => parseIp(address)?.family === family)
  return [ofFamily(4), [...ofFamily(6), linkLocal(macAddress)]]
}

function linkLocal(macAddress: string): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = macAddress.split(':').map(text => Number.parseInt(text, 16))
  const groups = [((a ^ 2) << 8) | b, (c << 8) | 0xff, 0xfe00 | d, (e << 8) | f]
  return `fe80::${groups.map(group => group.toString(16)).join(':')}`
}
