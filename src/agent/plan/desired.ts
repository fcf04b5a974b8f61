/**
 * The desired state of each NIC, derived from the request: addresses, routes, rules and sysctls.
 *
 * Pure.
 */

import { bitsOf, type Cidr, contains, formatIp, type Ip, overlaps, parseCidr, parseIp } from '../../contract/address.ts'
import { addressesOf, type Interface } from '../../contract/interfaces.ts'
import { nicRoutes } from '../../contract/nic-routes.ts'
import { type Neighbourhood, packetSources } from '../../contract/packet-sources.ts'
import { mainMetricOf, nicTable, slotMark } from '../../contract/routing-scheme.ts'
import type { Settings } from '../config.ts'
import type { NodeNetworks } from '../observe/node-networks.ts'
import { familyOf, type RouteSpec } from '../state/change.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import type { MarkedNic } from '../state/nftables.ts'
import { type Link, protocolStatic, tableMain } from '../state/observed.ts'
import { nicRules } from './policy-routing.ts'
import { expectedLookups, lookupTargets } from './route-lookups.ts'

/** IPv6 has no metric 0: the kernel uses this one instead. */
const defaultMetric6 = 1024

interface Requested {
  nic: Interface
  cidrs: Cidr[]
}

/** `slots`: the slot of each NIC by its MAC address, where it is not its index. */
export function desiredNics(
  interfaces: readonly Interface[],
  settings: Settings,
  node: NodeNetworks,
  slots: ReadonlyMap<string, number> = new Map(),
): DesiredNic[] {
  const sorted = [...interfaces].sort((a, b) => a.index - b.index)
  const cidrsOf = (nic: Interface) => addressesOf(nic).flatMap(text => parseCidr(text) ?? [])
  const requested = sorted.map(nic => ({ nic, cidrs: cidrsOf(nic) }))
  const targets = lookupTargets(sorted, node.addresses)
  const nics = requested.map(entry => {
    const { nic } = entry
    const base = {
      index: nic.index,
      name: nic.name,
      macAddress: nic.macAddress,
      ...(nic.portId === undefined ? {} : { portId: nic.portId }),
      ...(nic.mtu === undefined ? {} : { mtu: nic.mtu }),
      table: nicTable(settings.tableBase, nic.index),
      addresses: addressesOf(nic).map(cidr => ({ cidr, noPrefixRoute: settings.policyRouting })),
      prefixMetric: mainMetricOf(nic.index, undefined),
      sysctls: sysctlsOf(settings),
      acceptRa: settings.acceptRa,
      ...altnameEntry(nic.portId),
    }
    const slot = slots.get(nic.macAddress) ?? nic.index
    return settings.policyRouting
      ? { ...base, ...routingOf(entry, requested, { settings, node, slot }) }
      : { ...base, routes: [], rules: [], onlyBound: [], marked: unmarked(nic.name, slot) }
  })
  return nics.map(nic => {
    const wanted = settings.policyRouting ? (targets.get(nic.index) ?? []) : []
    return { ...nic, lookups: expectedLookups(nic, nics, wanted, node) }
  })
}

function unmarked(name: string, slot: number): MarkedNic {
  return { name, slot, sources: [], networks: [] }
}

function altnameEntry(portId: string | undefined): Pick<DesiredNic, 'altname'> {
  const altname = altnameOf(portId)
  return altname === undefined ? {} : { altname }
}

/** Routes in the NIC's own table and in the main table, rules, and the packets that get its mark. */
function routingOf(
  { nic, cidrs }: Requested,
  requested: readonly Requested[],
  { settings, node, slot }: { settings: Settings; node: NodeNetworks; slot: number },
): Pick<DesiredNic, 'routes' | 'rules' | 'onlyBound' | 'marked'> {
  const table = nicTable(settings.tableBase, nic.index)
  const others = requested.flatMap(({ nic: other, cidrs: networks }) =>
    other === nic
      ? []
      : networks
          .filter(network => network.prefix < bitsOf(network.family))
          .map(network => ({ index: other.index, network })),
  )
  const around: Neighbourhood = { others, reservedBy: node.reservedBy }
  const own = routesOf(nic, cidrs, around, { table, metric: settings.metric + nic.index })
  const { main, onlyBound } = mainRoutes(own, nic.index, node)
  const sources = packetSources(nic.index, cidrs, around)
  const mask = settings.markMask
  const pairs = (nic.allowedAddressPairs ?? []).filter(cidr => !isReserved(cidr, node))
  const connected = main.filter(({ gateway }) => gateway === undefined)
  return {
    routes: [...own, ...main],
    rules: nicRules({ index: nic.index, name: nic.name, table, mark: slotMark(slot, mask), mask }, sources),
    onlyBound,
    marked: {
      name: nic.name,
      slot,
      // Of a shared subnet the rules know the addresses; its other addresses may be those of any NIC in it.
      sources: [
        ...sources.filter(({ cidr }) => !isSharedNetwork(cidr, sources)),
        ...pairs.map(cidr => ({ family: familyOf(cidr), cidr })),
      ],
      networks: connected.map(({ family, destination }) => ({ family, cidr: destination })),
    },
  }
}

/** A pair that covers an address of the node or of a Pod says nothing about the addresses of the NIC. */
function isReserved(text: string, node: NodeNetworks): boolean {
  const cidr = parseCidr(text)
  return cidr === undefined || node.reservedBy(cidr) !== undefined
}

function isSharedNetwork(cidr: string, sources: readonly { sharedNetwork?: string }[]): boolean {
  return sources.some(({ sharedNetwork }) => sharedNetwork === cidr)
}

/** The networks and requested routes of a NIC in the main table: Pods and sockets without an address find the NIC there. */
function mainRoutes(
  own: readonly RouteSpec[],
  index: number,
  node: NodeNetworks,
): { main: RouteSpec[]; onlyBound: DesiredNic['onlyBound'] } {
  const main: RouteSpec[] = []
  const onlyBound: DesiredNic['onlyBound'] = []
  for (const route of own) {
    // The default route of the node stays the only one.
    const network = parseCidr(route.destination)
    if (!network) continue
    const because = node.reservedBy(network)
    if (because === undefined) main.push({ ...route, table: tableMain, metric: mainMetricOf(index, route.gateway) })
    else onlyBound.push({ network: route.destination, because })
  }
  return { main, onlyBound }
}

/** The kernel limits altnames to 127 characters; only characters that need no quoting are used. */
export function altnameOf(portId: string | undefined): string | undefined {
  return portId !== undefined && /^[A-Za-z0-9][A-Za-z0-9._-]{0,126}$/.test(portId) ? portId : undefined
}

export function hasMacAltname({ name, altnames, macAddress }: Link): boolean {
  return [name, ...altnames].includes(`enx${macAddress.replaceAll(':', '')}`)
}

function routesOf(
  nic: Interface,
  cidrs: readonly Cidr[],
  around: Neighbourhood,
  { table, metric }: Pick<RouteSpec, 'table' | 'metric'>,
): RouteSpec[] {
  return nicRoutes(nic, cidrs).map(({ family, destination, gateway, address }) => {
    const via = gateway === undefined ? undefined : parseIp(gateway)
    return {
      family,
      table,
      destination,
      metric: family === 6 && metric === 0 ? defaultMetric6 : metric,
      onlink: via !== undefined && isOnLink(via, cidrs, around),
      protocol: protocolStatic,
      ...(gateway === undefined ? {} : { gateway }),
      // The kernel refuses a tentative IPv6 address as preferred source, and selects it on its own once DAD has ended.
      ...(address?.family === 4 ? { source: formatIp(address.address) } : {}),
    }
  })
}

/**
 * A daemon adds the routes of a link that comes up again in any order: with the flag, the kernel accepts a router before the
 * route to its network. An IPv6 router must then not be in the network of another device. A link-local one needs no flag.
 */
function isOnLink(router: Ip, cidrs: readonly Cidr[], { others, reservedBy }: Neighbourhood): boolean {
  if (router.family === 4) return true
  if (isLinkLocal(router)) return false
  const networks = cidrs.filter(cidr => contains(cidr, router))
  return networks.every(
    cidr => reservedBy(cidr) === undefined && !others.some(({ network }) => overlaps(network, cidr)),
  )
}

function isLinkLocal({ family, value }: Ip): boolean {
  return family === 6 && value >> 118n === 0x3fan
}

function sysctlsOf(settings: Settings): Record<string, string> {
  return {
    'ipv4.arp_ignore': '1',
    'ipv4.arp_announce': '2',
    'ipv4.rp_filter': '2',
    // A single router advertisement would add a default route to the main table.
    ...(settings.acceptRa ? { 'ipv6.accept_ra_defrtr': '0' } : { 'ipv6.accept_ra': '0', 'ipv6.autoconf': '0' }),
  }
}
