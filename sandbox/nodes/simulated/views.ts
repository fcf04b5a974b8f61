/**
 * The JSON output of `ip -j` for the simulated kernel, with names or (`-N`) numbers.
 */
import type { Family } from '../../../src/contract/address.ts'
import { type Address, type Device, hasCarrier, type Namespace, type Route, type Rule, routesOf } from './network.ts'

export interface Style {
  /** `-N`: numbers instead of the names from rt_tables and similar files. */
  numeric: boolean
  addresses?: boolean
  /** `-f bridge`: the list of forwarding entries instead of neighbours. */
  bridge?: boolean
}

type View = Record<string, unknown>

const forever = 0xffffffff
const names = {
  table: { 253: 'default', 254: 'main', 255: 'local' },
  protocol: { 2: 'kernel', 3: 'boot', 4: 'static', 16: 'dhcp' },
  scope: { 0: 'global', 253: 'link', 254: 'host' },
  type: { 1: 'unicast', 2: 'local', 3: 'broadcast', 5: 'multicast' },
} as const satisfies Record<string, Record<number, string>>

export function linkViews({ devices }: Namespace, style: Style): View[] {
  return devices.map(device => linkView(device, style))
}

function linkView(device: Device, style: Style): View {
  const { ifindex, name, kind, macAddress, mtu, up, master, altnames, addresses } = device
  const carrier = hasCarrier(device)
  const isLoopback = kind === 'loopback'
  const [ethernet, loopback] = style.numeric ? ['[1]', '[772]'] : ['ether', 'loopback']
  return {
    ...{ ifindex, ifname: name },
    flags: [
      ...(up && !carrier ? ['NO-CARRIER'] : []),
      ...(isLoopback ? ['LOOPBACK'] : ['BROADCAST', 'MULTICAST']),
      ...(up ? ['UP', ...(carrier ? ['LOWER_UP'] : [])] : []),
    ],
    mtu,
    ...(master && { master: master.name }),
    operstate: isLoopback ? 'UNKNOWN' : carrier ? 'UP' : up ? 'LOWERLAYERDOWN' : 'DOWN',
    ...{ link_type: isLoopback ? loopback : ethernet, address: macAddress },
    ...(isLoopback ? { min_mtu: 0, max_mtu: 0 } : { min_mtu: 68, max_mtu: 65_535, linkinfo: { info_kind: kind } }),
    ...(altnames.length > 0 && { altnames: [...altnames] }),
    ...(style.addresses && { addr_info: addresses.map(each => addressView(each, isLoopback, style)) }),
  }
}

function addressView(
  { cidr, text, noPrefixRoute, linkLocal, dadFailed, lifetime }: Address,
  isHost: boolean,
  style: Style,
) {
  return {
    ...{ family: cidr.family === 4 ? 'inet' : 'inet6', local: text, prefixlen: cidr.prefix },
    scope: nameOf('scope', isHost ? 254 : linkLocal ? 253 : 0, style),
    ...(noPrefixRoute && { noprefixroute: true }),
    ...(dadFailed && { dadfailed: true }),
    ...{ valid_life_time: lifetime?.valid ?? forever, preferred_life_time: lifetime?.preferred ?? forever },
  }
}

export function routeViews(
  namespace: Namespace,
  style: Style,
  table: number | 'all' | undefined,
  routes: Route[] = routesOf(namespace),
): View[] {
  return routes
    .filter(route => table === undefined || table === 'all' || route.table === table)
    .map(route => {
      const { family, type, destination, from, gateway, device, source, metric, onlink, protocol, scope } = route
      return {
        ...((style.numeric || type !== 1) && { type: nameOf('type', type, style) }),
        dst: destination.replace(family === 4 ? /\/32$/ : /\/128$/, ''),
        ...(from !== undefined && { from: from.replace(/\/128$/, '') }),
        ...(gateway !== undefined && { gateway }),
        dev: device.name,
        ...((style.numeric || route.table !== 254) && { table: nameOf('table', route.table, style) }),
        protocol: nameOf('protocol', protocol, style),
        ...((style.numeric || scope !== 0) && { scope: nameOf('scope', scope, style) }),
        ...(source !== undefined && { prefsrc: source }),
        ...((metric > 0 || family === 6) && { metric }),
        flags: onlink ? ['onlink'] : [],
        ...(family === 6 && { pref: 'medium' }),
      }
    })
}

export function ruleViews({ rules }: Namespace, style: Style, family: Family): View[] {
  return rules.filter(rule => rule.family === family).map(rule => ruleView(rule, style))
}

function ruleView(rule: Rule, style: Style): View {
  const { priority, from, to, iif, fwmark, table, suppressPrefixLength, not, nop, goto, protocol } = rule
  const [source, target] = [splitPrefix(from), splitPrefix(to)]
  return {
    priority,
    ...(not && { not: null }),
    ...{ src: source?.address ?? 'all', ...(source?.length !== undefined && { srclen: source.length }) },
    ...(target && { dst: target.address, ...(target.length !== undefined && { dstlen: target.length }) }),
    ...(iif !== undefined && { iif }),
    ...(fwmark !== undefined && { fwmark: fwmark.split('/')[0], fwmask: fwmark.split('/')[1] }),
    ...(nop && { nop: null }),
    ...(goto !== undefined && { goto }),
    ...(!nop && goto === undefined && { table: nameOf('table', table, style) }),
    ...(suppressPrefixLength !== undefined && { suppress_prefixlen: suppressPrefixLength }),
    ...((style.numeric || protocol !== 2) && { protocol: nameOf('protocol', protocol, style) }),
  }
}

export function neighbourViews({ neighbours }: Namespace): View[] {
  return neighbours.map(({ address, device, macAddress }) => ({
    ...{ dst: address, dev: device.name },
    ...(macAddress ? { lladdr: macAddress, state: ['REACHABLE'] } : { state: ['FAILED'] }),
  }))
}

/** iproute2 omits the prefix length of a host address. */
function splitPrefix(cidr: string | undefined): { address: string; length?: number } | undefined {
  if (cidr === undefined) return undefined
  const [address = '', length = ''] = cidr.split('/')
  return Number(length) === (address.includes(':') ? 128 : 32) ? { address } : { address, length: Number(length) }
}

function nameOf(kind: keyof typeof names, number: number, { numeric }: Style): string {
  const known: Record<number, string> = names[kind]
  return numeric ? String(number) : (known[number] ?? String(number))
}
