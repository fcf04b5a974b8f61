/**
 * Port security as in Neutron: a port drops every frame whose MAC address and IP address are not its own, in both directions.
 */
import { parseIp } from '../../src/contract/address.ts'

export interface SecuredPort {
  /** The cloud's end of the port. It must exist. */
  device: string
  macAddress: string
  /** Without prefix length. */
  addresses: readonly string[]
}

/** The input of `nft -f -` in the network namespace of the devices. It replaces all rules of that namespace. */
export function portSecurity(ports: readonly SecuredPort[]): string {
  return `flush ruleset\n${ports.map(filterOf).join('')}`
}

function filterOf({ device, macAddress, addresses }: SecuredPort): string {
  const v4 = addresses.filter(address => !address.includes(':'))
  const v6 = [...addresses.filter(address => address.includes(':')), linkLocalOf(macAddress)]
  const hex = (address: string) => `0x${(parseIp(address)?.value ?? 0n).toString(16)}`
  return `
table netdev port-${device} {
  chain from-port {
    type filter hook ingress device ${device} priority 0
    ether saddr != ${macAddress} drop
    arp saddr ether != ${macAddress} drop
    arp saddr ip != { ${[...v4, '0.0.0.0'].join(', ')} } drop
    ip saddr != { ${[...v4, '0.0.0.0'].join(', ')} } drop
    ip6 saddr != { ${[...v6, '::'].join(', ')} } drop
${v6.map(address => `    icmpv6 type nd-neighbor-advert @th,64,128 ${hex(address)} accept\n`).join('')}
    icmpv6 type nd-neighbor-advert drop
  }
  chain to-port {
    type filter hook egress device ${device} priority 0
    ether daddr & 01:00:00:00:00:00 != 00:00:00:00:00:00 accept
    ether daddr != ${macAddress} drop
    arp daddr ip != { ${[...v4, '0.0.0.0'].join(', ')} } drop
    ip daddr != { ${[...v4, '0.0.0.0'].join(', ')} } drop
    ip6 daddr != { ${v6.join(', ')} } drop
  }
}
`
}

function linkLocalOf(macAddress: string): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = macAddress.split(':').map(pair => Number.parseInt(pair, 16))
  const groups = [((a ^ 2) << 8) | b, (c << 8) | 0xff, 0xfe00 | d, (e << 8) | f]
  return `fe80::${groups.map(group => group.toString(16)).join(':')}`
}
