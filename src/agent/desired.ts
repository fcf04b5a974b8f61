/**
 * The desired state of each NIC, derived from the request: addresses, routes, rules and sysctls.
 *
 * Pure.
 */
import {
  bitsOf,
  type Cidr,
  canonical,
  contains,
  type Family,
  networkOf,
  parseCidr,
  parseIp,
} from '../contract/address.ts'
import { addressesOf, type Interface } from '../contract/interfaces.ts'
import type { AddressSpec, RouteSpec, SourceRule } from './change.ts'
import type { Settings } from './config.ts'
import type { NodeNetworks } from './node-networks.ts'
import { type Link, protocolStatic } from './observed.ts'
import { boundRules, hasGlobalRouter, hostOf, isLinkLocal, unboundRoutes, unboundRules } from './policy-routing.ts'
import { type ExpectedLookup, expectedLookups, lookupTargets } from './route-lookups.ts'

export interface DesiredNic {
  index: number
  name: string
  macAddress: string
  portId?: string
  mtu?: number
  table: number
  addresses: AddressSpec[]
  routes: RouteSpec[]
  rules: SourceRule[]
  sysctls: Record<string, string>
  acceptRa: boolean
  /** Networks that only sockets bound to an address of the NIC reach over it. */
  onlyBound: { network: string; because: string }[]
  /** Which way packets must take. */
  lookups: ExpectedLookup[]
  altname?: string
  /** udev gives NICs of this host an altname with their MAC address, as it does by default since systemd 256. */
  macAltname?: true
}

/** IPv6 has no metric 0: the kernel uses this one instead. */
const defaultMetric6 = 1024

export function desiredNics(interfaces: readonly Interface[], settings: Settings, node: NodeNetworks): DesiredNic[] {
  const sorted = [...interfaces].sort((a, b) => a.index - b.index)
  // Stryker disable next-line ArrayDeclaration: the contract accepts only addresses that can be read.
  const cidrsOf = (nic: Interface) => addressesOf(nic).flatMap(text => parseCidr(text) ?? [])
  const requested = sorted.map(nic => ({ nic, cidrs: cidrsOf(nic) }))
  const networks = requested.flatMap(({ cidrs }) => cidrs).filter(cidr => cidr.prefix < bitsOf(cidr.family))
  // Without the flag noprefixroute, the main table has the networks of all NICs too.
  // Stryker disable next-line ArrayDeclaration: a text is no network.
  const inMain = settings.noPrefixRoute ? [] : networks
  const overOtherNics = [...node.overOtherNics, ...inMain]
  const targets = lookupTargets(sorted, node.addresses)
  const nics = requested.map(({ nic, cidrs }) => {
    const table = settings.tableBase + nic.index
    const altname = altnameOf(nic.portId)
    const routes = settings.policyRouting ? routesOf(nic, cidrs, table, settings.metric + nic.index) : []
    const { unbound, onlyBound } = splitBySource(routes, node, [
      ...node.overOtherNics,
      // Stryker disable next-line ArrayDeclaration: a text is no network.
      ...requested.flatMap(other => (other.nic === nic ? [] : other.cidrs)),
    ])
    return {
      index: nic.index,
      name: nic.name,
      macAddress: nic.macAddress,
      ...(nic.portId === undefined ? {} : { portId: nic.portId }),
      ...(nic.mtu === undefined ? {} : { mtu: nic.mtu }),
      table,
      addresses: addressesOf(nic).map(cidr => ({
        cidr,
        noPrefixRoute: settings.noPrefixRoute && settings.policyRouting,
      })),
      routes: [...routes, ...unboundRoutes(unbound)],
      rules: settings.policyRouting
        ? [...cidrs.flatMap(cidr => boundRules(cidr, table, overOtherNics)), ...unboundRules(unbound, nic.index)]
        : [],
      sysctls: sysctlsOf(settings),
      acceptRa: settings.acceptRa,
      onlyBound,
      unbound,
      ...(altname === undefined ? {} : { altname }),
    }
  })
  return nics.map(nic => {
    const { unbound: _, ...desired } = nic
    // Stryker disable next-line ArrayDeclaration: every NIC has a list of targets.
    const wanted = settings.policyRouting ? (targets.get(nic.index) ?? []) : []
    return { ...desired, lookups: expectedLookups(nic, nics, wanted, node.addresses) }
  })
}

/** The kernel limits altnames to 127 characters; only characters that need no quoting are used. */
export function altnameOf(portId: string | undefined): string | undefined {
  // Stryker disable next-line ConditionalExpression: without a port, both cases are undefined.
  return portId !== undefined && /^[A-Za-z0-9][A-Za-z0-9._-]{0,126}$/.test(portId) ? portId : undefined
}

export function hasMacAltname({ name, altnames, macAddress }: Link): boolean {
  return [name, ...altnames].includes(`enx${macAddress.replaceAll(':', '')}`)
}

function routesOf(nic: Interface, cidrs: readonly Cidr[], table: number, metric: number): RouteSpec[] {
  const routes = new Map<string, RouteSpec>()
  const add = (family: Family, destination: string, more: Partial<RouteSpec>) => {
    const key = `${family} ${destination}`
    if (routes.has(key)) return
    routes.set(key, {
      family,
      table,
      destination,
      metric: family === 6 && metric === 0 ? defaultMetric6 : metric,
      onlink: false,
      protocol: protocolStatic,
      ...more,
    })
  }
  for (const cidr of cidrs) {
    if (cidr.prefix === bitsOf(cidr.family)) continue
    // The kernel refuses a tentative IPv6 address as preferred source, and selects it on its own once DAD has ended.
    const source = cidr.family === 4 ? { source: hostOf(cidr) } : {}
    add(cidr.family, networkOf(cidr), source)
  }
  for (const { destination, nexthop } of gatewayRoutes(nic)) {
    const [to, via] = [parseCidr(destination), parseIp(nexthop)]
    if (!to || !via || !cidrs.some(cidr => cidr.family === via.family)) continue
    const direct = cidrs.some(cidr => contains(cidr, via)) || isLinkLocal(via)
    add(to.family, to.prefix === 0 ? 'default' : networkOf(to), {
      gateway: canonical(nexthop) ?? nexthop,
      onlink: !direct,
    })
  }
  return [...routes.values()]
}

/** The gateway as a route, and the requested routes. */
export function gatewayRoutes(nic: Interface): { destination: string; nexthop: string }[] {
  const everything = nic.gateway?.includes(':') ? '::/0' : '0.0.0.0/0'
  return [...(nic.gateway ? [{ destination: everything, nexthop: nic.gateway }] : []), ...(nic.routes ?? [])]
}

/** The networks of a NIC that packets without a source may use, and those for which only bound sockets use the NIC. */
function splitBySource(
  routes: readonly RouteSpec[],
  node: NodeNetworks,
  otherNetworks: readonly Cidr[],
): { unbound: RouteSpec[]; onlyBound: DesiredNic['onlyBound'] } {
  const unbound: RouteSpec[] = []
  const onlyBound: DesiredNic['onlyBound'] = []
  for (const route of routes) {
    // The default route of the node serves packets without a source.
    const network = parseCidr(route.destination)
    if (!network) continue
    const because = node.reservedBy(network) ?? noSourceRoute(route, node) ?? sharedRouter(route, otherNetworks)
    if (because === undefined) unbound.push(route)
    else onlyBound.push({ network: route.destination, because })
  }
  return { unbound, onlyBound }
}

function noSourceRoute({ family }: RouteSpec, { sourceRoutes }: NodeNetworks): string | undefined {
  return family === 6 && !sourceRoutes ? 'needs a kernel with CONFIG_IPV6_SUBTREES' : undefined
}

/** The kernel accepts a router for packets without a source only on the device that it selects for the router itself. */
function sharedRouter(route: RouteSpec, otherNetworks: readonly Cidr[]): string | undefined {
  // Stryker disable next-line StringLiteral: a route with a router has a gateway.
  const router = hasGlobalRouter(route) ? parseIp(route.gateway ?? '') : undefined
  if (!router || !otherNetworks.some(network => contains(network, router))) return undefined
  return `has the router ${route.gateway}, which is also in the network of another NIC`
}

function sysctlsOf(settings: Settings): Record<string, string> {
  return {
    ...(settings.arpSysctls ? { 'ipv4.arp_ignore': '1', 'ipv4.arp_announce': '2' } : {}),
    ...(settings.looseRpFilter ? { 'ipv4.rp_filter': '2' } : {}),
    // A single router advertisement would add a default route to the main table.
    ...(settings.acceptRa ? { 'ipv6.accept_ra_defrtr': '0' } : { 'ipv6.accept_ra': '0', 'ipv6.autoconf': '0' }),
  }
}
