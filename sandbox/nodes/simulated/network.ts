/**
 * The network of the simulated kernel: namespaces with devices, addresses, routes, rules and settings, route lookup, and neighbour
 * resolution over veth pairs and bridges.
 *
 * Stores only what was added; connected and local routes are computed on each read.
 */
import {
  bitsOf,
  type Cidr,
  contains,
  type Family,
  type Ip,
  networkOf,
  parseCidr,
  parseIp,
} from '../../../src/contract/address.ts'

export interface Address {
  cidr: Cidr
  /** The address without prefix length, as the kernel prints it. */
  text: string
  noPrefixRoute: boolean
  linkLocal: boolean
  dadFailed: boolean
  lifetime?: { valid: number; preferred: number }
}

export interface Device {
  readonly namespace: Namespace
  readonly ifindex: number
  readonly kind: 'loopback' | 'veth' | 'bridge'
  readonly macAddress: string
  name: string
  mtu: number
  up: boolean
  master?: Device
  /** The other end of a veth pair. */
  peer?: Device
  /** Whether it generates a link-local address (addrgenmode). */
  linkLocal: boolean
  altnames: string[]
  addresses: Address[]
  /** `ipv4.rp_filter` and the like. */
  settings: Map<string, string>
}

export interface Route {
  family: Family
  table: number
  type: number
  destination: string
  /** Only packets with this source match (IPv6). */
  from?: string
  gateway?: string
  device: Device
  source?: string
  metric: number
  onlink: boolean
  protocol: number
  scope: number
}

export interface Rule {
  family: Family
  priority: number
  table: number
  from?: string
  to?: string
  iif?: string
  fwmark?: string
  /** Routes with a prefix of this length or shorter do not count. */
  suppressPrefixLength?: number
  not?: true
  nop?: true
  /** The next rule is the first one with this priority; without one, the rule has no effect. */
  goto?: number
  protocol: number
}

export interface Neighbour {
  address: string
  device: Device
  macAddress?: string
}

export interface Namespace {
  readonly name: string
  devices: Device[]
  /** Added routes only. */
  routes: Route[]
  rules: Rule[]
  neighbours: Neighbour[]
  /** Of nftables, by family and name. */
  tables: Map<string, string>
  nextIndex: number
}

const mainTable = 254
const localTable = 255
const [unicast, local, broadcast, multicast] = [1, 2, 3, 5]
export const kernelProtocol = 2
const [scopeUniverse, scopeLink, scopeHost] = [0, 253, 254]

/** Added routes and those that the kernel adds for addresses. */
export function routesOf(namespace: Namespace): Route[] {
  return [
    ...namespace.routes,
    ...namespace.devices.flatMap(device => device.addresses.flatMap(each => ownRoutes(device, each))),
  ]
}

function ownRoutes(device: Device, { cidr, text, noPrefixRoute }: Address): Route[] {
  const { family } = cidr
  const network = networkOf(cidr)
  const own = { family, device, onlink: false, protocol: kernelProtocol, metric: 0 }
  const itself = { ...own, table: localTable, type: local, destination: `${text}/${bitsOf(family)}` }
  if (family === 6) {
    const connected: Route = { ...own, table: mainTable, type: unicast, destination: network, metric: 256, scope: 0 }
    const many: Route = { ...own, table: localTable, type: multicast, destination: 'ff00::/8', metric: 256, scope: 0 }
    const showsNetwork = device.up && !noPrefixRoute && device.kind !== 'loopback'
    return [
      ...(showsNetwork ? [connected] : []),
      { ...itself, scope: scopeUniverse },
      ...(device.up && network === 'fe80::/64' ? [many] : []),
    ]
  }
  const sourced = { ...own, source: text }
  const connected: Route = { ...sourced, table: mainTable, type: unicast, destination: network, scope: scopeLink }
  const everybody: Route = {
    ...sourced,
    table: localTable,
    type: broadcast,
    destination: lastOf(cidr),
    scope: scopeLink,
  }
  const isHost = cidr.prefix === bitsOf(family)
  return [
    ...(device.up && !noPrefixRoute && !isHost && device.kind !== 'loopback' ? [connected] : []),
    { ...itself, source: text, scope: scopeHost },
    ...(device.up && !isHost ? [everybody] : []),
  ]
}

function hasMark(mark: number, fwmark: string): boolean {
  const [value = 0, mask = 0xffffffff] = fwmark.split('/').map(Number)
  return (mark & mask) === value
}

/** Route lookup through rules and tables. A packet without a source address has the source 0. */
export function routeTo(
  namespace: Namespace,
  ip: Ip,
  source: Ip = { family: ip.family, value: 0n },
  mark = 0,
): Route | undefined {
  const routes = routesOf(namespace).filter(
    ({ family, type, from }) =>
      family === ip.family && type !== broadcast && (from === undefined || covers(from, source)),
  )
  let skipTo = 0
  for (const rule of namespace.rules.filter(({ family }) => family === ip.family)) {
    const { priority, table, from, to, iif = 'lo', fwmark, suppressPrefixLength = -1, goto } = rule
    const matches =
      (from === undefined || covers(from, source)) &&
      (to === undefined || covers(to, ip)) &&
      (fwmark === undefined || hasMark(mark, fwmark)) &&
      // Packets of the node itself.
      iif === 'lo'
    if (priority < skipTo || matches === (rule.not ?? false) || rule.nop) continue
    if (goto !== undefined) {
      if (namespace.rules.some(each => each.family === ip.family && each.priority === goto)) skipTo = goto
      continue
    }
    const [best] = routes
      .filter(route => route.table === table && covers(route.destination, ip))
      .sort(
        (a, b) =>
          prefixOf(b) - prefixOf(a) ||
          Number(a.from === undefined) - Number(b.from === undefined) ||
          a.metric - b.metric,
      )
    if (best && prefixOf(best) > suppressPrefixLength) return best
  }
  return undefined
}

/** The MAC address of the neighbour that answers for an address on the link of a device. */
export function whoHas(device: Device, address: string): string | undefined {
  const ip = parseIp(address)
  if (!ip || !hasCarrier(device)) return undefined
  return neighboursOf(device).find(other => answers(other, ip))?.macAddress
}

/** Reports whether an address is reachable: local, or owned by the next hop. */
export function isReachable(namespace: Namespace, ip: Ip): boolean {
  const route = routeTo(namespace, ip)
  if (!route) return false
  if (route.type === local) return true
  if (!hasCarrier(route.device)) return false
  const hop = route.gateway === undefined ? ip : ipOf(route.gateway)
  const next = neighboursOf(route.device).find(other => answers(other, hop))
  return next !== undefined && hasAddress(next.namespace, ip)
}

export function hasCarrier(device: Device): boolean {
  return device.up && (device.peer === undefined || device.peer.up)
}

/** Devices on the same link: the peer, or all devices behind its bridge. */
function neighboursOf(device: Device): Device[] {
  const { peer } = device
  if (!peer) return []
  const bridge = peer.master
  if (!bridge) return [peer]
  const others = bridge.namespace.devices.filter(each => each.master === bridge && each !== peer)
  return [bridge, ...others.flatMap(each => (each.up && each.peer ? [each.peer] : []))]
}

/** As in Linux: a host answers ARP for all of its addresses on every NIC unless arp_ignore is set. */
function answers(device: Device, ip: Ip): boolean {
  if (!hasCarrier(device)) return false
  const strict = ip.family === 6 || Number(device.settings.get('ipv4.arp_ignore')) > 0
  return strict ? device.addresses.some(({ cidr }) => isIp(cidr.address, ip)) : hasAddress(device.namespace, ip)
}

export function isDuplicate(device: Device, { cidr, linkLocal }: Address): boolean {
  if (cidr.family === 4 || linkLocal || !hasCarrier(device)) return false
  return neighboursOf(device).some(other => answers(other, cidr.address))
}

export function onLink(namespace: Namespace, device: Device, gateway: Ip): boolean {
  return routesOf(namespace).some(
    route =>
      route.device === device &&
      route.gateway === undefined &&
      route.type === unicast &&
      covers(route.destination, gateway),
  )
}

export function ipOf(text: string): Ip {
  return parseIp(text) ?? { family: 4, value: 0n }
}

export function hasAddress(namespace: Namespace, ip: Ip): boolean {
  return namespace.devices.some(device => device.addresses.some(({ cidr }) => isIp(cidr.address, ip)))
}

export function isIp(a: Ip, b: Ip): boolean {
  return a.family === b.family && a.value === b.value
}

function covers(destination: string, ip: Ip): boolean {
  const cidr = parseCidr(destination)
  return destination === 'default' || (cidr !== undefined && contains(cidr, ip))
}

function prefixOf({ destination }: Route): number {
  return parseCidr(destination)?.prefix ?? 0
}

function lastOf(cidr: Cidr): string {
  const hosts = (1n << BigInt(bitsOf(cidr.family) - cidr.prefix)) - 1n
  return networkOf({
    ...cidr,
    address: { family: cidr.family, value: cidr.address.value | hosts },
    prefix: bitsOf(cidr.family),
  })
}
