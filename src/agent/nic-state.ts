/**
 * The state of one NIC, and the ordered changes that turn one state into another: forward to apply, backward to undo.
 *
 * Pure.
 */
import {
  type AddressSpec,
  addressKey,
  type Change,
  fileChange,
  type RouteSpec,
  type RuleSpec,
  routeText,
  ruleKey,
} from './change.ts'
import {
  type FileState,
  type Link,
  type Manager,
  type Observed,
  protocolKernel,
  type RouteSeen,
  type RuleSeen,
} from './observed.ts'

export interface NicState {
  name: string
  mtu: number
  up: boolean
  addresses: AddressSpec[]
  routes: RouteSpec[]
  rules: RuleSpec[]
  altnames: string[]
  sysctls: Record<string, string>
  manager: Manager
  /** An absent file is a path without a state. */
  files: Record<string, FileState | undefined>
}

export const sysctlKeys = [
  'ipv4.arp_announce',
  'ipv4.arp_ignore',
  'ipv4.rp_filter',
  'ipv6.accept_ra',
  'ipv6.accept_ra_defrtr',
  'ipv6.autoconf',
] as const

/** What of a node belongs to one NIC: tables whose routes on this device are ours, and rules that are ours. */
export interface Scope {
  tables: ReadonlySet<number>
  rule: (rule: RuleSeen) => boolean
  altnames: ReadonlySet<string>
  files: readonly string[]
}

export function nicState(observed: Observed, link: Link, scope: Scope): NicState {
  return {
    name: link.name,
    mtu: link.mtu,
    up: link.up,
    addresses: observed.addresses
      .filter(address => address.ifindex === link.ifindex && !address.linkLocal)
      .map(({ cidr, noPrefixRoute, lifetime }) => ({ cidr, noPrefixRoute, ...(lifetime ? { lifetime } : {}) })),
    routes: observed.routes
      .filter(route => scope.tables.has(route.table) && onlyOn(route, link.ifindex) && !ofLinkLocal(route))
      .map(routeSpec),
    ...nodeState(observed, scope),
    altnames: link.altnames.filter(altname => scope.altnames.has(altname)),
    sysctls: observed.sysctls[link.ifindex] ?? {},
    manager: observed.managers[link.ifindex] ?? 'none',
  }
}

/** NetworkManager puts the link-local network of a device into our table too. */
function ofLinkLocal(route: RouteSeen): boolean {
  return route.protocol === protocolKernel && route.destination === 'fe80::/64'
}

/** What stays on a node when the device is gone: rules and files. */
export function nodeState(observed: Observed, scope: Scope): Pick<NicState, 'rules' | 'files'> {
  return {
    rules: observed.rules.filter(rule => rule.plain && scope.rule(rule)).map(ruleSpec),
    files: Object.fromEntries(scope.files.map(path => [path, observed.files[path]])),
  }
}

/**
 * The order is the point: settings that must hold before the link is up come first, what points to an address goes before
 * the address, and a link that goes down does so before its settings are given back.
 */
export function changesBetween(current: NicState, target: NicState): Change[] {
  const sysctls = Object.entries(target.sysctls)
    .filter(([key, to]) => current.sysctls[key] !== undefined && current.sysctls[key] !== to)
    .map(([key, to]): Change => ({ kind: 'sysctl', key, from: current.sysctls[key] ?? '', to }))
  const rules = difference(current.rules, target.rules, ruleKey)
  const routes = difference(current.routes, target.routes, routeText)
  const addresses = difference(current.addresses, target.addresses, addressKey)
  const altnames = difference(current.altnames, target.altnames, name => name)
  const goesDown = current.up && !target.up

  const manager: Change[] =
    current.manager === target.manager ? [] : [{ kind: 'manager', from: current.manager, to: target.manager }]
  const released = target.manager === 'none'

  return [
    ...(released ? manager : []),
    ...(goesDown ? [] : sysctls),
    ...rules.gone.map((rule): Change => ({ kind: 'rule', op: 'remove', rule })),
    ...routes.gone.map((route): Change => ({ kind: 'route', op: 'remove', route })),
    ...addresses.gone.map((address): Change => ({ kind: 'address', op: 'remove', address })),
    ...altnames.gone.map((altname): Change => ({ kind: 'altname', op: 'remove', altname })),
    ...(goesDown ? [{ kind: 'link', from: 'up', to: 'down' } satisfies Change] : []),
    ...(current.name === target.name ? [] : [{ kind: 'name', from: current.name, to: target.name } satisfies Change]),
    ...(current.mtu === target.mtu ? [] : [{ kind: 'mtu', from: current.mtu, to: target.mtu } satisfies Change]),
    ...addresses.added.map((address): Change => ({ kind: 'address', op: 'add', address })),
    ...(!current.up && target.up ? [{ kind: 'link', from: 'down', to: 'up' } satisfies Change] : []),
    ...directFirst(routes.added).map((route): Change => ({ kind: 'route', op: 'add', route })),
    ...rules.added.map((rule): Change => ({ kind: 'rule', op: 'add', rule })),
    ...altnames.added.map((altname): Change => ({ kind: 'altname', op: 'add', altname })),
    ...(goesDown ? sysctls : []),
    ...fileChanges(current, target),
    // Not before it can no longer find our profile, or finds its own again.
    ...(released ? [] : manager),
  ]
}

/** A router must be reachable before a route may lead through it. */
function directFirst(routes: readonly RouteSpec[]): RouteSpec[] {
  return [...routes.filter(route => !route.gateway), ...routes.filter(route => route.gateway)]
}

export function fileChanges(current: Pick<NicState, 'files'>, target: Pick<NicState, 'files'>): Change[] {
  return Object.entries(target.files).flatMap(([path, to]) =>
    sameFile(current.files[path], to) ? [] : [fileChange(path, current.files[path], to)],
  )
}

function sameFile(a: FileState | undefined, b: FileState | undefined): boolean {
  return a?.text === b?.text && a?.mode === b?.mode && a?.uid === b?.uid && a?.gid === b?.gid
}

export function routeSpec(route: RouteSeen): RouteSpec {
  const { family, table, destination, gateway, source, metric, onlink, protocol } = route
  return {
    family,
    table,
    destination,
    ...(gateway === undefined ? {} : { gateway }),
    ...(source === undefined ? {} : { source }),
    metric,
    onlink,
    protocol,
  }
}

export function ruleSpec(rule: RuleSeen): RuleSpec {
  const { family, priority, table, from, to, protocol } = rule
  return {
    family,
    priority,
    table,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    protocol,
  }
}

function onlyOn(route: RouteSeen, ifindex: number): boolean {
  return route.devices.length > 0 && route.devices.every(device => device === ifindex)
}

function difference<T>(
  current: readonly T[],
  target: readonly T[],
  key: (item: T) => string,
): { gone: T[]; added: T[] } {
  const had = new Set(current.map(item => key(item)))
  const wants = new Set(target.map(item => key(item)))
  return {
    gone: current.filter(item => !wants.has(key(item))),
    added: target.filter(item => !had.has(key(item))),
  }
}
