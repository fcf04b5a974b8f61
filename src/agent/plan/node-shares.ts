/**
 * What each NIC contributes to the state that all NICs share.
 *
 * During a pass a NIC contributes both what its record says and what is requested: whether the pass succeeds or is rolled back,
 * no packet is without its mark. After the pass the record alone counts.
 *
 * Pure.
 */
import type { DesiredNic } from '../state/desired-nic.ts'
import type { MarkedNic } from '../state/nftables.ts'
import { tableMain } from '../state/observed.ts'
import type { OwnedNic } from '../state/ownership.ts'

export interface NodeShare {
  marked: MarkedNic
  /** Of its routes in the main table. */
  destinations: readonly string[]
}

export function nodeShares(desired: readonly DesiredNic[], owned: readonly OwnedNic[]): NodeShare[] {
  const requested = desired.map(({ marked, routes, macAddress }) => ({
    macAddress,
    marked,
    destinations: routes.filter(route => route.table === tableMain).map(({ destination }) => destination),
  }))
  const recorded = owned.flatMap(({ macAddress, record }) =>
    record ? [{ macAddress, marked: record.marked, destinations: record.mainRoutes.map(destinationIn) }] : [],
  )
  const merged = requested.map(share => {
    const before = recorded.find(({ macAddress }) => macAddress === share.macAddress)
    return before ? merge(before, share) : share
  })
  const others = recorded.filter(share => !requested.some(({ macAddress }) => macAddress === share.macAddress))
  return [...merged, ...others]
    .filter(({ marked }) => marked.sources.length > 0)
    .map(({ marked, destinations }) => ({ marked, destinations }))
    .sort((a, b) => a.marked.slot - b.marked.slot)
}

/** The NIC already has its new name when packets pass. */
function merge(before: NodeShare, after: NodeShare & { macAddress: string }): NodeShare & { macAddress: string } {
  const distinct = <T extends { cidr: string }>(list: readonly T[]) =>
    list.filter((item, position) => list.findIndex(({ cidr }) => cidr === item.cidr) === position)
  return {
    ...after,
    marked: {
      ...after.marked,
      sources: distinct([...after.marked.sources, ...before.marked.sources]),
      networks: distinct([...after.marked.networks, ...before.marked.networks]),
    },
    destinations: [...new Set([...after.destinations, ...before.destinations])],
  }
}

/** The first word of `routeText`. */
function destinationIn(route: string): string {
  return route.split(' ', 1)[0] ?? route
}
