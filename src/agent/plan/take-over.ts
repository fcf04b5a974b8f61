/**
 * Take-over: addresses and routes that DHCP or router advertisements gave a NIC are part of its state, and the agent
 * removes them instead of refusing the NIC. A NIC that carries the node's default route is never taken over.
 *
 * Pure. Static addresses and routes of others are not dynamic. See docs/decisions/0057-take-over.md
 */
import { type Family, hostPart } from '../../contract/address.ts'
import type { DetectedBackend } from '../backends/backend.ts'
import { backends } from '../backends/backends.ts'
import type { Settings } from '../config.ts'
import { type Change, connectedTo, fileChange, type RouteSpec } from '../state/change.ts'
import {
  type Address,
  type FileState,
  type Link,
  type Observed,
  type ObservedRoute,
  protocolKernel,
  tableMain,
} from '../state/observed.ts'
import { isOurNetworkFile } from '../state/ownership.ts'

const protocolRa = 9
const protocolDhcp = 16

/** Whether the agent may remove dynamic addresses of a NIC, of one family. */
export function takesOver({ takeover, acceptRa }: Settings, family: Family): boolean {
  return takeover === 'dynamic' && !(family === 6 && acceptRa)
}

/** Whether dynamic addresses and routes of a family are no obstacle: they are taken over, or wanted. */
export function acceptsDynamic(settings: Settings, family: Family): boolean {
  return takesOver(settings, family) || (family === 6 && settings.acceptRa)
}

/** The same for its routes. A default route is never wanted, not even from an accepted router advertisement. */
export function takesRouteOver(settings: Settings, { family, destination }: ObservedRoute): boolean {
  return takesOver(settings, family) || (settings.takeover === 'dynamic' && destination === 'default')
}

/** Leased: it has a lifetime. */
export function isDynamicAddress(address: Pick<Address, 'lifetime'>): boolean {
  return address.lifetime !== undefined
}

/** A route of the main table from DHCP or a router advertisement, or the connected route of a dynamic address. */
export function isDynamicRoute(route: ObservedRoute, link: Link, observed: Observed): boolean {
  const { table, type, devices, protocol } = route
  if (table !== tableMain || type !== 1 || devices.some(device => device !== link.ifindex)) return false
  if (protocol === protocolDhcp || protocol === protocolRa) return true
  return (
    protocol === protocolKernel &&
    observed.addresses.some(
      address =>
        address.ifindex === link.ifindex &&
        isDynamicAddress(address) &&
        connectedTo(address.cidr) === route.destination,
    )
  )
}

/** The kernel itself removes the connected route of an IPv4 address with the address, unless someone else added it. */
export function needsRemoval(route: ObservedRoute, link: Link, observed: Observed): boolean {
  if (!isDynamicRoute(route, link, observed)) return false
  const removedByKernel = observed.addresses.some(
    ({ ifindex, family, cidr, noPrefixRoute }) =>
      ifindex === link.ifindex && family === 4 && !noPrefixRoute && connectedTo(cidr) === route.destination,
  )
  return route.protocol !== protocolKernel || !removedByKernel
}

/**
 * Whether the node may depend on a default route of the device: it is in a table of others, or the kernel selects it.
 *
 * The kernel selects the lowest metric. IPv4 routes with the same metric: the kernel says which one. IPv6 routes with the
 * same metric share the traffic: a NIC is dispensable only beside a device that has an address of the node.
 */
export function isNodeDefault(
  route: ObservedRoute,
  link: Link,
  { observed, nodeAddresses }: { observed: Observed; nodeAddresses: readonly string[] },
): boolean {
  const { family } = route
  if (!isDynamicRoute(route, link, observed)) return true
  const selected = observed.defaultDevices?.[family]
  const defaults = observed.routes.filter(
    entry =>
      entry.destination === 'default' && entry.family === family && entry.table === tableMain && entry.type === 1,
  )
  const lowest = Math.min(...defaults.map(entry => entry.metric))
  const best = defaults.filter(entry => entry.metric === lowest).flatMap(entry => entry.devices)
  const others = best.filter(device => device !== link.ifindex)
  if (family === 4) return selected === link.ifindex || (best.includes(link.ifindex) && !others.includes(selected ?? 0))
  const hasNodeAddress = (device: number) =>
    observed.addresses.some(({ ifindex, cidr }) => ifindex === device && nodeAddresses.includes(hostPart(cidr)))
  return (selected === link.ifindex || best.includes(link.ifindex)) && !others.some(hasNodeAddress)
}

/** Why networkd goes on with a file of others; undefined when it does not, or when a reload gives it ours. */
export function whyNotHandedOver(
  link: Link,
  { networkdFiles, networkdChanged }: Observed,
  backend: DetectedBackend['kind'],
): string | undefined {
  const file = networkdFiles?.[link.ifindex]
  if (file === undefined || isOurNetworkFile(file)) return undefined
  const start = `systemd-networkd configures ${link.name} by ${file}`
  if (backend === 'unknown' || !backends[backend].readByNetworkd)
    return `${start}, but the network manager of this node is ${backend}. Remove that file`
  return networkdChanged === undefined
    ? undefined
    : `${start} and cannot be reloaded for it: ${networkdChanged} has changed since systemd-networkd read it. Restart systemd-networkd`
}

/**
 * networkd still applies a file of others to a NIC that an older run configured: writing our file once more hands the NIC
 * over.
 */
export function withHandOver(
  changes: readonly Change[],
  files: Readonly<Record<string, FileState | undefined>>,
  loaded: string | undefined,
): Change[] {
  const path = Object.keys(files).find(name => isOurNetworkFile(name) && files[name] !== undefined)
  const isPlanned = changes.some(change => change.kind === 'file' && change.path === path)
  if (path === undefined || isPlanned || loaded === undefined || isOurNetworkFile(loaded)) return [...changes]
  return [...changes, fileChange(path, files[path], files[path])]
}

/** For the report: what the changes took over. Undefined when that is nothing. */
export function describeTakeOver(changes: readonly Change[]): string | undefined {
  const addresses = changes.flatMap(change =>
    change.kind === 'address' && change.op === 'remove' && isDynamicAddress(change.address) ? change.address.cidr : [],
  )
  const routes = changes.flatMap(change =>
    change.kind === 'route' && change.op === 'remove' && isForeign(change.route) ? describe(change.route) : [],
  )
  const parts = [
    ...(addresses.length > 0 ? [`address ${addresses.join(', ')}`] : []),
    ...(routes.length > 0 ? [`route ${routes.join(', ')}`] : []),
  ]
  return parts.length > 0 ? `taken over from DHCP or router advertisements: ${parts.join('; ')}` : undefined
}

/** The agent's own routes in the main table have a source. */
function isForeign({ table, from }: RouteSpec): boolean {
  return table === tableMain && from === undefined
}

function describe(route: RouteSpec): string {
  const { destination, gateway } = route
  return gateway === undefined ? destination : `${destination} via ${gateway}`
}
