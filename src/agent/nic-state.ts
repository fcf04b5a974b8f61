/**
 * The state of one NIC, and the ordered changes from one state to another: forward to apply, backward to roll back.
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
  type ObservedRoute,
  type ObservedRule,
  protocolKernel,
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
  /** By path; undefined for a file that does not exist. */
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

/** What belongs to one NIC: routes of these tables on its device, and these rules, altnames and files. */
export interface NicScope {
  tables: ReadonlySet<number>
  rule: (rule: ObservedRule) => boolean
  altnames: ReadonlySet<string>
  files: readonly string[]
}

export function nicState(observed: Observed, link: Link, scope: NicScope): NicState {
  return {
    name: link.name,
    mtu: link.mtu,
    up: link.up,
    addresses: observed.addresses
      .filter(address => address.ifindex === link.ifindex && !address.linkLocal)
      .map(({ cidr, noPrefixRoute, lifetime }) => ({ cidr, noPrefixRoute, ...(lifetime ? { lifetime } : {}) })),
    routes: observed.routes
      .filter(route => scope.tables.has(route.table) && onlyOn(route, link.ifindex) && !isLinkLocal(route))
      .map(routeSpec),
    ...nodeState(observed, scope),
    altnames: link.altnames.filter(altname => scope.altnames.has(altname)),
    sysctls: observed.sysctls[link.ifindex] ?? {},
    manager: observed.managers[link.ifindex] ?? 'none',
  }
}

/** NetworkManager adds the link-local network of a device to our table too. */
function isLinkLocal(route: ObservedRoute): boolean {
  return route.protocol === protocolKernel && route.destination === 'fe80::/64'
}

/** The part that outlives the device. */
export function nodeState(observed: Observed, scope: NicScope): Pick<NicState, 'rules' | 'files'> {
  return {
    rules: observed.rules.filter(rule => rule.plain && scope.rule(rule)).map(ruleSpec),
    files: Object.fromEntries(scope.files.map(path => [path, observed.files[path]])),
  }
}

/**
 * The order matters: sysctls are set before the link goes up, rules and routes are removed before the address that they
 * refer to, and a link goes down before its sysctls are restored.
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
    ...rules.removed.map((rule): Change => ({ kind: 'rule', op: 'remove', rule })),
    ...routes.removed.map((route): Change => ({ kind: 'route', op: 'remove', route })),
    ...addresses.removed.map((address): Change => ({ kind: 'address', op: 'remove', address })),
    ...altnames.removed.map((altname): Change => ({ kind: 'altname', op: 'remove', altname })),
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
    // After the files: NetworkManager must not find our profile any more, or must find its own again.
    ...(released ? [] : manager),
  ]
}

/** The kernel refuses a route via a gateway that is not reachable yet. */
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

export function routeSpec(route: ObservedRoute): RouteSpec {
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

export function ruleSpec(rule: ObservedRule): RuleSpec {
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

function onlyOn(route: ObservedRoute, ifindex: number): boolean {
  return route.devices.length > 0 && route.devices.every(device => device === ifindex)
}

function difference<T>(
  current: readonly T[],
  target: readonly T[],
  key: (item: T) => string,
): { removed: T[]; added: T[] } {
  const currentKeys = new Set(current.map(item => key(item)))
  const targetKeys = new Set(target.map(item => key(item)))
  return {
    removed: current.filter(item => !targetKeys.has(key(item))),
    added: target.filter(item => !currentKeys.has(key(item))),
  }
}
