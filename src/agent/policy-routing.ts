/**
 * The rules that decide which packets use the routing table of a NIC. None of them depends on other routes of the node.
 *
 *      9999    from 0.0.0.0/0 fwmark 0/MASK goto 10012                packets without a mark
 *     10000+i  from 0.0.0.0/0 fwmark X/MASK lookup T                    replies of connections that came in by the NIC
 *     10010    from 0.0.0.0/0 fwmark Y/MASK lookup P                    the same by another NIC, to the network of one of ours
 *     10012    not from 0.0.0.0/0 iif lo goto 10095                  forwarded packets
 *     10013    from 0.0.0.1/31 iif lo goto 10095                     packets without a source (IPv4)
 *     10014    from NP iif lo goto 10090                             the node's address
 *     10020+i  from A to N iif lo lookup main suppress_prefixlength L   in a shared network: more specific routes of others
 *     10030+i  from A iif lo lookup T suppress_prefixlength 0           in a shared network: the network by its own NIC
 *     10040+i  from A iif lo lookup main suppress_prefixlength 7        local Pods, bridges, tunnels
 *     10050+i  from A iif lo lookup T                                   everything else
 *     10060+i  from N iif lo lookup main suppress_prefixlength 7        the same for every address of a network
 *     10070+i  from N iif lo lookup T
 *     10090    from NP iif lo lookup main suppress_prefixlength L       the node's address: routes more specific than any N
 *     10091    from NP iif lo lookup P suppress_prefixlength 0          the node's address to the networks of NICs: as before
 *     10095    from 0.0.0.0/0 nop
 *
 * The rules with goto only save time: a packet costs some nanoseconds for each rule that it passes. i is the index of the NIC, A its address in the network N of length L, T its table, NP the network of the primary NIC and P
 * the table with routes by the primary NIC. `iif lo` leaves out packets that the node forwards: the main table has the networks
 * of NICs, with a metric worse than that of any other route, and longest prefix decides. Routes of length 0 to 7 count as
 * default routes: 0.0.0.0/1 and 128.0.0.0/1 of OpenVPN, 2000::/3, fc00::/7.
 *
 * Pure. See docs/decisions/0112-reply-routing.md
 */
import { bitsOf, type Cidr, contains, type Family, networkOf, overlaps, parseCidr } from '../contract/address.ts'
import type { RuleSpec } from './change.ts'
import { everySource, protocolKernel, protocolStatic, tableMain } from './observed.ts'
import type { PacketSource } from './packet-sources.ts'

const priorities = {
  unmarked: 9_999,
  mark: 10_000,
  otherWay: 10_010,
  forwarded: 10_012,
  unbound: 10_013,
  fromPrimary: 10_014,
  inside: 10_020,
  ownNetwork: 10_030,
  addressMain: 10_040,
  address: 10_050,
  networkMain: 10_060,
  network: 10_070,
  primaryMain: 10_090,
  primary: 10_091,
  end: 10_095,
} as const

/** The source of IPv4 packets without one: nobody sends from 0.0.0.1. iproute2 reads 0.0.0.0 as every source. */
const unspecified = '0.0.0.1/31'

/** Prefix lengths up to this one count as default routes. */
export const defaultLength = 7
/** Of one NIC and family. Sources beyond it have a mark instead, see nftables.ts. */
const maxRules = 8

/** Marks are one of sixteen values below the mask: 1 to 10 for the slots of NICs, 11 for the way by the primary NIC. */
export function slotMark(slot: number, mask: number): number {
  return markOf(slot + 1, mask)
}

export function otherWayMark(mask: number): number {
  return markOf(11, mask)
}

/** The lowest bit of the mask is 1. */
function markOf(value: number, mask: number): number {
  return value * (mask & -mask)
}

/** The table with routes by the primary NIC. */
export function primaryTable(tableBase: number): number {
  return tableBase + 10
}

interface NicRouting {
  index: number
  table: number
  mark: number
  mask: number
}

/** In this order, so that no packet leaves by another NIC while the rules are added one by one. */
export function nicRules(nic: NicRouting, sources: readonly PacketSource[]): RuleSpec[] {
  const families: Family[] = [4, 6]
  return families.flatMap(family => {
    const rules = sources.filter(source => source.family === family).map(source => sourceRules(nic, source))
    const fitting = rules.filter((_, at) => rules.slice(0, at + 1).flat().length < maxRules)
    return fitting.length === 0 ? [] : [...fitting.flat(), markRule(nic, family)]
  })
}

function sourceRules({ index, table }: NicRouting, { family, cidr, sharedNetwork }: PacketSource): RuleSpec[] {
  const isAddress = cidr.endsWith(`/${bitsOf(family)}`)
  const rule = (
    band: keyof typeof priorities,
    lookup: number,
    suppressPrefixLength?: number,
    to?: string,
  ): RuleSpec => ({
    family,
    priority: priorities[band] + index,
    table: lookup,
    from: cidr,
    ...(to === undefined ? {} : { to }),
    iif: 'lo',
    ...(suppressPrefixLength === undefined ? {} : { suppressPrefixLength }),
    protocol: protocolStatic,
  })
  const shared = sharedNetwork === undefined ? undefined : parseCidr(sharedNetwork)
  return [
    rule(isAddress ? 'address' : 'network', table),
    rule(isAddress ? 'addressMain' : 'networkMain', tableMain, defaultLength),
    ...(shared ? [rule('ownNetwork', table, 0), rule('inside', tableMain, shared.prefix, sharedNetwork)] : []),
  ]
}

function markRule({ index, table, mark, mask }: NicRouting, family: Family): RuleSpec {
  return { ...markedRule(family, mark, mask), priority: priorities.mark + index, table, protocol: protocolStatic }
}

function markedRule(family: Family, mark: number, mask: number): Pick<RuleSpec, 'family' | 'from' | 'fwmark'> {
  return { family, from: everySource[family], fwmark: `${hex(mark)}/${hex(mask)}` }
}

/** Reports whether a priority is between the first and the last one of ours. */
export function isOurPriority(priority: number): boolean {
  return priority >= priorities.unmarked && priority <= priorities.end
}

export interface SharedRouting {
  table: number
  mask: number
  /** Networks of the primary NIC. */
  primary: readonly Cidr[]
  /** Networks of NICs that the node reaches by the primary NIC as well. */
  networks: readonly Cidr[]
  /** What selects packets of NICs. */
  sources: readonly Cidr[]
  /** Whether packets may skip rules: a rule of others between ours would be skipped too. */
  skips: boolean
}

/**
 * The rules that all NICs share: packets of the node's own address to `networks` leave by the primary NIC. No file of a NIC has
 * them, and systemd-networkd removes rules of others when it starts, except those with the protocol of the kernel.
 */
export function sharedRules(
  family: Family,
  { table, mask, primary, networks, sources, skips }: SharedRouting,
): RuleSpec[] {
  const ofFamily = (list: readonly Cidr[]) => list.filter(cidr => cidr.family === family)
  const reached = ofFamily(networks)
  const longest = Math.max(...reached.map(({ prefix }) => prefix))
  const own = widest(ofFamily(primary))
  const common = { family, iif: 'lo', protocol: protocolKernel }
  const rules =
    reached.length === 0
      ? []
      : [
          ...own.map(networkOf).flatMap(from => [
            { ...common, from, table, suppressPrefixLength: 0, priority: priorities.primary },
            { ...common, from, table: tableMain, suppressPrefixLength: longest, priority: priorities.primaryMain },
          ]),
          {
            ...markedRule(family, otherWayMark(mask), mask),
            table,
            priority: priorities.otherWay,
            protocol: protocolKernel,
          },
        ]
  if (!skips || ofFamily(sources).length === 0) return rules
  const isApart = (network: Cidr) => !sources.some(source => source.family === family && overlaps(source, network))
  return [...rules, ...skippingRules(family, mask, own.filter(isApart).map(networkOf), reached.length > 0)]
}

/** A virtual address of the primary NIC that is in its network, such as keepalived's, needs no rule of its own. */
function widest(networks: readonly Cidr[]): Cidr[] {
  const distinct = [...new Map(networks.map(network => [networkOf(network), network])).values()]
  return distinct.filter(
    network => !distinct.some(other => other.prefix < network.prefix && contains(other, network.address)),
  )
}

/** The kernel ignores a goto as long as there is no rule with its target. */
function skippingRules(family: Family, mask: number, primary: readonly string[], hasOtherWay: boolean): RuleSpec[] {
  const { unmarked, forwarded, unbound, fromPrimary, primaryMain, end } = priorities
  const common = { family, table: 0, protocol: protocolKernel }
  const all = { ...common, from: everySource[family] }
  return [
    { ...all, nop: true, priority: end },
    ...primary.map(from => ({
      ...common,
      from,
      iif: 'lo',
      goto: hasOtherWay ? primaryMain : end,
      priority: fromPrimary,
    })),
    ...(family === 4 ? [{ ...common, from: unspecified, iif: 'lo', goto: end, priority: unbound }] : []),
    { ...all, not: true, iif: 'lo', goto: end, priority: forwarded },
    { ...all, fwmark: `0/${hex(mask)}`, goto: forwarded, priority: unmarked },
  ]
}

export function hex(value: number): string {
  return `0x${value.toString(16)}`
}
