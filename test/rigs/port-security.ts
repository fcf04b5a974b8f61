/**
 * Port security as in Neutron: a port drops every frame whose MAC address and IP address are neither its own nor an allowed
 * address pair, in both directions.
 */
import { parseIp } from '../../src/contract/address.ts'
import type { AddressPair } from '../../src/operator/cloud.ts'

export interface SecuredPort {
  /** The cloud's end of the port. It must exist. */
  device: string
  macAddress: string
  /** Without prefix length. */
  addresses: readonly string[]
  /** Without prefix length. */
  allowedAddressPairs?: readonly AddressPair[]
}

/** The input of `nft -f -` in the network namespace of the devices. It replaces all rules of that namespace. */
export function portSecurity(ports: readonly SecuredPort[]): string {
  return `flush ruleset\n${ports.map(filterOf).join('')}`
}

function filterOf({ device, macAddress, addresses, allowedAddressPairs = [] }: SecuredPort): string {
  const pairs = [...addresses.map(ipAddress => ({ macAddress, ipAddress })), ...allowedAddressPairs]
  const macs = [...new Set([macAddress, ...pairs.map(pair => pair.macAddress)])]
  const isV6 = ({ ipAddress }: AddressPair) => ipAddress.includes(':')
  const withEach = (ipAddress: (mac: string) => string) =>
    macs.map(mac => ({ macAddress: mac, ipAddress: ipAddress(mac) }))
  const v4 = [...pairs.filter(pair => !isV6(pair)), ...withEach(() => '0.0.0.0')]
  const v6 = [...pairs.filter(isV6), ...withEach(linkLocalOf)]
  const set = (all: readonly AddressPair[]) =>
    `{ ${all.map(pair => `${pair.macAddress} . ${pair.ipAddress}`).join(', ')} }`
  const hex = ({ ipAddress }: AddressPair) => `0x${(parseIp(ipAddress)?.value ?? 0n).toString(16)}`
  return `
table netdev port-${device} {
  chain from-port {
    type filter hook ingress device ${device} priority 0
    ether saddr != { ${macs.join(', ')} } drop
    meta protocol arp arp saddr ether . arp saddr ip != ${set(v4)} drop
    meta protocol ip ether saddr . ip saddr != ${set(v4)} drop
    meta protocol ip6 ether saddr . ip6 saddr != ${set([...v6, ...withEach(() => '::')])} drop
${v6.map(pair => `    icmpv6 type nd-neighbor-advert @th,64,128 ${hex(pair)} accept\n`).join('')}
    icmpv6 type nd-neighbor-advert drop
  }
  chain to-port {
    type filter hook egress device ${device} priority 0
    ether daddr & 01:00:00:00:00:00 != 00:00:00:00:00:00 accept
    ether daddr != { ${macs.join(', ')} } drop
    meta protocol arp ether daddr . arp daddr ip != ${set(v4)} drop
    meta protocol ip ether daddr . ip daddr != ${set(v4)} drop
    meta protocol ip6 ether daddr . ip6 daddr != ${set(v6)} drop
  }
}
`
}

function linkLocalOf(macAddress: string): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = macAddress.split(':').map(pair => Number.parseInt(pair, 16))
  const groups = [((a ^ 2) << 8) | b, (c << 8) | 0xff, 0xfe00 | d, (e << 8) | f]
  return `fe80::${groups.map(group => group.toString(16)).join(':')}`
}
