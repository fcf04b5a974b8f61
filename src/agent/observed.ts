/**
 * What the agent sees of a node, as plain values, and how they are read from `ip -j`.
 *
 * Everything is asked for in numbers (`ip -N`): names of tables and protocols depend on files of the host.
 */
import { bitsOf, canonical, type Family, parseIp } from '../contract/address.ts'

export interface Link {
  ifindex: number
  name: string
  mac: string
  /** Only where it differs from `mac`: a bond gives its members its own. */
  permanentMac?: string
  ethernet: boolean
  /** The driver kind of a device made by software (veth, bond, vlan); absent for hardware and virtio. */
  kind?: string
  master?: string
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
  /** The kernel still asks whether somebody else has it. */
  tentative: boolean
  /** Seconds that are left to a leased address. */
  lifetime?: { valid: number; preferred: number }
}

export interface RouteSeen {
  family: Family
  table: number
  /** 1 is unicast; others (blackhole, local, …) are never ours. */
  type: number
  destination: string
  /** Every device that the route leaves by. */
  devices: number[]
  gateway?: string
  protocol: number
  metric: number
  source?: string
  scope: number
  onlink: boolean
}

export interface RuleSeen {
  family: Family
  priority: number
  table: number
  from?: string
  to?: string
  protocol: number
  /** Nothing but from, to and the table: a rule that could be ours. */
  plain: boolean
}

export interface FileState {
  text: string
  mode: number
  uid: number
  gid: number
  /** Not a plain file (a symbolic link, say): read through, and never written. */
  special?: true
}

/**
 * What NetworkManager does with a device. `none`: it leaves it alone (unmanaged, or it only watches what others made).
 * `ours`: it runs our own profile. `other`: it will do with it as it likes.
 */
export type Manager = 'none' | 'ours' | 'other'

export interface Observed {
  links: Link[]
  addresses: Address[]
  routes: RouteSeen[]
  rules: RuleSeen[]
  /** Files of the directories that we write to, by path; with their text. */
  files: Record<string, FileState>
  /** Those of our directories that are on the host. */
  directories: string[]
  /** Kernel settings of the devices that were asked for: `ifindex` → `ipv4.rp_filter` → value. */
  sysctls: Record<number, Record<string, string>>
  /** On hosts with NetworkManager: what it does with the devices that were asked for, by ifindex. */
  managers: Record<number, Manager>
  /** The device and router towards the API server, where its address is known. */
  apiPath?: { ifindex: number; gateway?: string }
  /** Altnames that the kernel refused since it was booted. */
  refusedAltnames: string[]
  bootId: string
  systemUuid: string
}

export const tableMain = 254
export const protocolKernel = 2
export const protocolStatic = 4
export const scopeLink = 253

interface RawLink {
  ifindex: number
  ifname: string
  flags: string[]
  mtu: number
  address?: string
  permaddr?: string
  link_type: string
  master?: string
  min_mtu?: number
  max_mtu?: number
  linkinfo?: { info_kind?: string }
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
}

interface RawRoute {
  type?: string
  dst: string
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
  nexthops?: { dev?: string; gateway?: string }[]
}

type RawRule = Record<string, unknown> & {
  priority: number
  table?: string
  protocol?: string
  src?: string
  srclen?: number
  dst?: string
  dstlen?: number
}

const forever = 0xffffffff
const ruleKeys = new Set(['priority', 'src', 'srclen', 'dst', 'dstlen', 'table', 'protocol'])

/** `ip -batch` prints one JSON array a command, each on its own line. */
export function jsonArrays(output: string): unknown[][] {
  return output
    .split('\n')
    .filter(line => line.startsWith('['))
    .map(line => JSON.parse(line) as unknown[])
}

export function parseLinks(raw: unknown[]): { links: Link[]; addresses: Address[] } {
  const entries = (raw as RawLink[]).filter(entry => entry.ifindex !== undefined)
  return { links: entries.map(parseLink), addresses: entries.flatMap(parseAddresses) }
}

export function parseRoutes(raw: unknown[], links: readonly Link[]): RouteSeen[] {
  const index = new Map(links.map(link => [link.name, link.ifindex]))
  return (raw as RawRoute[]).map(entry => {
    const gateway = entry.gateway ?? entry.via?.host
    const family = entry.dst.includes(':') || entry.pref !== undefined || gateway?.includes(':') ? 6 : 4
    const names = [entry.dev, ...(entry.nexthops ?? []).map(hop => hop.dev)].filter(name => name !== undefined)
    return {
      family,
      table: Number(entry.table ?? tableMain),
      type: Number(entry.type ?? 1),
      destination: destinationOf(entry.dst, family),
      devices: names.map(name => index.get(name) ?? 0),
      ...(gateway === undefined ? {} : { gateway }),
      protocol: Number(entry.protocol ?? 0),
      metric: entry.metric ?? 0,
      ...(entry.prefsrc === undefined ? {} : { source: entry.prefsrc }),
      scope: Number(entry.scope ?? 0),
      onlink: entry.flags?.includes('onlink') ?? false,
    }
  })
}

export function parseRules(raw: unknown[], family: Family): RuleSeen[] {
  return (raw as RawRule[]).map(entry => ({
    family,
    priority: entry.priority,
    table: Number(entry.table ?? 0),
    ...selector('from', entry.src, entry.srclen, family),
    ...selector('to', entry.dst, entry.dstlen, family),
    protocol: Number(entry.protocol ?? 0),
    plain: Object.keys(entry).every(key => ruleKeys.has(key)),
  }))
}

export function linkByIndex(observed: Observed, ifindex: number): Link | undefined {
  return observed.links.find(link => link.ifindex === ifindex)
}

/** The MAC that a device was made with. */
export function ownMac(link: Link): string {
  return link.permanentMac ?? link.mac
}

/** Kinds that stand for a NIC: hardware (none) and, where a node is a namespace, the end of a cable into it. */
const nicKinds = new Set([undefined, 'veth', 'ifb'])

/** The devices that a MAC may mean: real ones first; a VLAN, bond or bridge with the same MAC is never it. */
export function linksByMac(links: readonly Link[], mac: string): Link[] {
  const found = links.filter(link => link.ethernet && nicKinds.has(link.kind) && ownMac(link) === mac)
  const real = found.filter(link => link.kind === undefined)
  const candidates = real.length > 0 ? real : found
  // A failover device and its two members have one MAC: the members have a master.
  const free = candidates.filter(link => link.master === undefined)
  return free.length > 0 ? free : candidates
}

function parseLink(raw: RawLink): Link {
  const kind = raw.linkinfo?.info_kind
  return {
    ifindex: raw.ifindex,
    name: raw.ifname,
    mac: (raw.address ?? '').toLowerCase(),
    ...(raw.permaddr === undefined ? {} : { permanentMac: raw.permaddr.toLowerCase() }),
    ethernet: raw.link_type === '[1]' || raw.link_type === 'ether',
    ...(kind === undefined ? {} : { kind }),
    ...(raw.master === undefined ? {} : { master: raw.master }),
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
      }
    })
}

function destinationOf(text: string, family: Family): string {
  if (text === 'default' || text.includes('/')) return text
  return parseIp(text) ? `${text}/${bitsOf(family)}` : text
}

function selector<K extends string>(
  key: K,
  address: string | undefined,
  prefix: number | undefined,
  family: Family,
): { [P in K]?: string } {
  if (address === undefined || address === 'all') return {}
  return { [key]: `${address}/${prefix ?? bitsOf(family)}` } as { [P in K]?: string }
}
