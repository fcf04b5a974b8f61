/**
 * Pieces of the agent's work that are taken away, and the rows that fail then: a row that cannot fail proves nothing.
 *
 * A row fails in both families unless its name begins with one. The nft tables and the rules of a NIC cover for each other: some
 * rules count only without the tables.
 */
import { addressIn, type Layout } from './addresses.ts'
import { isPossible } from './expectations.ts'
import {
  type Change,
  together,
  withLines,
  withoutChains,
  withoutRoutes,
  withoutRules,
  withStrictFilter,
} from './sabotage.ts'
import { table } from './table.ts'
import type { Vpn } from './vpns.ts'

export interface Mutation {
  layout: Layout
  vpn?: Vpn
  change: Change
  fails: readonly string[]
}

const shared: Layout = 'two NICs in one subnet and one between them'
const reserved: Layout = "a NIC in the primary's subnet"

const defaultRoute = withLines(family => {
  const route = `default via ${addressIn(0, 1, family)} dev multinic0 metric 50`
  return { add: `route add ${route}`, remove: `route del ${route}` }
})
const everything = withLines(() => ({
  add: 'rule add priority 9000 lookup 101',
  remove: 'rule del priority 9000 lookup 101',
}))

const rowsBut = (layout: Layout, rows: readonly string[]): string[] =>
  Object.entries(table).flatMap(([name, row]) => (isPossible(row, layout) && !rows.includes(name) ? [name] : []))

/** The node's own packets that its chain at output moves. */
const byOutput: readonly string[] = [
  'a client behind the gateway reaches a NodePort at A with a hostNetwork endpoint',
  'a client behind the gateway reaches a NodePort with a hostNetwork endpoint over UDP',
  "a client in another NIC's subnet reaches B",
  "a client in the primary's subnet reaches A by the router",
  'a client on link reaches a NodePort at A with a hostNetwork endpoint',
  'a client on link reaches a NodePort with a hostNetwork endpoint over UDP',
  "the node bound to A reaches the primary's subnet by the gateway",
  "the node bound to B reaches another NIC's subnet by the gateway",
  'the node reaches a Service with an endpoint in N',
]
/** They need both chains: the labels come from prerouting. */
const byBoth: readonly string[] = [
  'a client behind the gateway reaches a NodePort at A with a hostNetwork endpoint',
  'a client behind the gateway reaches a NodePort with a hostNetwork endpoint over UDP',
  'a client on link reaches a NodePort at A with a hostNetwork endpoint',
  'a client on link reaches a NodePort with a hostNetwork endpoint over UDP',
]
/** They need the nft tables. */
const byChains: readonly string[] = [
  'a client in N reaches a NodePort Local at P by the router only over IPv6',
  'a client behind the gateway reaches a NodePort Cluster at A with a local Pod',
  'a client behind the gateway reaches a NodePort Cluster at B with a Pod of another node',
  'a client behind the gateway reaches a NodePort Cluster with a Pod of another node over UDP',
  'a client behind the gateway reaches a NodePort Local at A',
  'a client behind the gateway reaches a NodePort Local at B over UDP',
  'a client behind the gateway reaches a NodePort Local at the second NIC of the subnet',
  'a client behind the gateway reaches a NodePort at A with a hostNetwork endpoint',
  'a client behind the gateway reaches a NodePort with a hostNetwork endpoint over UDP',
  'a client behind the gateway reaches a Pod without masquerade by A',
  'a client behind the gateway reaches a VIP on no interface',
  'a client behind the gateway reaches an external IP',
  "a client in another NIC's subnet reaches B",
  "a client in the primary's subnet reaches A by the router",
  "a client in the primary's subnet reaches a NodePort Local at A",
  'a client on link reaches a NodePort Local at the second NIC of the subnet',
  'a client on link reaches a NodePort at A with a hostNetwork endpoint',
  'a client on link reaches a NodePort with a hostNetwork endpoint over UDP',
  'a client on link reaches a VIP on no interface',
  "the node bound to A reaches the primary's subnet by the gateway",
  "the node bound to B reaches another NIC's subnet by the gateway",
  'the node reaches a Service with an endpoint in N',
]
/** The same with a NIC in the primary's subnet. */
const byChainsReserved: readonly string[] = [
  'a client in N reaches a NodePort Local at P by the router only over IPv6',
  "a client in N reaches the NIC in the primary's subnet by the router",
  'a client behind the gateway reaches a NodePort Cluster at A with a local Pod',
  'a client behind the gateway reaches a NodePort Cluster with a Pod of another node over UDP',
  'a client behind the gateway reaches a NodePort Local at A',
  "a client behind the gateway reaches a NodePort Local at the NIC in the primary's subnet",
  'a client behind the gateway reaches a NodePort at A with a hostNetwork endpoint',
  'a client behind the gateway reaches a NodePort with a hostNetwork endpoint over UDP',
  'a client behind the gateway reaches a Pod without masquerade by A',
  'a client behind the gateway reaches a VIP on no interface',
  'a client behind the gateway reaches an external IP',
  "a client in the primary's subnet reaches A by the router",
  "a client in the primary's subnet reaches a NodePort Local at A",
  "a client in the primary's subnet reaches a NodePort Local at the NIC in this subnet",
  'a client on link reaches a NodePort at A with a hostNetwork endpoint',
  'a client on link reaches a NodePort with a hostNetwork endpoint over UDP',
  "the node bound to A reaches the primary's subnet by the gateway",
  'the node reaches a Service with an endpoint in N',
]

export const mutations: Readonly<Record<string, Mutation>> = {
  'without the rules 10000+i: replies by mark': {
    layout: shared,
    change: withoutRules(10_000, 10_009),
    fails: [
      'a client behind the gateway reaches a NodePort Cluster at A with a local Pod',
      'a client behind the gateway reaches a NodePort Cluster at B with a Pod of another node',
      'a client behind the gateway reaches a NodePort Cluster with a Pod of another node over UDP',
      'a client behind the gateway reaches a NodePort Local at A',
      'a client behind the gateway reaches a NodePort Local at B over UDP',
      'a client behind the gateway reaches a NodePort Local at the second NIC of the subnet',
      'a client behind the gateway reaches a NodePort at A with a hostNetwork endpoint',
      'a client behind the gateway reaches a NodePort with a hostNetwork endpoint over UDP',
      'a client behind the gateway reaches a Pod without masquerade by A',
      'a client behind the gateway reaches a VIP on no interface',
      'a client behind the gateway reaches an external IP',
      "a client in another NIC's subnet reaches B",
      "a client in the primary's subnet reaches A by the router",
      "a client in the primary's subnet reaches a NodePort Local at A",
      'a client on link reaches a NodePort Local at the second NIC of the subnet',
      'a client on link reaches a NodePort at A with a hostNetwork endpoint',
      'a client on link reaches a NodePort with a hostNetwork endpoint over UDP',
      'a client on link reaches a VIP on no interface',
      "the node bound to A reaches the primary's subnet by the gateway",
      "the node bound to B reaches another NIC's subnet by the gateway",
      'the node reaches a Service with an endpoint in N',
    ],
  },
  'without the rules 9999: the reverse path of replies by mark': {
    layout: shared,
    change: withoutRules(9_999),
    fails: [
      'IPv4: a client behind the gateway reaches a NodePort Cluster at A with a local Pod',
      'IPv4: a client behind the gateway reaches a NodePort Cluster at B with a Pod of another node',
      'IPv4: a client behind the gateway reaches a NodePort Cluster with a Pod of another node over UDP',
      'IPv4: a client behind the gateway reaches a NodePort Local at A',
      'IPv4: a client behind the gateway reaches a NodePort Local at B over UDP',
      'IPv4: a client behind the gateway reaches a NodePort Local at the second NIC of the subnet',
      'IPv4: a client behind the gateway reaches a Pod without masquerade by A',
      'IPv4: a client behind the gateway reaches a VIP on no interface',
      'IPv4: a client behind the gateway reaches an external IP',
      "IPv4: a client in the primary's subnet reaches a NodePort Local at A",
      'IPv4: a client on link reaches a NodePort Cluster at A with a Pod of another node',
      'IPv4: a client on link reaches a NodePort Cluster at A with a local Pod',
      'IPv4: a client on link reaches a NodePort Local at A',
      'IPv4: a client on link reaches a NodePort Local at A over UDP',
      'IPv4: a client on link reaches a NodePort Local at the second NIC of the subnet',
      'IPv4: a client on link reaches a Pod without masquerade by A',
      'IPv4: a client on link reaches a VIP on no interface',
      'IPv4: a client on link reaches an external IP',
    ],
  },
  'without the rule 10010: replies to N by the primary': {
    layout: shared,
    change: withoutRules(10_010),
    fails: ['a client in N reaches a NodePort Local at P by the router only over IPv6'],
  },
  'without the rules 10020+i: more specific routes in a shared subnet': {
    layout: shared,
    vpn: 'more specific routes into N',
    change: withoutRules(10_020, 10_029),
    fails: [
      'the node bound to A reaches an address of N that a more specific route covers',
      'the node bound to the second NIC reaches an address of N that a more specific route covers',
    ],
  },
  'without the rules 10030+i and the nft tables: own subnet by own NIC': {
    layout: shared,
    change: together(withoutRules(10_030, 10_039), withoutChains()),
    fails: [
      ...byChains,
      'a client on link reaches the second NIC of the subnet',
      'the node bound to the second NIC of the subnet reaches N',
      'the node bound to the second NIC reaches an address of N that a more specific route covers',
    ],
  },
  'without the rules 10040+i and 10060+i: main first': {
    layout: shared,
    change: together(withoutRules(10_040, 10_049), withoutRules(10_060, 10_069)),
    fails: [
      'a Pod reaches A of its node',
      'a Pod reaches a VIP of its node',
      'the node bound to A reaches a Pod of its own',
    ],
  },
  'without the rules 10050+i and the nft tables: default route by own NIC': {
    layout: shared,
    change: together(withoutRules(10_050, 10_059), withoutChains()),
    fails: [
      ...byChains,
      'a client behind the gateway reaches the second NIC of the subnet',
      'the node bound to the second NIC of the subnet reaches a far host',
    ],
  },
  'without the rules 10070+i: all else by the NIC': {
    layout: shared,
    change: withoutRules(10_070, 10_079),
    fails: ['the node bound to a VIP on the NIC reaches a far host by the gateway'],
  },
  'without the rule 10090: routes more specific than N': {
    layout: shared,
    vpn: 'more specific routes into N',
    change: withoutRules(10_090),
    fails: [
      'IPv4: the node reaches an address of N that a more specific route covers',
      'the node bound to P reaches an address of N that a more specific route covers',
    ],
  },
  'without the rule 10091: P to N by the primary': {
    layout: shared,
    change: withoutRules(10_091),
    fails: [
      'IPv4: a client in N reaches P by the router',
      'IPv4: a client in N reaches a VIP of the primary by the router',
      'the node bound to P reaches N by the router',
      'the node bound to P reaches an address of N that a more specific route covers',
    ],
  },
  'without N in the main table': {
    layout: shared,
    change: withoutRoutes(254),
    fails: [
      'a Pod reaches N, masqueraded',
      'a Pod reaches a Service with an endpoint in N',
      'a Pod reaches an address of N that a more specific route covers',
      'a Pod sends UDP to N',
      'a Pod without masquerade reaches N',
      'the node reaches N, unbound',
      'the node reaches an address of N that a more specific route covers',
      'the node sends UDP to N, unbound',
    ],
  },
  'without table 110': {
    layout: shared,
    change: withoutRoutes(110),
    fails: [
      'a client in N reaches a NodePort Local at P by the router only over IPv6',
      'a client in N reaches P by the router',
      'a client in N reaches a VIP of the primary by the router',
      'the node bound to P reaches N by the router',
      'the node bound to P reaches an address of N that a more specific route covers',
    ],
  },
  'without the chain at prerouting': {
    layout: shared,
    change: withoutChains('prerouting'),
    fails: byChains.filter(row => !byOutput.includes(row) || byBoth.includes(row)),
  },
  'without the chain at output': { layout: shared, change: withoutChains('output'), fails: byOutput },
  'without the nft tables': { layout: shared, change: withoutChains(), fails: byChains },
  'with a strict reverse path filter on the first NIC': {
    layout: shared,
    change: withStrictFilter('multinic0'),
    fails: [
      'IPv4: a client behind the gateway reaches a NodePort Cluster at A with a local Pod',
      'IPv4: a client behind the gateway reaches a NodePort Cluster with a Pod of another node over UDP',
      'IPv4: a client behind the gateway reaches a NodePort Local at A',
      'IPv4: a client behind the gateway reaches a NodePort at A with a hostNetwork endpoint',
      'IPv4: a client behind the gateway reaches a NodePort with a hostNetwork endpoint over UDP',
      'IPv4: a client behind the gateway reaches a Pod without masquerade by A',
      'IPv4: a client behind the gateway reaches an external IP',
      "IPv4: a client in the primary's subnet reaches A by the router",
      "IPv4: a client in the primary's subnet reaches a NodePort Local at A",
      'IPv4: a client on link reaches a NodePort at A with a hostNetwork endpoint',
      'IPv4: a client on link reaches a NodePort with a hostNetwork endpoint over UDP',
      "IPv4: the node bound to A reaches the primary's subnet by the gateway",
      'IPv4: the node reaches a Service with an endpoint in N',
    ],
  },
  'with the default route of a NIC in the main table': {
    layout: shared,
    change: defaultRoute,
    fails: [
      'a Pod reaches a far host by the primary',
      'a far client reaches P',
      'a far client reaches a NodePort Local at P',
      'the node bound to P reaches a far host',
      'the node reaches a far host, unbound, by the primary',
    ],
  },
  "with a rule that leads every packet to a NIC's table": {
    layout: shared,
    change: everything,
    fails: rowsBut(shared, [
      "a client in another NIC's subnet reaches B",
      "the node bound to B reaches another NIC's subnet by the gateway",
    ]),
  },
  "a NIC in the primary's subnet without all rules": {
    layout: reserved,
    change: withoutRules(10_000, 10_099),
    fails: [
      'a client in N reaches a NodePort Local at P by the router only over IPv6',
      'a client behind the gateway reaches A',
      'a client behind the gateway reaches a NodePort Cluster at A with a local Pod',
      'a client behind the gateway reaches a NodePort Cluster with a Pod of another node over UDP',
      'a client behind the gateway reaches a NodePort Local at A',
      "a client behind the gateway reaches a NodePort Local at the NIC in the primary's subnet",
      'a client behind the gateway reaches a NodePort at A with a hostNetwork endpoint',
      'a client behind the gateway reaches a NodePort with a hostNetwork endpoint over UDP',
      'a client behind the gateway reaches a Pod without masquerade by A',
      'a client behind the gateway reaches a VIP on no interface',
      'a client behind the gateway reaches a VIP on the NIC',
      'a client behind the gateway reaches an external IP',
      "a client behind the gateway reaches the NIC in the primary's subnet",
      'a client in N reaches P by the router',
      'a client in N reaches a VIP of the primary by the router',
      "a client in N reaches the NIC in the primary's subnet by the router",
      "a client in the primary's subnet reaches A by the router",
      "a client in the primary's subnet reaches a NodePort Local at A",
      "a client in the primary's subnet reaches a NodePort Local at the NIC in this subnet",
      "a client in the primary's subnet reaches the NIC in this subnet",
      'the node bound to A reaches a far host by the gateway',
      "the node bound to A reaches the primary's subnet by the gateway",
      'the node bound to A sends UDP to a far host',
      'the node bound to P reaches N by the router',
      'the node bound to P reaches an address of N that a more specific route covers',
      'the node bound to a VIP on the NIC reaches a far host by the gateway',
      "the node bound to the NIC in the primary's subnet reaches a far host",
      "the node bound to the NIC in the primary's subnet reaches this subnet",
    ],
  },
  "a NIC in the primary's subnet without the rules 10070+i and the nft tables": {
    layout: reserved,
    change: together(withoutRules(10_070, 10_079), withoutChains()),
    fails: [
      ...byChainsReserved,
      'a client behind the gateway reaches A',
      'a client behind the gateway reaches a VIP on the NIC',
      'the node bound to A reaches a far host by the gateway',
      'the node bound to A sends UDP to a far host',
      'the node bound to a VIP on the NIC reaches a far host by the gateway',
    ],
  },
  "a NIC in the primary's subnet without the rules 10030+i and the nft tables": {
    layout: reserved,
    change: together(withoutRules(10_030, 10_039), withoutChains()),
    fails: [
      ...byChainsReserved,
      "a client in the primary's subnet reaches the NIC in this subnet",
      "the node bound to the NIC in the primary's subnet reaches this subnet",
    ],
  },
  "a NIC in the primary's subnet without the rules 10050+i and the nft tables": {
    layout: reserved,
    change: together(withoutRules(10_050, 10_059), withoutChains()),
    fails: [
      ...byChainsReserved,
      "a client behind the gateway reaches the NIC in the primary's subnet",
      "the node bound to the NIC in the primary's subnet reaches a far host",
    ],
  },
  "a NIC in the primary's subnet without the nft tables": {
    layout: reserved,
    change: withoutChains(),
    fails: byChainsReserved,
  },
}
