/**
 * The link-local addresses and routes of a NIC, on hosts with NetworkManager: after an apply they are those that
 * NetworkManager creates from our profile at boot.
 *
 * Pure.
 */
import type { RouteSpec } from './change.ts'
import { type Address, type Link, type ObservedRoute, permanentMacOf, protocolKernel, tableMain } from './observed.ts'

const network = 'fe80::/64'
/** Of the route that the kernel adds with a link-local address. */
export const kernelMetric = 256
/** Of the one that NetworkManager adds. */
export const managerMetric = 1024

export function linkLocalRouteIn(table: number, metric: number): RouteSpec {
  return { family: 6, table, destination: network, metric, onlink: false, protocol: protocolKernel }
}

export function isLinkLocalRoute(route: Pick<ObservedRoute, 'destination' | 'protocol'>): boolean {
  return route.protocol === protocolKernel && route.destination === network
}

/**
 * NetworkManager leaves its own link-local address on a device that it releases, with a random interface identifier. The
 * kernel and our profile derive it from the MAC address.
 */
export function isLeftByManager({ linkLocal, noPrefixRoute, cidr }: Address, link: Link): boolean {
  return linkLocal && noPrefixRoute && cidr !== `${derivedAddress(permanentMacOf(link))}/64`
}

export function isRouteLeftByManager(route: ObservedRoute): boolean {
  return isLinkLocalRoute(route) && route.table === tableMain && route.metric === managerMetric
}

/** EUI-64. */
function derivedAddress(macAddress: string): string {
  const [first = 0, ...rest] = macAddress.split(':').map(pair => Number.parseInt(pair, 16))
  const bytes = [first ^ 2, ...rest.slice(0, 2), 0xff, 0xfe, ...rest.slice(2)]
  const groups = [0, 2, 4, 6].map(at => (((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16))
  return `fe80::${groups.join(':')}`
}
