/**
 * `ip` for the simulated kernel: executes command lines and prints what iproute2 would print. Knows the commands of the agent and
 * the sandbox; others fail with the error of iproute2 for unknown arguments.
 */
import { type Family, parseIp } from '../../../src/contract/address.ts'
import {
  addAddress,
  addAltname,
  addDevice,
  addRoute,
  addRule,
  KernelError,
  removeAddress,
  removeDevice,
  removeRoute,
  removeRule,
  rename,
  setMtu,
  setUp,
} from './kernel.ts'
import { type Device, type Namespace, type Route, routeTo, whoHas } from './network.ts'
import { linkViews, neighbourViews, routeViews, ruleViews, type Style } from './views.ts'

export interface IpResult {
  code: number
  stdout: string
  stderr: string
}

/** Namespaces by name: the ends of a veth pair may be in different ones. */
export type Namespaces = Map<string, Namespace>

const protocols: Record<string, number> = { kernel: 2, boot: 3, static: 4, dhcp: 16 }
const tables: Record<string, number> = { local: 255, main: 254, default: 253 }
const scopes: Record<string, number> = { global: 0, link: 253, host: 254 }

/** With `-batch -` each line is a command; the first failure ends the batch unless `-force` is given. */
export function runIp(
  all: Namespaces,
  namespace: Namespace,
  args: readonly string[],
  lines: readonly string[],
): IpResult {
  const options = args.filter(arg => arg.startsWith('-'))
  const command = args.filter(arg => !arg.startsWith('-'))
  const family: Family = options.includes('-6') ? 6 : 4
  const style: Style = { numeric: options.includes('-N'), bridge: args.includes('bridge') }
  const isBatch = options.includes('-batch')
  let [stdout, stderr, code] = ['', '', 0]
  for (const [index, line] of (isBatch ? lines : [command.join(' ')]).entries()) {
    try {
      const shown = runLine(all, namespace, line.split(/\s+/).filter(Boolean), family, style)
      if (shown) stdout += `${JSON.stringify(shown)}\n`
    } catch (error) {
      if (!(error instanceof KernelError)) throw error
      code = isBatch ? 1 : 2
      stderr += `${error.message}\n${isBatch ? `Command failed -:${index + 1}\n` : ''}`
      if (!options.includes('-force')) break
    }
  }
  return { code, stdout, stderr }
}

function runLine(
  all: Namespaces,
  namespace: Namespace,
  [object = '', verb = '', ...rest]: string[],
  family: Family,
  style: Style,
): unknown[] | undefined {
  switch (object) {
    case 'link':
      return runLink(all, namespace, verb, rest, style)
    case 'address':
    case 'addr':
      return runAddress(namespace, verb, rest, style)
    case 'route':
      return runRoute(namespace, verb, rest, style)
    case 'rule':
      return runRule(namespace, verb, rest, family, style)
    case 'neigh':
      return runNeighbour(namespace, verb, rest, style)
    default:
      throw new KernelError(`Object "${object}" is unknown, try "ip help".`)
  }
}

function runLink(all: Namespaces, namespace: Namespace, verb: string, args: string[], style: Style) {
  if (verb === 'show') return linkViews(namespace, style)
  if (verb === 'add') return addLink(all, namespace, args)
  if (verb === 'delete' || verb === 'del') {
    removeDevice(deviceOf(namespace, args[0]))
    return undefined
  }
  if (verb === 'property') {
    const [op, , name, , altname = ''] = args
    const device = deviceOf(namespace, name)
    if (op === 'add') addAltname(device, altname)
    else device.altnames = device.altnames.filter(each => each !== altname)
    return undefined
  }
  const [name, ...changes] = args[0] === 'dev' ? args.slice(1) : args
  const device = deviceOf(namespace, name)
  for (let index = 0; index < changes.length; index++) {
    const value = () => changes[++index] ?? ''
    const change = changes[index]
    if (change === 'up' || change === 'down') setUp(device, change === 'up')
    else if (change === 'name') rename(device, value())
    else if (change === 'mtu') setMtu(device, Number(value()))
    else if (change === 'master') device.master = deviceOf(namespace, value())
    else if (change === 'addrgenmode') device.linkLocal = value() !== 'none'
    else throw new KernelError(`Error: either "dev" is duplicate, or "${change}" is a garbage.`)
  }
  return undefined
}

function addLink(all: Namespaces, namespace: Namespace, args: string[]): undefined {
  const [own, peer] = [args.slice(0, args.indexOf('type')), args.slice(args.indexOf('peer') + 1)]
  const [name = '', ...options] = own
  const mtu = Number(pairs(options).get('mtu') ?? 1500)
  const device = (kind: Device['kind']) =>
    addDevice(namespace, { name, kind, macAddress: generatedMacAddress(namespace), mtu })
  if (args[args.indexOf('type') + 1] === 'bridge') {
    device('bridge')
    return
  }
  const peerOptions = pairs(peer)
  const target = all.get(peerOptions.get('netns') ?? namespace.name)
  if (!target)
    throw new KernelError(`Cannot open network namespace "${peerOptions.get('netns')}": No such file or directory`)
  const macAddress = peerOptions.get('address') ?? generatedMacAddress(target)
  const far = addDevice(target, { name: peerOptions.get('name') ?? '', kind: 'veth', macAddress, mtu: 1500 })
  const near = device('veth')
  near.peer = far
  far.peer = near
}

/** A stable address for devices created without one. */
function generatedMacAddress({ name, nextIndex }: Namespace): string {
  const hash = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7)
  const bytes = [2, hash >>> 24, hash >>> 16, hash >>> 8, nextIndex >>> 8, nextIndex].map(byte => byte & 0xff)
  return bytes.map(byte => byte.toString(16).padStart(2, '0')).join(':')
}

function runAddress(namespace: Namespace, verb: string, [cidr = '', ...args]: string[], style: Style) {
  if (verb === 'show') return linkViews(namespace, { ...style, addresses: true })
  const given = pairs(args.filter(arg => !['noprefixroute', 'nodad'].includes(arg)))
  const device = deviceOf(namespace, given.get('dev'))
  if (verb === 'del') {
    removeAddress(device, cidr)
    return undefined
  }
  const [valid, preferred] = [given.get('valid_lft'), given.get('preferred_lft')]
  addAddress(device, cidr, {
    noPrefixRoute: args.includes('noprefixroute'),
    ...(valid && preferred && { lifetime: { valid: Number(valid), preferred: Number(preferred) } }),
  })
  return undefined
}

function runRoute(namespace: Namespace, verb: string, args: string[], style: Style) {
  if (verb === 'show') return routeViews(namespace, style, tableIn(args))
  if (verb === 'get') {
    const ip = parseIp(args[0] ?? '')
    const given = pairs(args.slice(1))
    const from = given.get('from')
    const source = from === undefined ? undefined : parseIp(from)
    const route = ip && routeTo(namespace, ip, source, Number(given.get('mark') ?? 0))
    if (!route) throw new KernelError('RTNETLINK answers: Network is unreachable')
    return routeViews(namespace, style, undefined, [{ ...route, destination: args[0] ?? '', ...(from && { from }) }])
  }
  const [destination = '', ...rest] = args
  const given = pairs(rest.filter(arg => arg !== 'onlink'))
  const gateway = given.get('via')
  const family: Family = `${destination}${gateway ?? ''}`.includes(':') ? 6 : 4
  const named: Partial<Route> = {
    ...(given.has('from') && { from: withPrefix(given.get('from') ?? '') }),
    ...(gateway !== undefined && { gateway }),
    ...(given.has('dev') && { device: deviceOf(namespace, given.get('dev')) }),
    ...(given.has('src') && { source: given.get('src') ?? '' }),
    ...(given.has('metric') && { metric: Number(given.get('metric')) }),
    ...protocolIn(given),
  }
  const target = { destination: destinationOf(destination), table: numberOf(given.get('table') ?? 'main', tables) }
  if (verb === 'del') {
    removeRoute(namespace, { ...named, ...target, family })
    return undefined
  }
  const { device } = named
  if (!device) throw new KernelError('RTNETLINK answers: No such device')
  const nearest = gateway === undefined && family === 4 ? 'link' : 'global'
  addRoute(
    namespace,
    {
      ...{ family, type: 1, onlink: args.includes('onlink'), metric: family === 6 ? 1_024 : 0, protocol: 3 },
      ...{ scope: numberOf(given.get('scope') ?? nearest, scopes), ...named, ...target, device },
    },
    verb === 'replace' ? 'replace' : 'add',
  )
  return undefined
}

function runRule(namespace: Namespace, verb: string, args: string[], family: Family, style: Style) {
  if (verb === 'list' || verb === 'show') return ruleViews(namespace, style, family)
  const [not, nop] = [args.includes('not'), args.includes('nop')]
  const given = pairs(args.filter(arg => arg !== 'not' && arg !== 'nop'))
  const [from, to] = [given.get('from'), given.get('to')]
  const rule = {
    family: `${from}${to}`.includes(':') ? (6 as const) : family,
    priority: Number(given.get('priority')),
    table: nop || given.has('goto') ? 0 : numberOf(given.get('lookup') ?? given.get('table') ?? 'main', tables),
    ...(not && { not: true as const }),
    ...(nop && { nop: true as const }),
    ...(given.has('goto') && { goto: Number(given.get('goto')) }),
    ...(from !== undefined && !['all', '0.0.0.0/0', '::/0'].includes(from) && { from: withPrefix(from) }),
    ...(to !== undefined && to !== 'all' && { to: withPrefix(to) }),
    ...(given.has('iif') && { iif: given.get('iif') ?? '' }),
    ...(given.has('fwmark') && { fwmark: given.get('fwmark') ?? '' }),
    ...(given.has('suppress_prefixlength') && { suppressPrefixLength: Number(given.get('suppress_prefixlength')) }),
    ...{ protocol: 3, ...protocolIn(given) },
  }
  if (verb === 'del') removeRule(namespace, rule)
  else addRule(namespace, rule)
  return undefined
}

/** Neighbour resolution is immediate. */
/** No device of this kernel has forwarding entries: it has no macvlan. */
function runNeighbour(namespace: Namespace, verb: string, [address = '', ...args]: string[], { bridge }: Style) {
  if (bridge) return []
  if (verb === 'show') return neighbourViews(namespace)
  const device = deviceOf(namespace, pairs(args).get('dev'))
  const others = namespace.neighbours.filter(each => each.device !== device || each.address !== address)
  const macAddress = verb === 'del' ? undefined : whoHas(device, address)
  namespace.neighbours = [
    ...others,
    ...(verb === 'del' ? [] : [{ address, device, ...(macAddress && { macAddress }) }]),
  ]
  return undefined
}

function deviceOf(namespace: Namespace, name = ''): Device {
  const index = Number(/^if(\d+)$/.exec(name)?.[1])
  const found = namespace.devices.find(
    each => each.name === name || each.ifindex === index || each.altnames.includes(name),
  )
  if (!found) throw new KernelError(`Cannot find device "${name}"`)
  return found
}

function pairs(args: string[]): Map<string, string> {
  return new Map(args.flatMap((arg, index) => (index % 2 === 0 ? [[arg, args[index + 1] ?? '']] : [])))
}

function protocolIn(given: Map<string, string>): { protocol?: number } {
  const arg = given.get('protocol') ?? given.get('proto')
  return arg === undefined ? {} : { protocol: numberOf(arg, protocols) }
}

function numberOf(arg: string, names: Record<string, number>): number {
  return names[arg] ?? Number(arg)
}

function tableIn(args: string[]): number | 'all' {
  const arg = pairs(args).get('table') ?? 'main'
  return arg === 'all' ? 'all' : numberOf(arg, tables)
}

function destinationOf(text: string): string {
  return ['0.0.0.0/0', '::/0', 'default'].includes(text) ? 'default' : withPrefix(text)
}

function withPrefix(text: string): string {
  return text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`
}
