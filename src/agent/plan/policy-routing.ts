/**
 * The rules of each NIC, and those that all NICs share, in the scheme of ../contract/routing-scheme.ts.
 *
 * Pure. See docs/decisions/0112-reply-routing.md
 */
import { type Cidr, contains, type Family, networkOf, overlaps } from '../../contract/address.ts'
import type { PacketSource } from '../../contract/packet-sources.ts'
import { hex, otherWayMark, priorities, sourceRules, tableMain } from '../../contract/routing-scheme.ts'
import type { RuleSpec } from '../state/change.ts'
import { everySource, protocolKernel, protocolStatic } from '../state/observed.ts'

/** The source of IPv4 packets without one: nobody sends from 0.0.0.1. iproute2 reads 0.0.0.0 as every source. */
const unspecified = '0.0.0.1/31'

interface NicRouting {
  index: number
  name: string
  table: number
  mark: number
  mask: number
}

/** In this order, so that no packet leaves by another NIC while the rules are added one by one. */
export function nicRules(nic: NicRouting, sources: readonly PacketSource[]): RuleSpec[] {
  const families: Family[] = [4, 6]
  return families.flatMap(family => {
    const rules = sourceRules(
      nic.index,
      nic.table,
      sources.filter(source => source.family === family),
    )
    const selected = rules.map(rule => ({ family, ...rule, iif: 'lo', protocol: protocolStatic }))
    return selected.length === 0 ? [] : [...selected, reversePathRule(nic, family), markRule(nic, family)]
  })
}

function markRule({ index, table, mark, mask }: NicRouting, family: Family): RuleSpec {
  return { ...markedRule(family, mark, mask), priority: priorities.mark + index, table, protocol: protocolStatic }
}

function reversePathRule({ name, mark, mask }: NicRouting, family: Family): RuleSpec {
  const selectors = { ...markedRule(family, mark, mask), iif: name }
  return { ...selectors, priority: priorities.reversePath, table: tableMain, protocol: protocolStatic }
}

function markedRule(family: Family, mark: number, mask: number): Pick<RuleSpec, 'family' | 'from' | 'fwmark'> {
  return { family, from: everySource[family], fwmark: `${hex(mark)}/${hex(mask)}` }
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
