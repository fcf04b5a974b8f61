/**
 * The rules that decide which packets use the routing table of a NIC. None of them depends on other routes of the node.
 *
 *      9998    from 0.0.0.0/0 fwmark 0/MASK goto 10012                packets without a mark
 *      9999    from 0.0.0.0/0 iif NIC fwmark X/MASK lookup main          the reverse path of these replies
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
 * Where src_valid_mark is set, the reverse path filter looks up the source of a packet with its mark, and with the device by
 * which the packet leaves as iif. A packet that comes in by a NIC has no mark.
 *
 * The rules with goto only save time: a packet costs some nanoseconds for each rule that it passes. i is the index of the NIC, A its address in the network N of length L, T its table, NP the network of the primary NIC and P
 * the table with routes by the primary NIC. `iif lo` leaves out packets that the node forwards: the main table has the networks
 * of NICs, with a metric worse than that of any other route, and longest prefix decides. Routes of length 0 to 7 count as
 * default routes: 0.0.0.0/1 and 128.0.0.0/1 of OpenVPN, 2000::/3, fc00::/7.
 *
 * Pure. Free of dependencies: the agent sets these rules, and the CLI explains them. See
 * docs/decisions/0112-reply-routing.md
 */
import { bitsOf, parseCidr } from './address.ts'
import type { PacketSource } from './packet-sources.ts'

export const priorities = {
  unmarked: 9_998,
  reversePath: 9_999,
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

/** Of the kernel. */
export const tableDefault = 253
export const tableMain = 254
export const tableLocal = 255

/** Defaults of NETWORK_ROUTING_TABLE_BASE and NETWORK_MARK_MASK. */
export const defaultTableBase = 100
export const defaultMarkMask = 0x78

/** Prefix lengths up to this one count as default routes. */
export const defaultLength = 7
/** Of one NIC and family. Sources beyond it have a mark instead. */
const maxRules = 8

/** Worse than those of all other programs. A requested route must not win over the network of another NIC. */
const mainMetric = 20_000
const mainRouteMetric = 20_100

/** Of a route of a NIC in the main table. */
export function mainMetricOf(index: number, gateway: string | undefined): number {
  return (gateway === undefined ? mainMetric : mainRouteMetric) + index
}

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

export function hex(value: number): string {
  return `0x${value.toString(16)}`
}

export function nicTable(tableBase: number, index: number): number {
  return tableBase + index
}

/** The table with routes by the primary NIC. */
export function primaryTable(tableBase: number): number {
  return tableBase + 10
}

/** Reports whether a priority is between the first and the last one of ours. */
export function isOurPriority(priority: number): boolean {
  return priority >= priorities.unmarked && priority <= priorities.end
}

/** What a rule for packets of the node itself selects by their source, and where it looks them up. */
export interface SourceRule {
  priority: number
  table: number
  from: string
  to?: string
  suppressPrefixLength?: number
}

/** The rules of a NIC for its sources of one family, as many as fit. The last one that the kernel reads comes first. */
export function sourceRules(index: number, table: number, sources: readonly PacketSource[]): SourceRule[] {
  const rules = sources.map(source => rulesOf(index, table, source))
  return rules.filter((_, at) => rules.slice(0, at + 1).flat().length < maxRules).flat()
}

function rulesOf(index: number, table: number, { family, cidr, sharedNetwork }: PacketSource): SourceRule[] {
  const isAddress = cidr.endsWith(`/${bitsOf(family)}`)
  const rule = (
    band: keyof typeof priorities,
    lookup: number,
    suppressPrefixLength?: number,
    to?: string,
  ): SourceRule => ({
    priority: priorities[band] + index,
    table: lookup,
    from: cidr,
    ...(to === undefined ? {} : { to }),
    ...(suppressPrefixLength === undefined ? {} : { suppressPrefixLength }),
  })
  const shared = sharedNetwork === undefined ? undefined : parseCidr(sharedNetwork)
  return [
    rule(isAddress ? 'address' : 'network', table),
    rule(isAddress ? 'addressMain' : 'networkMain', tableMain, defaultLength),
    ...(shared ? [rule('ownNetwork', table, 0), rule('inside', tableMain, shared.prefix, sharedNetwork)] : []),
  ]
}
