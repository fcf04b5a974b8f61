/**
 * Which rule, table and device packets use on a node, from what the inventory knows: the NICs, and what the agent reported about
 * them. Pure.
 *
 * Routes and rules of other programs are not known. Each path says which of them would come first.
 */
import {
  bitsOf,
  type Cidr,
  contains,
  type Family,
  formatIp,
  hostPart,
  type Ip,
  overlaps,
  parseCidr,
  parseIp,
} from '../contract/address.ts'
import { addressesOf, type CompleteWireInterface } from '../contract/interfaces.ts'
import { nicRoutes } from '../contract/nic-routes.ts'
import { type PacketSource, packetSources } from '../contract/packet-sources.ts'
import {
  defaultMarkMask,
  defaultTableBase,
  hex,
  mainMetricOf,
  nicTable,
  primaryTable,
  priorities,
  slotMark,
  sourceRules,
  tableLocal,
  tableMain,
} from '../contract/routing-scheme.ts'

export interface Device {
  /** The NIC that carries the default route of the node is not known by name. */
  by: 'interface' | 'primary' | 'local'
  /** Name of a NIC. */
  device?: string
  /** Of the NIC. Absent on link. */
  gateway?: string
}

interface Lookup extends Device {
  table: number
  /** Of the rule. */
  priority: number
}

export interface PacketPath extends Lookup {
  packets: 'fromAddress' | 'withoutSource' | 'reply' | 'fromNode'
  from?: string
  /** As `ip` writes it. */
  mark?: string
  /** What other programs would have to set so that packets take another path. */
  overriddenBy?: Overrides
  /** On a node whose default route has no router. */
  withoutRouter?: Lookup
}

export interface Overrides {
  /** A rule with a lower priority that selects the packets. */
  priorityBelow: number
  /** A route to the address in the main table with at least this prefix length. */
  minPrefix?: number
  /** A route to the same network in the main table with a lower metric. */
  metricBelow?: number
  /** Only routes by bridges and tunnels: packets that would leave by another port get the mark of the NIC. */
  notByPort?: true
}

/** A NIC as the inventory knows it. */
export interface KnownNic {
  nic: CompleteWireInterface
  /** Networks of it that the main table must not have. */
  reserved: readonly string[]
}

interface Route extends Device {
  network: Cidr
  metric: number
}

interface Rule {
  priority: number
  table: number
  from?: Cidr
  to?: Cidr
  /** Routes up to this length are ignored. */
  suppress: number
  /** Index of the NIC whose mark it selects. */
  marked?: number
  /** Selects the node's own address. */
  primary?: true
}

interface Packet {
  from?: Ip
  marked?: number
  primary?: true
}

interface Found {
  route: Route
  rule: Rule
  /** Of a route in the main table that would have been found first. */
  minPrefix: number
}

interface Routing {
  rules: readonly Rule[]
  tables: ReadonlyMap<number, readonly Route[]>
}

const priorityOfMain = 32_766
const unknownNetworks: Record<Family, Cidr> = {
  4: { family: 4, address: { family: 4, value: 0n }, prefix: 0 },
  6: { family: 6, address: { family: 6, value: 0n }, prefix: 0 },
}

/** The paths of packets of one NIC to an address, with the default settings of the agent. */
export function packetPaths(index: number, nics: readonly KnownNic[], to: Ip): PacketPath[] {
  const { family } = to
  const routing = routingOf(nics, family)
  const nic = nics.find(one => one.nic.id === index)?.nic
  const own = nic ? cidrsOf(nic).filter(cidr => cidr.family === family) : []
  const withoutRouter = { ...routing, rules: routing.rules.filter(({ primary }) => primary !== true) }
  const node = find(routing, { primary: true }, to)
  const other = find(withoutRouter, { primary: true }, to)
  return [
    ...own.flatMap(({ address }) => pathFrom(index, address, routing, to)),
    ...paths({ packets: 'withoutSource' }, find(routing, {}, to)),
    ...(own.length === 0 ? [] : paths({ packets: 'reply', mark: markOf(index) }, find(routing, { marked: index }, to))),
    ...paths({ packets: 'fromNode', ...(node?.rule.primary && other ? { withoutRouter: lookupOf(other) } : {}) }, node),
  ]
}

export function markOf(index: number): string {
  return hex(slotMark(index, defaultMarkMask))
}

/** Packets that would leave by another port with an address of the NIC get its mark, and are routed again. */
function pathFrom(index: number, address: Ip, routing: Routing, to: Ip): PacketPath[] {
  const found = find(routing, { from: address }, to)
  const marked = find(routing, { marked: index }, to)
  const [path] = paths({ packets: 'fromAddress', from: formatIp(address) }, found)
  if (!path || !found || path.by === 'local') return path ? [path] : []
  if (marked?.rule.marked !== index) return [path]
  const overriddenBy: Overrides = { ...overridesOf(found), notByPort: true }
  const isByNic = path.table === marked.rule.table || path.device === marked.route.device
  return [
    isByNic ? { ...path, overriddenBy } : { ...aboutOf(path), mark: markOf(index), ...lookupOf(marked), overriddenBy },
  ]
}

function aboutOf({ packets, from }: PacketPath): Pick<PacketPath, 'packets' | 'from'> {
  return { packets, ...(from === undefined ? {} : { from }) }
}

function paths(about: Omit<PacketPath, keyof Lookup>, found: Found | undefined): PacketPath[] {
  if (!found) return []
  const { by } = found.route
  return [{ ...about, ...lookupOf(found), ...(by === 'local' ? {} : { overriddenBy: overridesOf(found) }) }]
}

function lookupOf({ route, rule }: Found): Lookup {
  const { by, device, gateway } = route
  return {
    by,
    ...(device === undefined ? {} : { device }),
    ...(gateway === undefined ? {} : { gateway }),
    table: rule.table,
    priority: rule.priority,
  }
}

function overridesOf({ route, rule, minPrefix }: Found): Overrides {
  const isByNic = rule.table === tableMain && route.by === 'interface'
  return {
    priorityBelow: rule.priority,
    ...(Number.isFinite(minPrefix) ? { minPrefix } : {}),
    ...(isByNic ? { metricBelow: route.metric } : {}),
  }
}

/** As the kernel does it: the first rule whose table has a route. */
function find({ rules, tables }: Routing, packet: Packet, to: Ip): Found | undefined {
  let minPrefix = Number.POSITIVE_INFINITY
  for (const rule of rules) {
    if (!selects(rule, packet, to)) continue
    const route = bestRoute(to, tables.get(rule.table) ?? [])
    if (route && route.network.prefix > rule.suppress) {
      if (rule.table === tableMain) minPrefix = Math.min(minPrefix, route.network.prefix + 1)
      return { route, rule, minPrefix }
    }
    if (rule.table === tableMain) minPrefix = Math.min(minPrefix, rule.suppress + 1)
  }
  return undefined
}

function selects(rule: Rule, packet: Packet, to: Ip): boolean {
  if (rule.to && !contains(rule.to, to)) return false
  if (rule.primary) return packet.primary === true
  if (rule.marked !== undefined) return packet.marked === rule.marked
  return rule.from === undefined || (packet.from !== undefined && contains(rule.from, packet.from))
}

function bestRoute(to: Ip, routes: readonly Route[]): Route | undefined {
  const [best] = routes
    .filter(({ network }) => contains(network, to))
    .toSorted((a, b) => b.network.prefix - a.network.prefix || a.metric - b.metric)
  return best
}

function routingOf(nics: readonly KnownNic[], family: Family): Routing {
  const own = nics.map(known => ({ known, routes: routesOf(known, family) }))
  const main = own.flatMap(({ known, routes }) =>
    routes
      .filter(({ network }) => network.prefix > 0 && !isReserved(network, known))
      .map(route => ({ ...route, metric: mainMetricOf(known.nic.id, route.gateway) })),
  )
  const everything: Route = { network: unknownNetworks[family], metric: 0, by: 'primary' }
  const tables = new Map<number, Route[]>([
    [tableLocal, nics.flatMap(({ nic }) => cidrsOf(nic).map(localRoute))],
    [tableMain, [...main, everything]],
    [primaryTable(defaultTableBase), main.map(({ network }) => ({ network, metric: 0, by: 'primary' as const }))],
    ...own.map(({ known, routes }): [number, Route[]] => [tableOf(known), routes]),
  ])
  const rules = [
    { priority: 0, table: tableLocal, suppress: -1 },
    ...nics.flatMap(known => nicRulesOf(known, nics, family)),
    ...(main.length > 0 ? primaryRules(Math.max(...main.map(({ network }) => network.prefix))) : []),
    { priority: priorityOfMain, table: tableMain, suppress: -1 },
  ]
  return { rules: rules.toSorted((a, b) => a.priority - b.priority), tables }
}

function nicRulesOf(known: KnownNic, nics: readonly KnownNic[], family: Family): Rule[] {
  const { nic } = known
  const sources = sourcesOf(known, nics).filter(source => source.family === family)
  const rules = sourceRules(nic.id, tableOf(known), sources).map(
    ({ priority, table, from, to, suppressPrefixLength = -1 }): Rule => ({
      priority,
      table,
      suppress: suppressPrefixLength,
      ...cidrEntry('from', from),
      ...(to === undefined ? {} : cidrEntry('to', to)),
    }),
  )
  const mark = { priority: priorities.mark + nic.id, table: tableOf(known), suppress: -1, marked: nic.id }
  return rules.length === 0 ? [] : [mark, ...rules]
}

function primaryRules(longest: number): Rule[] {
  const table = primaryTable(defaultTableBase)
  return [
    { priority: priorities.primaryMain, table: tableMain, suppress: longest, primary: true },
    { priority: priorities.primary, table, suppress: 0, primary: true },
  ]
}

function sourcesOf(known: KnownNic, nics: readonly KnownNic[]): PacketSource[] {
  const others = nics
    .filter(one => one !== known)
    .flatMap(({ nic }) => cidrsOf(nic).map(network => ({ index: nic.id, network })))
    .filter(({ network }) => network.prefix < bitsOf(network.family))
  const reservedBy = (network: Cidr) => (isReserved(network, known) ? 'reported' : undefined)
  return packetSources(known.nic.id, cidrsOf(known.nic), { others, reservedBy })
}

function routesOf({ nic }: KnownNic, family: Family): Route[] {
  const { name, gateway, routes } = nic
  return nicRoutes({ ...(gateway && { gateway }), ...(routes && { routes }) }, cidrsOf(nic))
    .filter(route => route.family === family)
    .flatMap(({ destination, gateway: via }) => {
      const network = destination === 'default' ? unknownNetworks[family] : parseCidr(destination)
      const to = { by: 'interface' as const, device: name, ...(via === undefined ? {} : { gateway: via }) }
      return network ? [{ ...to, network, metric: 0 }] : []
    })
}

function localRoute({ family, address }: Cidr): Route {
  return { network: { family, address, prefix: bitsOf(family) }, metric: 0, by: 'local' }
}

function isReserved(network: Cidr, { reserved }: KnownNic): boolean {
  const parsed = reserved.flatMap(text => parseCidr(text) ?? [])
  return parsed.some(({ prefix, ...other }) => prefix === network.prefix && overlaps({ prefix, ...other }, network))
}

function cidrEntry<K extends 'from' | 'to'>(key: K, text: string): { [P in K]?: Cidr } {
  const cidr = parseCidr(text)
  return (cidr ? { [key]: cidr } : {}) as { [P in K]?: Cidr }
}

function tableOf({ nic }: KnownNic): number {
  return nicTable(defaultTableBase, nic.id)
}

function cidrsOf(nic: CompleteWireInterface): Cidr[] {
  return addressesOf(nic).flatMap(text => parseCidr(text) ?? [])
}

/** What to ask the node itself. */
export function questions(index: number, nic: CompleteWireInterface, to: Ip): string[] {
  const address = formatIp(to)
  const own = addressesOf(nic)
    .map(hostPart)
    .filter(from => parseIp(from)?.family === to.family)
  const [ip, table] = to.family === 4 ? ['ip', 'ip'] : ['ip -6', 'ip6']
  return [
    ...own.map(from => `ip route get ${address} from ${from}`),
    `ip route get ${address}`,
    ...(own.length > 0 ? [`ip route get ${address} mark ${markOf(index)}`] : []),
    `${ip} rule`,
    `nft list table ${table} multinic`,
  ]
}
