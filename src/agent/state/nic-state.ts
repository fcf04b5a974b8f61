/**
 * The state of one NIC, and the ordered changes from one state to another: forward to apply, backward to roll back.
 *
 * Pure.
 */
import { hostPart } from '../../contract/address.ts'
import {
  type AddressSpec,
  addressKey,
  type Change,
  connectedTo,
  familyOf,
  fileChange,
  type RouteSpec,
  type RuleSpec,
  routeText,
  ruleKey,
} from './change.ts'
import { isLinkLocalRoute } from './link-local.ts'
import {
  type Address,
  type FileState,
  type Link,
  type Manager,
  type Observed,
  type ObservedRoute,
  type ObservedRule,
  tableMain,
} from './observed.ts'
import type { FormerState } from './ownership.ts'

export interface NicState {
  name: string
  mtu: number
  up: boolean
  addresses: AddressSpec[]
  routes: RouteSpec[]
  rules: RuleSpec[]
  /** The tables of the node; no NIC has any. */
  nft: Observed['nft']
  altnames: string[]
  sysctls: Record<string, string>
  manager: Manager
  /** By path; undefined for a file that does not exist. */
  files: Record<string, FileState | undefined>
}

/** The agent sets it only while it removes addresses. */
export const promoteSecondaries = 'ipv4.promote_secondaries'

export const sysctlKeys = [
  'ipv4.arp_announce',
  'ipv4.arp_ignore',
  promoteSecondaries,
  'ipv4.rp_filter',
  'ipv6.accept_ra',
  'ipv6.accept_ra_defrtr',
  'ipv6.addr_gen_mode',
  'ipv6.autoconf',
] as const

/**
 * NetworkManager turns off the link-local addresses that the kernel creates, on every NIC that it manages, and does not
 * turn them on again.
 */
export function kernelLinkLocal({ sysctls }: NicState): Record<string, string> {
  return sysctls['ipv6.addr_gen_mode'] === '1' ? { 'ipv6.addr_gen_mode': '0' } : {}
}

/** What a NIC gets back when it is removed. */
export function formerState({ name, mtu, up, addresses, sysctls: all, manager }: NicState): FormerState {
  const { [promoteSecondaries]: _, ...sysctls } = all
  const leased = addresses.some(({ lifetime }) => lifetime !== undefined) ? { leased: true as const } : {}
  return { name, mtu, up, sysctls, ...(manager === 'none' ? {} : { managed: true, ...leased }) }
}

/** What belongs to one NIC: routes of these tables on its device, and these routes, rules, altnames and files. */
export interface NicScope {
  /** Its dynamic routes in the main table. */
  route?: (route: ObservedRoute) => boolean
  tables: ReadonlySet<number>
  /** Routes in the main table, by `routeText`. */
  mainRoutes: ReadonlySet<string>
  /** Its link-local addresses and routes to remove; all others are left to the kernel and to NetworkManager. */
  linkLocal?: { address?: (address: Address) => boolean; route: (route: ObservedRoute) => boolean }
  rule: (rule: ObservedRule) => boolean
  /** Undefined stands for a port without one. */
  altnames: ReadonlySet<string | undefined>
  /** Requested or recorded addresses: they count even if they are link-local. */
  addresses: ReadonlySet<string>
  files: readonly string[]
}

export function nicState(observed: Observed, link: Link, scope: NicScope): NicState {
  return {
    name: link.name,
    mtu: link.mtu,
    up: link.up,
    addresses: observed.addresses
      .filter(address => address.ifindex === link.ifindex && isOwnAddress(address, scope))
      .map(addressSpec),
    routes: observed.routes.filter(route => onlyOn(route, link.ifindex) && isInScope(route, scope)).map(routeSpec),
    ...nodeState(observed, scope),
    nft: {},
    altnames: link.altnames.filter(altname => scope.altnames.has(altname)),
    sysctls: observed.sysctls[link.ifindex] ?? {},
    manager: observed.managers[link.ifindex] ?? 'none',
  }
}

function isOwnAddress(address: Address, { addresses, linkLocal }: NicScope): boolean {
  return !address.linkLocal || addresses.has(address.cidr) || (linkLocal?.address?.(address) ?? false)
}

function isInScope(route: ObservedRoute, scope: NicScope): boolean {
  if (isLinkLocalRoute(route)) return scope.linkLocal?.route(route) ?? false
  if (scope.tables.has(route.table) || scope.route?.(route)) return true
  return route.table === tableMain && scope.mainRoutes.has(routeText(routeSpec(route)))
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
  const { name, mtu, link, manager, sysctl, address, route, rule, altname, nft, file } = changesByKind(current, target)
  return [
    ...manager.first,
    ...nft.first,
    ...sysctl.first,
    ...rule.first,
    ...route.first,
    ...address.first,
    ...altname.first,
    ...link.first,
    ...name.last,
    ...mtu.last,
    ...address.last,
    ...link.last,
    ...route.last,
    ...rule.last,
    ...altname.last,
    ...sysctl.last,
    ...nft.last,
    ...file.last,
    // After the files: NetworkManager must not find our profile any more, or must find its own again.
    ...manager.last,
  ]
}

/** What is done before the NIC gets its name, and what afterwards. */
interface Phases {
  first: Change[]
  last: Change[]
}

function changesByKind(current: NicState, target: NicState): Record<Change['kind'], Phases> {
  const sysctls = Object.entries(target.sysctls)
    .filter(([key, to]) => ![undefined, to].includes(current.sysctls[key]) && key !== promoteSecondaries)
    .map(([key, to]): Change => ({ kind: 'sysctl', key, from: current.sysctls[key] ?? '', to }))
  const rules = difference(current.rules, target.rules, ruleKey)
  const altnames = difference(current.altnames, target.altnames, name => name)
  const promotion = promotionChanges(current, target)
  const goesDown = current.up && !target.up
  const isReleased = target.manager === 'none'
  const manager: Change[] =
    current.manager === target.manager ? [] : [{ kind: 'manager', from: current.manager, to: target.manager }]
  const nft = nftChanges(current, target)
  return {
    name: last(renameBetween(current, target)),
    mtu: last(current.mtu === target.mtu ? [] : [{ kind: 'mtu', from: current.mtu, to: target.mtu }]),
    link: {
      first: goesDown ? [{ kind: 'link', from: 'up', to: 'down' }] : [],
      last: !current.up && target.up ? [{ kind: 'link', from: 'down', to: 'up' }] : [],
    },
    manager: isReleased ? { first: manager, last: [] } : last(manager),
    sysctl: {
      first: [...promotion.first, ...(goesDown ? [] : sysctls)],
      last: [...(goesDown ? sysctls : []), ...promotion.last],
    },
    address: phasesOf(addressChanges(current.addresses, target.addresses)),
    route: phasesOf(routeChanges(current, target)),
    rule: {
      first: rules.removed.map(rule => ({ kind: 'rule', op: 'remove', rule })),
      last: rules.added.map(rule => ({ kind: 'rule', op: 'add', rule })),
    },
    altname: {
      first: altnames.removed.map(altname => ({ kind: 'altname', op: 'remove', altname })),
      last: altnames.added.map(altname => ({ kind: 'altname', op: 'add', altname })),
    },
    nft: { first: nft.filter(change => change.to !== undefined), last: nft.filter(change => change.to === undefined) },
    file: last(fileChanges(current, target)),
  }
}

function last(changes: Change[]): Phases {
  return { first: [], last: changes }
}

function phasesOf({ removed, added }: { removed: Change[]; added: Change[] }): Phases {
  return { first: removed, last: added }
}

function nftChanges({ nft: from }: NicState, { nft: to }: NicState): (Change & { kind: 'nft' })[] {
  const families = [4, 6] as const
  return families.flatMap(family =>
    from[family] === to[family]
      ? []
      : [{ kind: 'nft', family, ...defined('from', from[family]), ...defined('to', to[family]) }],
  )
}

function defined<K extends string>(key: K, value: string | undefined): { [P in K]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: string })
}

function renameBetween({ name: from, up, addresses }: NicState, { name: to }: NicState): Change[] {
  if (from === to) return []
  const lost = addresses.filter(({ cidr }) => familyOf(cidr) === 6)
  const losses: Change[] = [
    { kind: 'link', from: 'up', to: 'down' },
    ...lost.map((address): Change => ({ kind: 'address', op: 'remove', address })),
  ]
  return [{ kind: 'name', from, to, ...(up ? { losses } : {}) }]
}

/** Unless told to promote them, the kernel removes the other IPv4 addresses of a network with its first one. */
function promotionChanges(current: NicState, target: NicState): Phases {
  const now = current.sysctls[promoteSecondaries] ?? ''
  const { removed } = difference(current.addresses, target.addresses, addressKey)
  const kept = current.addresses.filter(({ cidr }) => target.addresses.some(address => address.cidr === cidr))
  const takesOthers = ({ cidr }: AddressSpec) =>
    familyOf(cidr) === 4 && kept.some(other => other.cidr !== cidr && connectedTo(other.cidr) === connectedTo(cidr))
  const meanwhile = now === '0' && removed.some(takesOthers) ? '1' : now
  const change = (from: string, to: string): Change[] =>
    from === to ? [] : [{ kind: 'sysctl', key: promoteSecondaries, from, to }]
  return { first: change(now, meanwhile), last: change(meanwhile, target.sysctls[promoteSecondaries] ?? now) }
}

/** An address whose options or IPv4 prefix length change is never absent: connections and routes of it must survive. */
function addressChanges(
  current: readonly AddressSpec[],
  target: readonly AddressSpec[],
): { removed: Change[]; added: Change[] } {
  const { removed, added } = difference(current, target, addressKey)
  const successorOf = (old: AddressSpec) => added.find(({ cidr }) => cidr === old.cidr)
  const replaced = new Set(removed.flatMap(old => successorOf(old)?.cidr ?? []))
  const isReplaced = ({ cidr }: AddressSpec) => replaced.has(cidr)
  const inPlace = removed.filter(isReplaced).flatMap(old => replaceInPlace(old, successorOf(old) ?? old))
  const of = (op: 'add' | 'remove', list: readonly AddressSpec[]) =>
    list.map((address): Change & { kind: 'address' } => ({ kind: 'address', op, address }))
  const gone = removed.filter(address => !isReplaced(address))
  const fresh = added.filter(address => !isReplaced(address))
  const getsPrefix = ({ cidr }: AddressSpec) =>
    familyOf(cidr) === 4 && fresh.some(other => hostPart(other.cidr) === hostPart(cidr))
  const last = of('remove', gone.filter(getsPrefix)).map((change): Change => ({ ...change, inPlace: true }))
  const first = gone.filter(address => !getsPrefix(address))
  return { removed: of('remove', first), added: [...inPlace, ...of('add', fresh), ...last] }
}

/**
 * The kernel changes the lifetime and the metric of an address, and all options of an IPv6 one. It cannot change `noprefixroute`
 * of an IPv4 address: a second address that differs in the prefix length alone keeps it on the NIC meanwhile. networkd then also
 * forgets that its DHCP client added the address, and does not remove it.
 */
function replaceInPlace(old: AddressSpec, address: AddressSpec): Change[] {
  const leavesRoute = address.noPrefixRoute && !old.noPrefixRoute
  const change = (op: 'add' | 'remove', of: AddressSpec): Change => ({
    kind: 'address',
    op,
    address: of,
    inPlace: true,
    ...(leavesRoute && familyOf(of.cidr) === 4 ? { leavesRoute } : {}),
  })
  if (familyOf(old.cidr) === 6 || old.noPrefixRoute === address.noPrefixRoute)
    return [change('remove', old), change('add', address)].map(each => ({ ...each, changed: true }) as Change)
  const [host, prefix] = old.cidr.split('/')
  const second = { cidr: `${host}/${prefix === '32' ? 31 : 32}`, noPrefixRoute: true }
  return [change('add', second), change('remove', old), change('add', address), change('remove', second)]
}

/**
 * Flows use the routes in the main table: a new one that the kernel accepts already is added before anything is removed, and one
 * with the destination and metric of an old one replaces it.
 */
function routeChanges(current: NicState, target: NicState): { removed: Change[]; added: Change[] } {
  const { removed, added } = difference(current.routes, target.routes, routeText)
  const key = ({ family, table, destination, from = '', metric }: RouteSpec) =>
    `${family} ${table} ${destination} ${from} ${metric}`
  const [old, fresh] = [new Set(removed.map(key)), new Set(added.map(key))]
  const hasAddress = (source: string) => current.addresses.some(({ cidr }) => hostPart(cidr) === source)
  const isAccepted = ({ table, gateway, source }: RouteSpec) =>
    table === tableMain && current.up && gateway === undefined && (source === undefined || hasAddress(source))
  // The kernel adds the connected route of a changed address itself, and another NIC may have had this route.
  const isShared = ({ table, gateway }: RouteSpec) => table === tableMain && gateway === undefined
  const change = (op: 'add' | 'remove', route: RouteSpec): Change => ({
    kind: 'route',
    op,
    route,
    ...((op === 'add' ? old.has(key(route)) || isShared(route) : fresh.has(key(route))) ? { inPlace: true } : {}),
    ...(op === 'add' && isAccepted(route) ? { early: true } : {}),
  })
  return {
    removed: removed.map(route => change('remove', route)),
    added: directFirst(added).map(route => change('add', route)),
  }
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

export function addressSpec({ cidr, noPrefixRoute, lifetime, metric }: Address): AddressSpec {
  return { cidr, noPrefixRoute, ...(lifetime ? { lifetime } : {}), ...(metric === undefined ? {} : { metric }) }
}

export function routeSpec(route: ObservedRoute): RouteSpec {
  const { family, table, destination, from, gateway, source, metric, onlink, protocol } = route
  return {
    family,
    table,
    destination,
    ...(from === undefined ? {} : { from }),
    ...(gateway === undefined ? {} : { gateway }),
    ...(source === undefined ? {} : { source }),
    metric,
    onlink,
    protocol,
  }
}

export function ruleSpec({ plain: _, ...rule }: ObservedRule): RuleSpec {
  return rule
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
