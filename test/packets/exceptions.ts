/**
 * The stated limits of the rules: what other routes and clouds do to a row, and why.
 *
 * Pure.
 */
import type { Family, Name } from './addresses.ts'
import type { Device, Exception } from './expectations.ts'
import type { Vpn } from './vpns.ts'

const wgQuick: Vpn = 'wg-quick full tunnel'
const tunnel10: Vpn = '10/8 and fc00::/7 over a tunnel'
const halves: Vpn = 'OpenVPN halves'
const blackhole: Vpn = 'blackhole 10/8 and fd00::/8'
const moreSpecific: Vpn = 'more specific routes into N'

/** The request goes through the router between the networks. */
export const noRouter: Exception = {
  filters: ['isolated'],
  because: 'the cloud has no router between the networks',
  device: 'none',
}

/** The node sends the first packet itself. */
export function noRouterAfter(device: Device): Exception {
  return { ...noRouter, device }
}

export const fullTunnel: Exception = {
  vpns: [wgQuick],
  because: 'the rules of wg-quick come before all others, and its default route leads into the tunnel',
  device: 'tunnel',
}

/** wg-quick asks the main table, without its default route, before our rules. */
export function mainFirst(device: Device, source: Name, families: readonly Family[] = [4, 6]): Exception[] {
  const because = 'the rules of wg-quick ask the main table first, and that leads to another NIC'
  const unfiltered = { vpns: [wgQuick], filters: ['none'] as const, device }
  return [
    families.length === 2 ? { ...unfiltered, because, source } : { ...unfiltered, family: 6, because, source },
    { vpns: [wgQuick], because: `${because}, whose port drops the source`, device },
  ]
}

export const noRouteBack: Exception = {
  vpns: [blackhole],
  because: 'the node has no route to the client: the blackhole covers it',
  device: 'none',
}

/** The reverse lookup of a packet from N to P finds N in the main table first. */
export const strictPrimary: Exception = {
  vpns: [wgQuick],
  family: 4,
  because: "the primary's strict reverse path filter asks the main table first",
  device: 'none',
}

/** The same for the reply to P. */
export const strictPrimaryReply: Exception = { ...strictPrimary, filters: ['none'], device: 'A' }

/** The request of a forwarded connection; IPv6 has no reverse path filter. */
export const noReversePath: Exception = {
  ...noRouteBack,
  family: 4,
  because: 'the reverse path filter finds the blackhole',
}

export const coveredByTunnel: Exception = {
  vpns: [moreSpecific],
  because: 'a route that is more specific than N wins',
  device: 'tunnel',
}

/** Packets of the node or a Pod, without a NIC involved: the VPN decides, as on a node without NICs. */
export const vpnDecides: readonly Exception[] = [
  {
    vpns: [tunnel10, halves, wgQuick],
    because: 'the VPN takes the packet, as on a node without NICs',
    device: 'tunnel',
  },
  noRouteBack,
]

/** The reply to a client behind the primary's gateway, which the primary's strict reverse path filter checks. */
export const vpnDecidesReply: readonly Exception[] = [
  {
    vpns: [tunnel10, halves, wgQuick],
    family: 4,
    because: "the primary's strict reverse path filter drops the request, as on a node without NICs",
    device: 'none',
  },
  ...vpnDecides,
]

/** A new connection from the address of a NIC. */
export const tunnelFromNic: Exception = {
  vpns: [tunnel10],
  family: 4,
  because: 'a new connection uses a tunnel whose route is not shorter than /8',
  device: 'tunnel',
}

/** To a host behind the gateway of the NIC. */
export const fromNicFar: readonly Exception[] = [fullTunnel, noRouteBack, tunnelFromNic]
