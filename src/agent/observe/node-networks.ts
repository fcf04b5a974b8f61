/**
 * The networks that the node itself uses: by which devices it reaches a wire, which networks are those of its primary NIC, and
 * which networks must not get a route by a managed NIC.
 *
 * Pure.
 */
import {
  bitsOf,
  type Cidr,
  contains,
  type Family,
  formatIp,
  hostPart,
  networkOf,
  overlaps,
  parseCidr,
  parseIp,
} from '../../contract/address.ts'
import { primaryTable } from '../../contract/routing-scheme.ts'
import type { Settings } from '../config.ts'
import { type Observed, type ObservedRoute, protocolKernel, tableMain } from '../state/observed.ts'

export interface NodeNetworks {
  /** The node's own addresses, in canonical notation. */
  addresses: readonly string[]
  /** Names of the devices by which packets reach a wire, without those of NICs. */
  wires: readonly string[]
  /** Networks of the devices with a default route. */
  primary: readonly Cidr[]
  /** The default route of the node by a router, by family; none if a table that multinic needs for it has routes of others. */
  routers: Partial<Record<Family, { gateway: string; ifindex: number }>>
  /** Why the main table must not get a route to the network; undefined when it may. */
  reservedBy(network: Cidr): string | undefined
}

export interface NodeNetworksInput {
  observed: Observed
  /** In canonical notation. */
  nodeAddresses: readonly string[]
  podCIDRs?: readonly string[]
  serviceCIDRs?: readonly string[]
  settings: Settings
  /** Devices of requested NICs, and of NICs that multinic has configured. */
  ours: ReadonlySet<number>
}

/** Kinds of devices that lead to a wire; all other kinds are bridges, tunnels and the like. Hardware has no kind. */
const wiredKinds = new Set([undefined, 'bond', 'team', 'vlan'])
/** Link-local and multicast networks exist on every device. */
const everywhere = ['169.254.0.0/16', '224.0.0.0/4', 'fe80::/10', 'ff00::/8'].flatMap(text => parseCidr(text) ?? [])

export function nodeNetworks(input: NodeNetworksInput): NodeNetworks {
  const { observed, ours, nodeAddresses } = input
  const foreign = observed.routes.filter(
    route =>
      route.table === tableMain &&
      route.type === 1 &&
      route.from === undefined &&
      !route.devices.some(device => ours.has(device)),
  )
  const uplinks = new Set(
    foreign.filter(({ destination }) => destination === 'default').flatMap(({ devices }) => devices),
  )
  return {
    addresses: nodeAddresses,
    wires: wiresOf(input, foreign, uplinks),
    primary: observed.addresses
      .filter(({ ifindex, linkLocal }) => uplinks.has(ifindex) && !linkLocal)
      .flatMap(({ cidr }) => parseCidr(cidr) ?? [])
      // Virtual addresses come and go.
      .filter(network => network.prefix < bitsOf(network.family) || nodeAddresses.includes(formatIp(network.address))),
    routers: isFree(primaryTable(input.settings.tableBase), observed)
      ? { ...routerOf(4, foreign), ...routerOf(6, foreign) }
      : {},
    reservedBy: reservation(input, foreign),
  }
}

/**
 * Whatever its kind is, a device with a default route or the node's address leads to a wire. A device that has link-local
 * routes only is one that nobody has configured.
 */
function wiresOf(
  { observed, nodeAddresses }: NodeNetworksInput,
  foreign: readonly ObservedRoute[],
  uplinks: ReadonlySet<number>,
): string[] {
  const routed = new Set(foreign.filter(route => networkOfRoute(route) !== undefined).flatMap(({ devices }) => devices))
  const addressed = observed.addresses.filter(({ cidr }) => nodeAddresses.includes(hostPart(cidr)))
  const isWire = ({ ifindex, ethernet, kind }: Observed['links'][number]) =>
    uplinks.has(ifindex) ||
    addressed.some(address => address.ifindex === ifindex) ||
    (ethernet && wiredKinds.has(kind) && routed.has(ifindex))
  return observed.links
    .filter(isWire)
    .map(({ name }) => name)
    .filter(isPlainName)
    .sort()
}

/** Names with quotes or wildcards would mean something else in a set of nftables. */
function isPlainName(name: string): boolean {
  return /^[\w.:@-]+$/.test(name)
}

/** Our own routes there have the protocol of the kernel. */
function isFree(table: number, { routes }: Observed): boolean {
  return routes.every(route => route.table !== table || (route.protocol === protocolKernel && route.type === 1))
}

/** The default route with the lowest metric, if it has one router. */
function routerOf(family: Family, foreign: readonly ObservedRoute[]): NodeNetworks['routers'] {
  const [best] = foreign
    .filter(route => route.family === family && route.destination === 'default')
    .toSorted((a, b) => a.metric - b.metric)
  const [ifindex, ...more] = best?.devices ?? []
  // An IPv4 route may have an IPv6 router.
  if (
    best?.gateway === undefined ||
    parseIp(best.gateway)?.family !== family ||
    ifindex === undefined ||
    more.length > 0
  )
    return {}
  return { [family]: { gateway: best.gateway, ifindex } }
}

function networkOfRoute({ destination }: ObservedRoute): Cidr | undefined {
  const network = parseCidr(destination)
  return network && !everywhere.some(other => contains(other, network.address)) ? network : undefined
}

function reservation(
  { observed, nodeAddresses, podCIDRs = [], serviceCIDRs = [], settings }: NodeNetworksInput,
  foreign: readonly ObservedRoute[],
): NodeNetworks['reservedBy'] {
  const linkOf = ({ devices: [device] }: ObservedRoute) => observed.links.find(link => link.ifindex === device)
  const hosts = [
    ...nodeAddresses.map(text => [text, 'the address of the node'] as const),
    ...(settings.apiServer ? [[settings.apiServer, 'the address of the API server'] as const] : []),
    ...foreign.flatMap(({ destination, gateway }) =>
      destination === 'default' && gateway ? [[gateway, 'the gateway of the node'] as const] : [],
    ),
  ]
  const clusterNetworks = [
    ...podCIDRs.map(text => [parseCidr(text), 'a network of Pods'] as const),
    ...serviceCIDRs.map(text => [parseCidr(text), 'a network of Services'] as const),
  ]
  return network => {
    for (const [text, what] of hosts) {
      const ip = parseIp(text)
      if (ip && contains(network, ip)) return `contains ${text}, ${what}`
    }
    const local = everywhere.find(other => other.family === network.family && overlaps(network, other))
    if (local) return `overlaps ${networkOf(local)}, which exists on every NIC`
    for (const [other, what] of clusterNetworks)
      if (other?.family === network.family && overlaps(network, other)) return `overlaps ${networkOf(other)}, ${what}`
    // A shorter route loses against the NIC's network, and a longer one wins: neither needs to be avoided.
    for (const route of foreign) {
      const other = parseCidr(route.destination)
      if (other?.family !== network.family || other.prefix > network.prefix || !contains(other, network.address))
        continue
      const link = linkOf(route)
      const isConnected = route.protocol === protocolKernel && link?.ethernet === true
      if (other.prefix === network.prefix || isConnected)
        return `overlaps ${route.destination} on ${link?.name ?? 'another device'} in the main table`
    }
    return undefined
  }
}
