/**
 * Asks the kernel which way packets of each NIC take, and compares the answers with the request: from an address of the
 * NIC, without a source, and from an address of the node.
 *
 * Pure. The questions are lines of the batch that observes the node, so they cost no process. They are known before the
 * node is observed; a line that fails has no answer and does not end the batch. A NIC is asked for its gateway, for one
 * neighbour in each of its networks and for one address of each requested route. A network of one address has no
 * neighbour, and one of two addresses has the other one.
 */
import {
  bitsOf,
  type Cidr,
  canonical,
  contains,
  formatIp,
  hostPart,
  networkOf,
  parseCidr,
  parseIp,
} from '../../contract/address.ts'
import { addressesOf, type Interface } from '../../contract/interfaces.ts'
import { unexpectedWay } from '../../contract/routing-messages.ts'
import { defaultLength } from '../../contract/routing-scheme.ts'
import type { NodeNetworks } from '../observe/node-networks.ts'
import { familyOf, type RouteSpec, type RuleSpec, ruleText } from '../state/change.ts'
import type { ExpectedLookup, LookupQuery } from '../state/desired-nic.ts'
import { linkByIndex, type Observed, type ObservedRoute, tableLocal, tableMain } from '../state/observed.ts'

/** A NIC as its lookups need it. */
interface LookupNic {
  index: number
  table: number
  addresses: readonly { cidr: string }[]
  routes: readonly RouteSpec[]
  rules: readonly RuleSpec[]
}

/** Addresses for documentation (RFC 5737 and RFC 3849): only a default route leads to them. No packet is sent. */
const remoteAddresses = { 4: '192.0.2.1', 6: '2001:db8::1' } as const

/** Lines for `ip -batch`: what to ask for these NICs out of all interfaces. */
export function lookupCommands(
  nics: readonly Interface[],
  interfaces: readonly Interface[],
  nodeAddresses: readonly string[],
  markOf: (nic: Interface) => string,
): string[] {
  const targets = lookupTargets(interfaces, nodeAddresses)
  return [
    ...new Set(
      nics.flatMap(nic => {
        const own = addressesOf(nic).map(hostPart)
        const near = (targets.get(nic.index) ?? []).flatMap(to =>
          [undefined, ...own, ...nodeAddresses]
            .filter(from => from === undefined || isSameFamily(from, to))
            .map(from => lookupCommand({ to, ...(from === undefined ? {} : { from }) })),
        )
        const far = own.flatMap(from => {
          const to = remoteAddresses[familyOf(from)]
          return [lookupCommand({ from, to }), lookupCommand({ mark: markOf(nic), to })]
        })
        return [...near, ...(nic.gateway === undefined ? [] : far)]
      }),
    ),
  ]
}

function lookupCommand({ from, mark, to }: LookupQuery): string {
  return `route get ${to}${from === undefined ? '' : ` from ${from}`}${mark === undefined ? '' : ` mark ${mark}`}`
}

/** Remote addresses of each NIC, by index. */
export function lookupTargets(
  interfaces: readonly Interface[],
  nodeAddresses: readonly string[],
): Map<number, string[]> {
  const nics = interfaces.map(nic => ({ nic, addresses: addressesOf(nic) }))
  const local = new Set([...nics.flatMap(({ addresses }) => addresses.map(hostPart)), ...nodeAddresses])
  return new Map(
    nics.map(({ nic, addresses }) => {
      const networks = [...addresses, ...(nic.routes ?? []).map(route => route.destination)]
      const neighbours = networks.flatMap(text => neighbourIn(parseCidr(text), local) ?? [])
      const gateway = nic.gateway === undefined ? [] : [canonical(nic.gateway) ?? nic.gateway]
      const families = new Set(addresses.map(familyOf))
      const all = [...gateway, ...neighbours].filter(to => !local.has(to) && !isLinkLocal(to))
      return [nic.index, [...new Set(all)].filter(to => families.has(familyOf(to)))]
    }),
  )
}

export function expectedLookups(
  nic: LookupNic,
  nics: readonly LookupNic[],
  targets: readonly string[],
  node: Pick<NodeNetworks, 'addresses' | 'primary' | 'routers'>,
): ExpectedLookup[] {
  const own = nic.addresses.map(({ cidr }) => hostPart(cidr))
  const inMain = nic.routes.filter(route => route.table === tableMain)
  const near = targets.flatMap((to): ExpectedLookup[] => {
    const ofFamily = (list: readonly string[]) => list.filter(from => isSameFamily(from, to))
    const network = bestDestination(to, nic.routes)
    const common = { to, by: 'nic' as const, ...(network === undefined ? {} : { minPrefix: prefixOf(network) }) }
    const isMoved = bestDestination(to, inMain) !== undefined
    const hasOtherWay = (from: string) => !isMoved || isOfPrimary(from, node)
    return [
      ...ofFamily(own).map(from => ({ ...common, from })),
      ...(winnerFor(to, nics) === nic ? [common] : []),
      ...ofFamily(node.addresses)
        .filter(hasOtherWay)
        .map(from => ({ from, to, by: 'other' as const })),
    ]
  })
  const far = nic.routes
    .filter(route => route.destination === 'default')
    .flatMap(({ family }): ExpectedLookup[] => {
      const to = remoteAddresses[family]
      const mark = nic.rules.find(rule => rule.family === family && rule.fwmark !== undefined)?.fwmark?.split('/')[0]
      return [
        ...own
          .filter(from => isSameFamily(from, to))
          .map(from => ({ from, to, by: 'nic' as const, minPrefix: defaultLength + 1 })),
        ...(mark === undefined ? [] : [{ mark, to, by: 'nic' as const }]),
      ]
    })
  return [...near, ...far]
}

/** The NIC that packets without a source use: longest prefix, then lowest index. */
function winnerFor(to: string, nics: readonly LookupNic[]): LookupNic | undefined {
  const lengthOf = (nic: LookupNic) => {
    const network = bestDestination(
      to,
      nic.routes.filter(route => route.table === tableMain),
    )
    return network === undefined ? -1 : prefixOf(network)
  }
  const [best] = nics.filter(nic => lengthOf(nic) >= 0).sort((a, b) => lengthOf(b) - lengthOf(a) || a.index - b.index)
  return best
}

/** The most specific destination of these routes, other than a default route, that contains the address. */
function bestDestination(to: string, routes: readonly { destination: string }[]): string | undefined {
  const ip = parseIp(to)
  const [best] = routes
    .map(({ destination }) => destination)
    .filter(destination => {
      const network = parseCidr(destination)
      return ip !== undefined && network !== undefined && contains(network, ip)
    })
    .sort((a, b) => prefixOf(b) - prefixOf(a))
  return best
}

function prefixOf(destination: string): number {
  return parseCidr(destination)?.prefix ?? 0
}

/** One line per packet that takes another way than expected. */
export function lookupDifferences(
  lookups: readonly ExpectedLookup[],
  ifindex: number,
  name: string,
  observed: Observed,
): string[] {
  return lookups.flatMap(lookup => {
    const found = observed.lookups?.[lookupCommand(lookup)]
    if (found === undefined) return []
    const isByNic = found?.devices.includes(ifindex) ?? false
    if (lookup.by === 'other') return isByNic ? [unexpectedWay(lookup, name, 'another device')] : []
    // An address of this node, also the anycast address of its router.
    if (isByNic || found?.table === tableLocal) return []
    if (found && isByLongerRoute(found, lookup, observed)) return []
    return [unexpectedWay(lookup, found ? wayOf(found, observed) : undefined, name)]
  })
}

/** Somebody gave a part of the network another way, or all of it with a better metric. */
function isByLongerRoute(
  { table, devices }: ObservedRoute,
  { to, minPrefix }: ExpectedLookup,
  { routes }: Observed,
): boolean {
  if (table !== tableMain || minPrefix === undefined) return false
  const destination = bestDestination(
    to,
    routes.filter(route => route.table === table && route.devices[0] === devices[0]),
  )
  return destination !== undefined && prefixOf(destination) >= minPrefix
}

/** The rules of the node's address select it, and lead to a router. */
function isOfPrimary(from: string, { primary, routers }: Pick<NodeNetworks, 'primary' | 'routers'>): boolean {
  const ip = parseIp(from)
  return ip !== undefined && routers[ip.family] !== undefined && primary.some(network => contains(network, ip))
}

/** Device and table, and the rule that leads there if it is not one of the kernel's. */
function wayOf({ devices, table, family }: ObservedRoute, observed: Observed): string {
  const device = linkByIndex(observed, devices[0] ?? 0)?.name ?? 'no device'
  const rule = observed.rules.find(each => each.family === family && each.table === table)
  const by = rule === undefined || table === tableMain ? '' : ` (rule ${ruleText(rule)})`
  return `${device}, table ${table}${by}`
}

/** The highest usable address that is not one of this node. */
function neighbourIn(network: Cidr | undefined, local: ReadonlySet<string>): string | undefined {
  if (!network || network.prefix === 0) return undefined
  const bits = bitsOf(network.family) - network.prefix
  const first = parseCidr(networkOf(network))?.address.value ?? 0n
  const size = 1n << BigInt(bits)
  // A network of more than two addresses has one for broadcasts.
  const last = first + size - (size > 2n ? 2n : 1n)
  const maxAttempts = 24n
  for (let value = last; value >= first && value > last - maxAttempts; value--) {
    const text = formatIp({ family: network.family, value })
    if (!local.has(text)) return text
  }
  return undefined
}

function isSameFamily(a: string, b: string): boolean {
  return familyOf(a) === familyOf(b)
}

function isLinkLocal(address: string): boolean {
  const ip = parseIp(address)
  return ip?.family === 6 && ip.value >> 118n === 0x3fan
}
