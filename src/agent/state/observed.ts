/**
 * The observed state of a node as plain values, and how it is parsed from `ip -j`.
 *
 * Tables, protocols and scopes are numbers (`ip -N`): their names depend on files of the host.
 */
import { bitsOf, canonical, type Family, parseIp } from '../../contract/address.ts'
import { tableMain } from '../../contract/routing-scheme.ts'

export { tableDefault, tableLocal, tableMain } from '../../contract/routing-scheme.ts'

export interface Link {
  ifindex: number
  name: string
  macAddress: string
  /** Set where it differs from `macAddress`: members of a bond take the bond's. */
  permanentMacAddress?: string
  ethernet: boolean
  /** The kind of a software device (veth, bond, vlan); absent for hardware and virtio. */
  kind?: string
  master?: string
  /** The device that this one is stacked on (VLAN, macvlan, vxlan, …), by name. */
  lower?: string
  mtu: number
  minMtu: number
  maxMtu: number
  up: boolean
  carrier: boolean
  altnames: string[]
}

export interface Address {
  ifindex: number
  family: Family
  cidr: string
  linkLocal: boolean
  noPrefixRoute: boolean
  dadFailed: boolean
  /** Duplicate address detection has not ended. */
  tentative: boolean
  /** Remaining seconds of a leased address. */
  lifetime?: { valid: number; preferred: number }
  /** Of its connected route. */
  metric?: number
}

export interface ObservedRoute {
  family: Family
  table: number
  /** 1 is unicast. Other types (blackhole, local, …) are never ours. */
  type: number
  destination: string
  /** Only packets with this source match (IPv6). */
  from?: string
  /** Outgoing devices, by ifindex; several for a multipath route. */
  devices: number[]
  gateway?: string
  /** The next hops of a multipath route (IPv4). */
  gateways?: string[]
  protocol: number
  metric: number
  source?: string
  scope: number
  onlink: boolean
}

/** An entry of the neighbour table (ARP, NDP). */
export interface Neighbour {
  ifindex: number
  address: string
  /** Absent while nobody has replied. */
  macAddress?: string
  states: string[]
}

export interface ObservedRule {
  family: Family
  priority: number
  table: number
  from?: string
  to?: string
  iif?: string
  fwmark?: string
  not?: true
  goto?: number
  nop?: true
  suppressPrefixLength?: number
  protocol: number
  /** Has no other selector or option: the rule may be ours. */
  plain: boolean
}

export interface FileState {
  text: string
  mode: number
  uid: number
  gid: number
  /** Not a regular file but a symbolic link, for example: the agent follows it to read and never writes it. */
  special?: true
  /** Its text is unknown: root without further capabilities may not read it, or it is a loop of links, for example. */
  unreadable?: true
}

/**
 * What NetworkManager does with a device. `none`: does not manage it. `ours`: has activated our profile. `other`: manages
 * it with another profile, or may do so at any time.
 */
export type Manager = 'none' | 'ours' | 'other'

export interface Observed {
  links: Link[]
  addresses: Address[]
  routes: ObservedRoute[]
  rules: ObservedRule[]
  /** Families for which the kernel has no rules at all. */
  noPolicyRouting?: Family[]
  neighbours: Neighbour[]
  /** Files in the directories that the agent writes to, by path. */
  files: Record<string, FileState>
  /** The directories of these that exist on the host. */
  directories: string[]
  /** Sysctls of the requested and of our NICs: ifindex → `ipv4.rp_filter` → value. */
  sysctls: Record<number, Record<string, string>>
  /** The same NICs, by ifindex; empty on hosts without NetworkManager. */
  managers: Record<number, Manager>
  /** Why it is not known whether NetworkManager runs. */
  networkManagerError?: string
  /** The file by which networkd manages one of these NICs, by ifindex. */
  networkdFiles?: Record<number, string>
  /** A file of networkd that changed since networkd read it. Read only if networkd manages a NIC by a foreign file. */
  networkdChanged?: string
  /** Evidence for DHCP clients that the agent cannot stop, on these NICs, by ifindex. */
  dhcpClients?: Record<number, string>
  /** The route to the API server, if its address is known. */
  apiPath?: { ifindex: number; gateway?: string }
  /** The device that the kernel selects for a packet to the Internet, by family; absent if it has no route. */
  defaultDevices?: Partial<Record<Family, number>>
  /** The ways of packets, by the command that asked for them; null when there is none. */
  lookups?: Record<string, ObservedRoute | null>
  /** The tables `multinic` of nftables, by family, as nft lists them. */
  nft: Partial<Record<Family, string>>
  /** Why the kernel of this boot has no tables of nftables. */
  nftError?: string
  /** Altnames that the kernel has refused since boot. */
  refusedAltnames: string[]
  bootID: string
  /** DNS servers of the node, in canonical notation. */
  resolvers?: string[]
  /** The kernel has IPv6. */
  ipv6: boolean
  /** NICs under devices of other network namespaces, such as those of Pods. Read only if a NIC gets another of our names. */
  stackedElsewhere?: number[]
}

export const protocolKernel = 2
export const protocolStatic = 4
export const scopeLink = 253

interface RawNeighbour {
  dst: string
  dev: string
  lladdr?: string
  state?: string[]
}

interface RawLink {
  ifindex: number
  ifname: string
  flags: string[]
  mtu: number
  address?: string
  permaddr?: string
  link_type: string
  master?: string
  link?: string | null
  min_mtu?: number
  max_mtu?: number
  linkinfo?: { info_kind?: string; info_data?: { link?: string } }
  altnames?: string[]
  addr_info?: RawAddress[]
}

interface RawAddress {
  family: string
  local: string
  prefixlen: number
  scope: string
  noprefixroute?: boolean
  dadfailed?: boolean
  tentative?: boolean
  valid_life_time: number
  preferred_life_time: number
  metric?: number
}

interface RawRoute {
  type?: string
  dst: string
  from?: string
  dev?: string
  gateway?: string
  via?: { host: string }
  table?: string
  protocol?: string
  metric?: number
  prefsrc?: string
  scope?: string
  flags?: string[]
  pref?: string
  nexthops?: { dev?: string; gateway?: string; via?: { host: string } }[]
}

/** The source of a rule that does not select by addresses. */
export const everySource = { 4: '0.0.0.0/0', 6: '::/0' } as const

const forever = 0xffffffff
export function parseLinks(raw: unknown[]): { links: Link[]; addresses: Address[] } {
  const entries = (raw as RawLink[]).filter(entry => entry.ifindex !== undefined)
  return { links: entries.map(parseLink), addresses: entries.flatMap(parseAddresses) }
}

/** By name: `ip` prints no ifindex beside a route or neighbour. */
export function ifindexes(links: readonly Link[]): ReadonlyMap<string, number> {
  return new Map(links.map(link => [link.name, link.ifindex]))
}

export function parseNeighbours(raw: unknown[], links: readonly Link[]): Neighbour[] {
  const index = ifindexes(links)
  return (raw as RawNeighbour[]).map(({ dst, dev, lladdr, state = [] }) => ({
    ifindex: index.get(dev) ?? 0,
    address: dst,
    ...(lladdr === undefined ? {} : { macAddress: lladdr }),
    states: state,
  }))
}

/**
 * NICs that receive frames for another unicast address: a macvlan or an ipvlan that is up adds it, in every network namespace.
 * The list has the multicast addresses of each NIC too.
 */
export function parseStacked(raw: unknown[], links: readonly Link[]): number[] {
  const index = ifindexes(links)
  const isUnicast = ({ lladdr = '01' }: RawNeighbour) => Number.parseInt(lladdr.slice(0, 2), 16) % 2 === 0
  return [...new Set((raw as RawNeighbour[]).filter(isUnicast).map(({ dev }) => index.get(dev) ?? 0))]
}

export function parseRoutes(raw: unknown[], index: ReadonlyMap<string, number>): ObservedRoute[] {
  return (raw as RawRoute[]).flatMap(withoutNexthops6).map(entry => {
    const gateway = entry.gateway ?? entry.via?.host
    const family = entry.dst.includes(':') || entry.pref !== undefined || gateway?.includes(':') ? 6 : 4
    const names = [entry.dev, ...(entry.nexthops ?? []).map(hop => hop.dev)].filter(name => name !== undefined)
    return {
      family,
      table: Number(entry.table ?? tableMain),
      type: Number(entry.type ?? 1),
      destination: withPrefixLength(entry.dst, family),
      ...(entry.from === undefined ? {} : { from: withPrefixLength(entry.from, family) }),
      devices: names.map(name => index.get(name) ?? 0),
      ...(gateway === undefined ? {} : { gateway }),
      ...(entry.nexthops ? { gateways: entry.nexthops.flatMap(hop => hop.gateway ?? hop.via?.host ?? []) } : {}),
      protocol: Number(entry.protocol ?? 0),
      metric: entry.metric ?? 0,
      ...(entry.prefsrc === undefined ? {} : { source: entry.prefsrc }),
      scope: Number(entry.scope ?? 0),
      onlink: entry.flags?.includes('onlink') ?? false,
    }
  })
}

/** IPv6 routes that differ in the next hop alone are separate routes, which `ip` prints as one. */
function withoutNexthops6(entry: RawRoute): RawRoute[] {
  if (entry.pref === undefined || entry.nexthops === undefined) return [entry]
  const { nexthops, ...rest } = entry
  return nexthops.map(hop => ({ ...rest, ...hop }))
}

export function linkByIndex(observed: Observed, ifindex: number): Link | undefined {
  return observed.links.find(link => link.ifindex === ifindex)
}

/** Identifies the NIC even while it is a member of a bond. */
export function permanentMacOf(link: Link): string {
  return link.permanentMacAddress ?? link.macAddress
}

/** Kinds of devices that are NICs: hardware has none; in tests a node is a namespace and its NICs are veth devices. */
const nicKinds = new Set([undefined, 'veth', 'ifb'])

/** The NICs with this MAC address, hardware first. Never a VLAN, bond or bridge that has the same one. */
export function linksByMac(links: readonly Link[], macAddress: string): Link[] {
  const found = links.filter(link => link.ethernet && nicKinds.has(link.kind) && permanentMacOf(link) === macAddress)
  const hardware = found.filter(link => link.kind === undefined)
  const candidates = hardware.length > 0 ? hardware : found
  // A failover device and its two members share one MAC address; the members have a master.
  const free = candidates.filter(link => link.master === undefined)
  return free.length > 0 ? free : candidates
}

function parseLink(raw: RawLink): Link {
  const kind = raw.linkinfo?.info_kind
  // The peer of a veth device. A tunnel names the device in its own data.
  const lower = raw.link ?? raw.linkinfo?.info_data?.link
  return {
    ifindex: raw.ifindex,
    name: raw.ifname,
    macAddress: (raw.address ?? '').toLowerCase(),
    ...(raw.permaddr === undefined ? {} : { permanentMacAddress: raw.permaddr.toLowerCase() }),
    ethernet: raw.link_type === '[1]' || raw.link_type === 'ether',
    ...(kind === undefined ? {} : { kind }),
    ...(raw.master === undefined ? {} : { master: raw.master }),
    ...(lower && kind !== 'veth' ? { lower } : {}),
    mtu: raw.mtu,
    minMtu: raw.min_mtu ?? 0,
    maxMtu: raw.max_mtu ?? 0,
    up: raw.flags.includes('UP'),
    carrier: raw.flags.includes('LOWER_UP'),
    altnames: raw.altnames ?? [],
  }
}

function parseAddresses(raw: RawLink): Address[] {
  return (raw.addr_info ?? [])
    .filter(entry => entry.family === 'inet' || entry.family === 'inet6')
    .map(entry => {
      const family = entry.family === 'inet' ? 4 : 6
      const cidr = `${entry.local}/${entry.prefixlen}`
      return {
        ifindex: raw.ifindex,
        family,
        cidr: canonical(cidr) ?? cidr,
        linkLocal: family === 6 && Number(entry.scope) === scopeLink,
        noPrefixRoute: entry.noprefixroute ?? false,
        dadFailed: entry.dadfailed ?? false,
        tentative: entry.tentative ?? false,
        ...(entry.valid_life_time === forever
          ? {}
          : { lifetime: { valid: entry.valid_life_time, preferred: entry.preferred_life_time } }),
        ...(entry.metric === undefined ? {} : { metric: entry.metric }),
      }
    })
}

function withPrefixLength(text: string, family: Family): string {
  if (text === 'default' || text.includes('/')) return text
  return parseIp(text) ? `${text}/${bitsOf(family)}` : text
}
