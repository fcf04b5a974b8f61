/** The cloud's filters in the fabric: port security, isolated networks, and sets that remember which port saw a packet. */
import { portSecurity, type SecuredPort } from '../rigs/port-security.ts'
import { addressIn, addressOf, families, type Layout, layouts, type Name } from './addresses.ts'

/** `neutron`: port security. `isolated`: also no router between the networks of the NICs and the primary's. */
export const filterNames = ['neutron', 'none', 'isolated'] as const
export type Filter = (typeof filterNames)[number]

export interface FabricPort {
  /** The fabric's end. */
  device: string
  /** The node's end. */
  macAddress: string
}

/** The allowed address pairs of each NIC by index, and of the primary. */
const pairs: readonly Name[] = ['VIP', 'external IP', 'routed pod', 'VIP-D']

/** `ports`: the primary's first, then those of the NICs by index. */
export function filterRules(filter: Filter, layout: Layout, ports: readonly FabricPort[], vipNic: number): string {
  if (filter === 'none') return 'flush ruleset\n'
  const security = portSecurity(securedPorts(layout, ports, vipNic))
  return filter === 'neutron' ? security : `${security}${isolation}`
}

/** What each port may send: its fixed addresses and its allowed address pairs. */
export function securedPorts(layout: Layout, ports: readonly FabricPort[], vipNic: number): SecuredPort[] {
  const of = (names: readonly Name[]) =>
    families.flatMap(family => names.flatMap(name => addressOf(name, layout, family) ?? []))
  return ports.map(({ device, macAddress }, position) => {
    const nic = layouts[layout][position - 1]
    const own = nic ? families.map(family => addressIn(nic.net, nic.host, family)) : of(['P'])
    const isAllowed = (name: Name) => position - 1 === (name === 'VIP-D' ? vipNic : 0)
    const more = nic ? of(pairs.filter(isAllowed)) : of(['VIP-P'])
    const allowedAddressPairs = more.map(ipAddress => ({ macAddress, ipAddress }))
    return { device, macAddress, addresses: own, allowedAddressPairs }
  })
}

const isolation = `
table inet isolation {
  chain forward {
    type filter hook forward priority 0
    iifname "br0" oifname { "br1", "br2", "br3", "br4", "br5", "br6", "br7", "br8", "br9", "br10" } drop
    iifname { "br1", "br2", "br3", "br4", "br5", "br6", "br7", "br8", "br9", "br10" } oifname "br0" drop
  }
}
`

/** Remembers each packet by the device that it came in by, before a filter drops it. */
export function watchRules(devices: readonly string[]): string {
  const key = (ip: string) => `meta iifname . ${ip} saddr . th sport . ${ip} daddr . th dport`
  const set = (name: string, ip: string) => `set ${name} { typeof ${key(ip)}; size 65535; flags dynamic; }`
  const chain = (device: string) => `chain watch-${device} {
    type filter hook ingress device "${device}" priority -10
    meta l4proto { tcp, udp } meta protocol ip add @seen4 { ${key('ip')} }
    meta l4proto { tcp, udp } meta protocol ip6 add @seen6 { ${key('ip6')} }
  }`
  return `table netdev watch {
  ${set('seen4', 'ip')}
  ${set('seen6', 'ip6')}
  ${devices.map(chain).join('\n  ')}
}
`
}

export interface SeenPacket {
  device: string
  sourcePort: number
  destinationPort: number
}

/** From `nft --json list table netdev watch`. */
export function seenPackets(json: string): SeenPacket[] {
  const { nftables } = JSON.parse(json) as {
    nftables: { set?: { elem?: { concat: [string, string, number, string, number] }[] } }[]
  }
  return nftables
    .flatMap(({ set }) => set?.elem ?? [])
    .map(({ concat: [device, , sourcePort, , destinationPort] }) => ({ device, sourcePort, destinationPort }))
}
