/**
 * What a NIC is asked to be, in the kernel's own terms: addresses, routes, rules and settings.
 *
 * Pure. `reserved` says which networks must keep their way out (the primary's subnet, the node's and the API server's).
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
import type { AddressSpec, RouteSpec, RuleSpec } from './change.ts'
import type { Settings } from './config.ts'
import { protocolStatic } from './observed.ts'

export interface WantedNic {
  id: number
  name: string
  mac: string
  portId?: string
  mtu?: number
  table: number
  addresses: AddressSpec[]
  routes: RouteSpec[]
  rules: RuleSpec[]
  sysctls: Record<string, string>
  acceptRa: boolean
  altname?: string
}

/** Rules of table T have this priority, before the kernel's main table (32766). */
export function priorityOf(table: number): number {
  return 10_000 + table
}

/** IPv6 has no metric 0: the kernel makes it 1024. */
const metricOfZeroV6 = 1024

export function wantedNics(
  interfaces: readonly Interface[],
  settings: Settings,
  reserved: (network: Cidr) => boolean,
): WantedNic[] {
  const claimed = new Set<string>()
  return [...interfaces]
    .sort((a, b) => a.index - b.index)
    .map(nic => {
      const cidrs = addressesOf(nic).flatMap(text => parseCidr(text) ?? [])
      const table = settings.tableBase + nic.index
      const altname = altnameOf(nic.portId)
      return {
        id: nic.index,
        name: nic.name,
        mac: nic.macAddress,
        ...(nic.portId === undefined ? {} : { portId: nic.portId }),
        ...(nic.mtu === undefined ? {} : { mtu: nic.mtu }),
        table,
        addresses: addressesOf(nic).map(cidr => ({
          cidr,
          noPrefixRoute: settings.noPrefixRoute && settings.policyRouting,
        })),
        routes: settings.policyRouting ? routesOf(nic, cidrs, table, settings.metric + nic.index) : [],
        rules: settings.policyRouting ? rulesOf(cidrs, table, claimed, reserved) : [],
        sysctls: sysctlsOf(settings),
        acceptRa: settings.acceptRa,
        ...(altname === undefined ? {} : { altname }),
      }
    })
}

/** Altnames are limited by the kernel (127 characters), and by us to what needs no quoting. */
export function altnameOf(portId: string | undefined): string | undefined {
  return portId !== undefined && /^[A-Za-z0-9][A-Za-z0-9._-]{0,126}$/.test(portId) ? portId : undefined
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
      metric: family === 6 && metric === 0 ? metricOfZeroV6 : metric,
      onlink: false,
      protocol: protocolStatic,
      ...more,
    })
  }
  for (const cidr of cidrs) {
    if (cidr.prefix === bitsOf(cidr.family)) continue
    // The kernel refuses a tentative IPv6 address as a preferred source, and picks it by itself once DAD is over.
    const source = cidr.family === 4 ? { source: hostOf(cidr) } : {}
    add(cidr.family, networkOf(cidr), source)
  }
  for (const { destination, nexthop } of throughRouters(nic)) {
    const [to, via] = [parseCidr(destination), parseIp(nexthop)]
    if (!to || !via || !cidrs.some(cidr => cidr.family === via.family)) continue
    const direct = cidrs.some(cidr => contains(cidr, via)) || isLinkLocal(via.family, via.value)
    add(to.family, to.prefix === 0 ? 'default' : networkOf(to), {
      gateway: canonical(nexthop) ?? nexthop,
      onlink: !direct,
    })
  }
  return [...routes.values()]
}

function throughRouters(nic: Interface): { destination: string; nexthop: string }[] {
  const everything = nic.gateway?.includes(':') ? '::/0' : '0.0.0.0/0'
  return [...(nic.gateway ? [{ destination: everything, nexthop: nic.gateway }] : []), ...(nic.routes ?? [])]
}

function rulesOf(
  cidrs: readonly Cidr[],
  table: number,
  claimed: Set<string>,
  reserved: (network: Cidr) => boolean,
): RuleSpec[] {
  const rules: RuleSpec[] = []
  const common = { table, priority: priorityOf(table), protocol: protocolStatic }
  for (const cidr of cidrs) {
    rules.push({ family: cidr.family, from: `${hostOf(cidr)}/${bitsOf(cidr.family)}`, ...common })
    const network = networkOf(cidr)
    if (claimed.has(network) || cidr.prefix === bitsOf(cidr.family) || reserved(cidr)) continue
    claimed.add(network)
    rules.push({ family: cidr.family, to: network, ...common })
  }
  return rules
}

function sysctlsOf(settings: Settings): Record<string, string> {
  return {
    ...(settings.arpSysctls ? { 'ipv4.arp_ignore': '1', 'ipv4.arp_announce': '2' } : {}),
    ...(settings.looseRpFilter ? { 'ipv4.rp_filter': '2' } : {}),
    // One router advertisement would put a default route into the main table.
    ...(settings.acceptRa ? { 'ipv6.accept_ra_defrtr': '0' } : { 'ipv6.accept_ra': '0', 'ipv6.autoconf': '0' }),
  }
}

function hostOf(cidr: Cidr): string {
  return networkOf({ ...cidr, prefix: bitsOf(cidr.family) }).split('/')[0] ?? ''
}

function isLinkLocal(family: Family, value: bigint): boolean {
  return family === 6 && value >> 118n === 0x3fan
}
