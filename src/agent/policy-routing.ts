/**
 * The rules of one NIC, and its routes in the main table: which packets use the NIC's own table.
 *
 * A packet from an address of the NIC leaves by the NIC. More specific routes of the main table over bridges and tunnels
 * come first, those over other NICs do not. Each network of the main table over another NIC gets two rules, longest prefix
 * first: more specific routes of the main table, then this network in the NIC's table. The last two rules are those of the
 * default route:
 *
 *     from A lookup main suppress_prefixlength 24
 *     from A to 10.0.0.0/24 lookup 100
 *     from A lookup main suppress_prefixlength 0
 *     from A lookup 100
 *
 * A packet without a source leaves by the NIC to its networks; longest prefix first, then lowest index. A packet from any
 * other address matches none of these.
 *
 * Pure.
 */
import { bitsOf, type Cidr, type Family, formatIp, networkOf, parseCidr, parseIp } from '../contract/address.ts'
import type { RouteSpec, SourceRule } from './change.ts'
import { protocolStatic, tableMain } from './observed.ts'

/** Between two ranks of rules: ten NICs have ten different priorities in each. */
const step = 20

/** The first priority of rules for packets without a source; the last one is right before the main table (32766). */
export const unboundPriority = 32_436

/**
 * The source of IPv4 packets without one: a network of 0.0.0.0 and 0.0.0.1, which is nobody's source. networkd 247 leaves out a
 * source that is written as 0.0.0.0, and the rule would match all packets.
 */
const unspecified4 = '0.0.0.1/31'
/** The source of IPv6 packets without one. */
export const unspecified6 = '::/128'

/** The priority of the rule `from` an address. */
function priorityOf(table: number): number {
  return 10_000 + table
}

/** For packets from the address. `others`: networks of the main table over other NICs. */
export function boundRules(address: Cidr, table: number, others: readonly Cidr[]): SourceRule[] {
  const { family } = address
  const common = { family, from: `${hostOf(address)}/${bitsOf(family)}`, protocol: protocolStatic }
  const networks = others.filter(other => other.family === family)
  const lengths = [...new Set([0, ...networks.map(({ prefix }) => prefix)])].sort((a, b) => a - b)
  const ranks = lengths.map((length, rank) => ({ length, priority: priorityOf(table) - 2 * rank * step }))
  const own = ranks.flatMap(({ length, priority }) => {
    const same = networks.filter(({ prefix }) => prefix === length)
    const destinations = length === 0 ? [{}] : [...new Set(same.map(networkOf))].map(to => ({ to }))
    return destinations.map(to => ({ ...common, ...to, table, priority }))
  })
  const main = ranks
    // No route is more specific than one to a host.
    .filter(({ length }) => length < bitsOf(family))
    .map(({ length, priority }) => ({
      ...common,
      table: tableMain,
      suppressPrefixLength: length,
      priority: priority - step,
    }))
  // In this order, so that no packet leaves by another NIC while the rules are added one by one.
  return [...own, ...main]
}

/** For IPv4 packets without a source. */
export function unboundRules(routes: readonly RouteSpec[], index: number): SourceRule[] {
  return routes.flatMap(({ family, destination, table }) => {
    const network = family === 4 ? parseCidr(destination) : undefined
    if (!network) return []
    const priority = unboundPriority + (32 - network.prefix) * 10 + index
    return [{ family, from: unspecified4, to: destination, table, priority, protocol: protocolStatic }]
  })
}

/**
 * For IPv6 packets without a source: a rule from `::/128` would match every packet, and a route does not. Other packets do
 * not match the route, and the kernel orders it by prefix and metric. networkd adds routes in any order at boot: without
 * the flag onlink, the kernel would refuse a router before the route to its network.
 */
export function unboundRoutes(routes: readonly RouteSpec[]): RouteSpec[] {
  return routes
    .filter(({ family }) => family === 6)
    .map(route => ({ ...route, table: tableMain, from: unspecified6, onlink: hasGlobalRouter(route) }))
}

/** A link-local router needs no route. */
export function hasGlobalRouter({ gateway }: RouteSpec): boolean {
  const router = gateway === undefined ? undefined : parseIp(gateway)
  return router?.family === 6 && !isLinkLocal(router)
}

export function isLinkLocal({ family, value }: { family: Family; value: bigint }): boolean {
  return family === 6 && value >> 118n === 0x3fan
}

/** The address without its prefix length. */
export function hostOf({ address }: Cidr): string {
  return formatIp(address)
}
