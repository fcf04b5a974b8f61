/**
 * A change of a NIC as data, with the old and the new value, so that it can be reversed. Prints as a command for
 * `ip -batch` and as text for people. The journal stores changes: never rename a key or a kind.
 *
 * Pure. Commands name devices by ifindex (`if5`), so they survive a rename in the same batch.
 */
import { broadcastOf, type Family, networkOf, parseCidr } from '../../contract/address.ts'
import type { FileState, Manager } from './observed.ts'

export interface AddressSpec {
  cidr: string
  noPrefixRoute: boolean
  lifetime?: { valid: number; preferred: number }
  /** Of its connected route. */
  metric?: number
}

export interface RouteSpec {
  family: Family
  table: number
  destination: string
  /** Only packets with this source match (IPv6). */
  from?: string
  gateway?: string
  /** The preferred source address. */
  source?: string
  metric: number
  onlink: boolean
  protocol: number
}

export interface RuleSpec {
  family: Family
  priority: number
  table: number
  /** 0.0.0.0/0 or ::/0 in a rule that selects by its mark alone: the text of a rule tells its family. */
  from?: string
  to?: string
  /** `lo`: packets of the node itself. */
  iif?: string
  /** Value and mask of the packet mark, as iproute2 prints them: `0x8/0x78`. */
  fwmark?: string
  /** Selects the packets that the selectors do not. */
  not?: true
  /** The priority to go on with, in place of a lookup; `table` is 0. */
  goto?: number
  /** The target of a goto; `table` is 0. */
  nop?: true
  /** Routes of the table with a prefix of this length or shorter do not count. */
  suppressPrefixLength?: number
  protocol: number
}

type Op = 'add' | 'remove'

export type Change =
  /**
   * `park` marks a rename to a temporary name: another NIC of the same run needs the old one. `losses`: kernels before 6.2
   * rename only a link that is down. It loses its IPv6 addresses, and a killed agent leaves it down.
   */
  | { kind: 'name'; from: string; to: string; park?: true; losses?: Change[] }
  | { kind: 'mtu'; from: number; to: number }
  | { kind: 'link'; from: 'up' | 'down'; to: 'up' | 'down' }
  /**
   * `inPlace` marks the parts of a change of options or prefix length: the NIC has the address all the time. `changed`: one
   * command changes the options. `leavesRoute`: the connected route goes, and one that was added before serves instead.
   */
  | { kind: 'address'; op: Op; address: AddressSpec; inPlace?: true; changed?: true; leavesRoute?: true }
  /**
   * `inPlace` marks a route and the one that replaces it: packets have one of them all the time. `early`: added before anything
   * is removed.
   */
  | { kind: 'route'; op: Op; route: RouteSpec; inPlace?: true; early?: true }
  | { kind: 'rule'; op: Op; rule: RuleSpec }
  | { kind: 'altname'; op: Op; altname: string }
  /** `ipv4.rp_filter` and the like, of this device only. */
  | { kind: 'sysctl'; key: string; from: string; to: string }
  | { kind: 'file'; path: string; from?: FileState; to?: FileState }
  /** The table `multinic` of one family, as nft lists it. */
  | { kind: 'nft'; family: Family; from?: string; to?: string }
  /** NetworkManager releases the device, or manages it again. */
  | { kind: 'manager'; from: Manager; to: Manager; leased?: boolean }

/** What `ip -batch` sets. */
export type KernelChange = Exclude<Change, { kind: 'sysctl' | 'file' | 'nft' | 'manager' }>

export function fileChange(path: string, from: FileState | undefined, to: FileState | undefined): Change {
  return { kind: 'file', path, ...(from ? { from } : {}), ...(to ? { to } : {}) }
}

/** What a rename may take from a link that was up. */
export function lossesOf(change: Change): Change[] {
  return change.kind === 'name' ? (change.losses ?? []) : []
}

export function isKernelChange(change: Change): change is KernelChange {
  return !['sysctl', 'file', 'nft', 'manager'].includes(change.kind)
}

/** One line for `ip -batch`; empty for a half of a change that needs no command of its own. */
export function ipCommand(change: KernelChange, ifindex: number): string {
  const device = `if${ifindex}`
  const verb = 'op' in change && change.op === 'remove' ? 'del' : 'add'
  switch (change.kind) {
    case 'name':
      return `link set dev ${device} name ${change.to}`
    case 'mtu':
      return `link set dev ${device} mtu ${change.to}`
    case 'link':
      return `link set dev ${device} ${change.to}`
    case 'address':
      return addressCommand(change, device)
    case 'route':
      return routeCommand(change, device)
    case 'rule':
      return `rule ${verb} ${ruleText(change.rule)} protocol ${change.rule.protocol}`
    case 'altname':
      return `link property ${verb} dev ${device} altname ${change.altname}`
  }
}

function routeCommand({ op, route, inPlace }: Change & { kind: 'route' }, device: string): string {
  if (inPlace && op === 'remove') return ''
  const verb = inPlace ? 'replace' : op === 'remove' ? 'del' : 'add'
  return `route ${verb} ${routeText(route, device)}`
}

function addressCommand({ op, address, changed }: Change & { kind: 'address' }, device: string): string {
  if (op === 'remove') return changed ? '' : `address del ${address.cidr} dev ${device}`
  const metric = address.metric === undefined ? '' : ` metric ${address.metric}`
  const options = `dev ${device}${addressOptions(address)}`
  if (!changed) return `address add ${address.cidr}${broadcastOption(address)} ${options}${metric}`
  const lifetime = address.lifetime ? '' : ' valid_lft forever preferred_lft forever'
  return `address change ${address.cidr} ${options}${lifetime}${metric}`
}

/** For plans, checks and the log. */
export function describeChange(change: Change): string {
  const verb = 'op' in change && change.op === 'remove' ? 'remove' : 'add'
  switch (change.kind) {
    case 'name':
      return `rename ${change.from} to ${change.to}`
    case 'mtu':
      return `mtu ${change.from} to ${change.to}`
    case 'link':
      return `link ${change.to}`
    case 'address':
      return `${verb} address ${change.address.cidr}${change.address.noPrefixRoute ? ' noprefixroute' : ''}`
    case 'route':
      return `${verb} route ${routeText(change.route)}`
    case 'rule':
      return `${verb} rule ${ruleText(change.rule)}`
    case 'altname':
      return `${verb} altname ${change.altname}`
    case 'sysctl':
      return `${change.key} ${change.from} to ${change.to}`
    case 'nft':
      return `${change.to === undefined ? 'remove' : change.from === undefined ? 'add' : 'replace'} nft ${tableName(change.family)}`
    case 'manager':
      return change.to === 'none' ? 'release from NetworkManager' : 'return to NetworkManager'
    case 'file':
      return `${change.to ? (change.from ? 'rewrite' : 'write') : 'remove'} ${change.path}`
  }
}

export function routeText(route: RouteSpec, device?: string): string {
  const { from, gateway, table, source, metric, onlink, protocol } = route
  const way = `${option('from', from)}${option('via', gateway)}${option('dev', device)} table ${table}`
  const more = `${option('src', source)}${option('metric', metric || undefined)}${onlink ? ' onlink' : ''}`
  return `${destinationOf(route)}${way}${more} protocol ${protocol}`
}

/** Always in CIDR notation: Netplan before 0.103 does not accept `default`. */
export function destinationOf({ destination, family }: RouteSpec): string {
  return destination === 'default' ? (family === 4 ? '0.0.0.0/0' : '::/0') : destination
}

/** Every NIC compares its rules with all rules of the node. */
const ruleTexts = new WeakMap<RuleSpec, string>()

/** Records keep this text: agents of other versions must recognize their rules. */
export function ruleText(rule: RuleSpec): string {
  const known = ruleTexts.get(rule)
  if (known !== undefined) return known
  const { from, to, iif, fwmark, suppressPrefixLength, priority } = rule
  const selectors = `${option('from', from)}${option('to', to)}${option('iif', iif)}${option('fwmark', fwmark)}`.slice(
    1,
  )
  const target = `${actionText(rule)}${option('suppress_prefixlength', suppressPrefixLength)} priority ${priority}`
  const text = `${rule.not ? 'not ' : ''}${selectors === '' ? target : `${selectors} ${target}`}`
  ruleTexts.set(rule, text)
  return text
}

function actionText({ table, goto, nop }: RuleSpec): string {
  if (goto !== undefined) return `goto ${goto}`
  return nop ? 'nop' : `lookup ${table}`
}

/** Texts of routes are compared a hundred times in a run: joining lists would be slow. */
function option(name: string, value: string | number | undefined): string {
  return value === undefined ? '' : ` ${name} ${value}`
}

/** Of nftables. */
export function tableName(family: Family): string {
  return `table ${family === 4 ? 'ip' : 'ip6'} multinic`
}

export function familyOf(cidr: string): Family {
  return cidr.includes(':') ? 6 : 4
}

/** The network of an address. */
export function connectedTo(cidr: string): string | undefined {
  const parsed = parseCidr(cidr)
  return parsed && networkOf(parsed)
}

/** Equal for equal rules. */
export function ruleKey(rule: RuleSpec): string {
  return `${rule.family} ${ruleText(rule)} ${rule.protocol}`
}

export function addressKey(address: AddressSpec): string {
  const { noPrefixRoute, metric } = address
  return `${address.cidr}${addressOptions(address)}${noPrefixRoute ? '' : option('metric', metric)}`
}

/** networkd and NetworkManager set the broadcast address at boot; `ip` sets it only on request. */
function broadcastOption({ cidr }: AddressSpec): string {
  return broadcastOf(cidr) === undefined ? '' : ' brd +'
}

function addressOptions(address: AddressSpec): string {
  const lifetime = address.lifetime
    ? ` valid_lft ${address.lifetime.valid} preferred_lft ${address.lifetime.preferred}`
    : ''
  // A link-local host address is the source of probes: tentative, it could send none for up to two seconds.
  const usableAtOnce = /^fe80:.*\/128$/.test(address.cidr) ? ' nodad' : ''
  return `${address.noPrefixRoute ? ' noprefixroute' : ''}${lifetime}${usableAtOnce}`
}
