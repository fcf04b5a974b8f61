/**
 * The networks that the node itself uses: those that packets from a NIC's address must not reach by another NIC, and those
 * that packets without a source must not leave.
 *
 * Pure.
 */
import { type Cidr, contains, hostPart, networkOf, overlaps, parseCidr, parseIp } from '../contract/address.ts'
import type { Settings } from './config.ts'
import { type Observed, type ObservedRoute, protocolStatic, tableMain } from './observed.ts'
import { unspecified6 } from './policy-routing.ts'

export interface NodeNetworks {
  /** The node's own addresses, in canonical notation. */
  addresses: readonly string[]
  /** Networks that the main table reaches over other NICs: longest prefix first, no default routes. */
  overOtherNics: readonly Cidr[]
  /** The kernel has routes from a source. */
  sourceRoutes: boolean
  /** Why packets without a source must not use a NIC for the network; undefined when they may. */
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
const protocolRa = 9
const protocolDhcp = 16
/** Link-local and multicast networks exist on every device. */
const everywhere = ['169.254.0.0/16', '224.0.0.0/4', 'fe80::/10', 'ff00::/8'].flatMap(text => parseCidr(text) ?? [])

export function nodeNetworks(input: NodeNetworksInput): NodeNetworks {
  const { observed, ours, settings } = input
  const main = observed.routes.filter(
    route => route.table === tableMain && route.type === 1 && route.from === undefined,
  )
  const foreign = main.filter(route => !route.devices.some(device => ours.has(device)))
  const isWired = wiredDevices(input, foreign)
  const wired = foreign.filter(route => route.devices.some(isWired))
  const advertised = settings.acceptRa ? main.filter(route => route.family === 6 && !foreign.includes(route)) : []
  return {
    addresses: input.nodeAddresses,
    sourceRoutes: !observed.refusedAltnames.includes(unspecified6),
    overOtherNics: distinct([...configuredRoutes(wired), ...advertised].flatMap(networkOfRoute)),
    reservedBy: reservation(input, foreign, isWired),
  }
}

/** Whatever its kind is, the device with the node's address leads to a wire. Its default route may come later, or go. */
function wiredDevices(
  { observed, nodeAddresses }: NodeNetworksInput,
  foreign: readonly ObservedRoute[],
): (ifindex: number) => boolean {
  const uplinks = foreign.filter(route => route.destination === 'default').flatMap(route => route.devices)
  const addressed = observed.addresses.filter(({ cidr }) => nodeAddresses.includes(hostPart(cidr)))
  const wired = observed.links.filter(link => link.ethernet && wiredKinds.has(link.kind))
  const all = new Set([...uplinks, ...[...addressed, ...wired].map(({ ifindex }) => ifindex)])
  return ifindex => all.has(ifindex)
}

/**
 * Connected networks, and those that the node's network configuration reaches by a router. A CNI or a routing daemon may
 * have one route for each node or Pod of the cluster: those change all the time, and the main table decides on them.
 */
function configuredRoutes(routes: readonly ObservedRoute[]): ObservedRoute[] {
  const routers = new Set(routes.filter(route => route.destination === 'default').map(route => route.gateway))
  const configured = new Set([protocolStatic, protocolDhcp, protocolRa])
  return routes.filter(
    ({ gateway, protocol }) => gateway === undefined || configured.has(protocol) || routers.has(gateway),
  )
}

function networkOfRoute({ destination }: ObservedRoute): Cidr[] {
  const network = parseCidr(destination)
  return network && !everywhere.some(other => contains(other, network.address)) ? [network] : []
}

/** Longest prefix first, then by address. */
function distinct(networks: readonly Cidr[]): Cidr[] {
  const byText = new Map(networks.map(network => [networkOf(network), network]))
  return [...byText]
    .sort(([textA, a], [textB, b]) => b.prefix - a.prefix || (textA < textB ? -1 : 1))
    .map(([, network]) => network)
}

function reservation(
  { observed, nodeAddresses, podCIDRs = [], serviceCIDRs = [], settings }: NodeNetworksInput,
  foreign: readonly ObservedRoute[],
  isWired: (ifindex: number) => boolean,
): NodeNetworks['reservedBy'] {
  const nameOf = (route: ObservedRoute) => observed.links.find(link => link.ifindex === route.devices[0])?.name
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
    for (const route of foreign) {
      const other = parseCidr(route.destination)
      if (other?.family !== network.family) continue
      const inside = other.prefix >= network.prefix && contains(network, other.address)
      if (inside || (overlaps(network, other) && !route.devices.some(isWired)))
        return `overlaps ${route.destination} on ${nameOf(route) ?? 'another device'} in the main table`
    }
    return undefined
  }
}
