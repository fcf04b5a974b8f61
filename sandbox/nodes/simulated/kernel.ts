/**
 * A simulated kernel: operations on devices, addresses, routes and rules, with the errors and side effects of the Linux kernel.
 */
import { bitsOf, type Family, networkOf, parseCidr } from '../../../src/contract/address.ts'
import {
  type Address,
  type Device,
  hasAddress,
  ipOf,
  isDuplicate,
  isIp,
  kernelProtocol,
  type Namespace,
  onLink,
  type Route,
  type Rule,
  routesOf,
} from './network.ts'

/** An error with the message of the kernel or iproute2. */
export class KernelError extends Error {}

const defaultSettings: Record<string, string> = {
  'ipv4.arp_announce': '0',
  'ipv4.arp_ignore': '0',
  'ipv4.promote_secondaries': '1',
  'ipv4.rp_filter': '0',
  'ipv6.accept_ra': '1',
  'ipv6.accept_ra_defrtr': '1',
  'ipv6.addr_gen_mode': '0',
  'ipv6.autoconf': '1',
}

export function createNamespace(name: string): Namespace {
  const rule = (family: Family, priority: number, table: number): Rule => ({
    ...{ family, priority, table, protocol: kernelProtocol },
  })
  const namespace: Namespace = {
    name,
    devices: [],
    routes: [],
    rules: [rule(4, 0, 255), rule(4, 32_766, 254), rule(4, 32_767, 253), rule(6, 0, 255), rule(6, 32_766, 254)],
    neighbours: [],
    tables: new Map(),
    nextIndex: 1,
  }
  const lo = addDevice(namespace, { name: 'lo', kind: 'loopback', macAddress: '00:00:00:00:00:00', mtu: 65_536 })
  lo.up = true
  lo.linkLocal = false
  for (const text of ['127.0.0.1/8', '::1/128']) lo.addresses.push(addressOf(text))
  return namespace
}

export function addDevice(
  namespace: Namespace,
  { name, kind, macAddress, mtu }: Pick<Device, 'name' | 'kind' | 'macAddress' | 'mtu'>,
): Device {
  assertNameFree(namespace, name)
  const device: Device = {
    ...{ namespace, ifindex: namespace.nextIndex++, name, kind, macAddress, mtu },
    ...{ up: false, linkLocal: true, altnames: [], addresses: [], settings: new Map(Object.entries(defaultSettings)) },
  }
  namespace.devices.push(device)
  return device
}

/** Removes both ends of a veth pair. */
export function removeDevice(device: Device): void {
  const { namespace, peer } = device
  namespace.devices = namespace.devices.filter(each => each !== device)
  namespace.routes = namespace.routes.filter(route => route.device !== device)
  namespace.neighbours = namespace.neighbours.filter(each => each.device !== device)
  delete device.peer
  if (peer?.peer) removeDevice(peer)
}

export function rename(device: Device, name: string): void {
  if (device.name === name) return
  assertNameFree(device.namespace, name)
  device.name = name
}

export function addAltname(device: Device, altname: string): void {
  assertNameFree(device.namespace, altname)
  device.altnames.push(altname)
}

export function setMtu(device: Device, mtu: number): void {
  if (mtu < 68) throw new KernelError('Error: mtu less than device minimum.')
  if (mtu > 65_535) throw new KernelError('Error: mtu greater than device maximum.')
  device.mtu = mtu
}

export function setUp(device: Device, up: boolean): void {
  if (device.up === up) return
  device.up = up
  if (up) {
    if (device.linkLocal) device.addresses.push(addressOf(`${linkLocalOf(device.macAddress)}/64`))
    for (const address of device.addresses) address.dadFailed = isDuplicate(device, address)
    return
  }
  const { namespace } = device
  namespace.routes = namespace.routes.filter(route => route.device !== device)
  namespace.neighbours = namespace.neighbours.filter(each => each.device !== device)
  // When a device goes down, the kernel removes its IPv6 addresses and keeps its IPv4 addresses.
  device.addresses = device.addresses.filter(({ cidr }) => cidr.family === 4)
}

export function addAddress(
  device: Device,
  text: string,
  more: Partial<Pick<Address, 'noPrefixRoute' | 'lifetime'>> = {},
): void {
  const address = { ...addressOf(text), ...more }
  const family = address.cidr.family
  if (device.addresses.some(each => sameAddress(each, address)))
    throw new KernelError(`Error: ipv${family}: Address already assigned.`)
  address.dadFailed = isDuplicate(device, address)
  device.addresses.push(address)
}

export function removeAddress(device: Device, text: string): void {
  const address = addressOf(text)
  const found = device.addresses.find(each => sameAddress(each, address))
  if (!found) throw new KernelError(`Error: ipv${address.cidr.family}: Address not found.`)
  device.addresses = device.addresses.filter(each => each !== found)
  const { namespace } = device
  if (!hasAddress(namespace, found.cidr.address))
    namespace.routes = namespace.routes.filter(route => route.source !== found.text)
}

export function addRoute(namespace: Namespace, route: Route, op: 'add' | 'replace' = 'add'): void {
  const { device, gateway, source, onlink } = route
  if (!device.up) throw new KernelError('Error: Device for nexthop is not up.')
  if (source !== undefined && !hasAddress(namespace, ipOf(source)))
    throw new KernelError('Error: Invalid prefsrc address.')
  if (gateway !== undefined && !onlink && !onLink(namespace, device, ipOf(gateway)))
    throw new KernelError(
      route.family === 4 ? 'Error: Nexthop has invalid gateway.' : 'RTNETLINK answers: No route to host',
    )
  if (op === 'replace') namespace.routes = namespace.routes.filter(each => !sameTarget(each, route))
  const exists = routesOf(namespace).some(
    each => sameTarget(each, route) && (route.family === 4 || (each.device === device && each.gateway === gateway)),
  )
  if (exists) throw new KernelError('RTNETLINK answers: File exists')
  namespace.routes.push(route)
}

/** Removes the first route with all given properties. */
export function removeRoute(namespace: Namespace, match: Partial<Route> & Pick<Route, 'destination' | 'table'>): void {
  const keys = Object.keys(match) as (keyof Route)[]
  const found = namespace.routes.find(route => keys.every(key => route[key] === match[key]))
  if (!found) throw new KernelError('RTNETLINK answers: No such process')
  namespace.routes = namespace.routes.filter(route => route !== found)
}

export function addRule(namespace: Namespace, rule: Rule): void {
  if (namespace.rules.some(each => sameRule(each, rule))) throw new KernelError('RTNETLINK answers: File exists')
  const later = namespace.rules.findIndex(each => each.family === rule.family && each.priority > rule.priority)
  namespace.rules.splice(later === -1 ? namespace.rules.length : later, 0, rule)
}

export function removeRule(namespace: Namespace, rule: Rule): void {
  const found = namespace.rules.findIndex(each => sameRule(each, rule))
  if (found === -1) throw new KernelError('RTNETLINK answers: No such file or directory')
  namespace.rules.splice(found, 1)
}

function assertNameFree(namespace: Namespace, name: string): void {
  if (namespace.devices.some(each => each.name === name || each.altnames.includes(name)))
    throw new KernelError('RTNETLINK answers: File exists')
}

function addressOf(text: string): Address {
  const cidr = parseCidr(text)
  if (!cidr) throw new KernelError(`Error: any valid prefix is expected rather than "${text}".`)
  const own = networkOf({ ...cidr, prefix: bitsOf(cidr.family) }).split('/')[0] ?? ''
  return { cidr, text: own, noPrefixRoute: false, linkLocal: own.startsWith('fe80:'), dadFailed: false }
}

function sameAddress(a: Address, b: Address): boolean {
  return isIp(a.cidr.address, b.cidr.address) && a.cidr.prefix === b.cidr.prefix
}

function sameTarget(a: Route, b: Route): boolean {
  const key = ({ family, table, destination, from, metric }: Route) =>
    JSON.stringify([family, table, destination, from, metric])
  return key(a) === key(b)
}

function sameRule(a: Rule, b: Rule): boolean {
  const key = ({ family, priority, table, from, to, iif, fwmark, suppressPrefixLength, not, nop, goto }: Rule) =>
    JSON.stringify([family, priority, table, from, to, iif, fwmark, suppressPrefixLength, not, nop, goto])
  return key(a) === key(b)
}

function linkLocalOf(macAddress: string): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = macAddress.split(':').map(pair => Number.parseInt(pair, 16))
  const groups = [((a ^ 2) << 8) | b, (c << 8) | 0xff, 0xfe00 | d, (e << 8) | f]
  return `fe80::${groups.map(group => group.toString(16)).join(':')}`
}
