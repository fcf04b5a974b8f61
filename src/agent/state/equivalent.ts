/**
 * Routes and rules of others that are equivalent to ours, or that the kernel may take for ours: they stay as they are.
 *
 * Pure.
 */

import { type AddressSpec, connectedTo, type RouteSpec, type RuleSpec, routeText, ruleKey, ruleText } from './change.ts'
import type { DesiredNic } from './desired-nic.ts'
import { type ObservedRule, protocolKernel, tableMain } from './observed.ts'

/** A connected route from NetworkManager or the kernel stays. Where NetworkManager adds it at boot, ours is the same. */
export function equivalentRoute(desired: RouteSpec, present: readonly RouteSpec[], byManager: boolean): RouteSpec {
  const fromKernel = { ...desired, protocol: protocolKernel }
  const isPresent = (spec: RouteSpec) => present.some(route => routeText(route) === routeText(spec))
  if (isPresent(fromKernel)) return fromKernel
  // Those in the main table are in its profile.
  const isConnected = !desired.gateway && !desired.from && desired.table !== tableMain
  return byManager && isConnected && !isPresent(desired) ? fromKernel : desired
}

/**
 * An address that has a connected route keeps it, with a worse metric, if the main table may have the network. Adding the address
 * anew would end the connections of Pods that are masqueraded to it.
 */
export function equivalentAddress(
  desired: AddressSpec,
  nic: Pick<DesiredNic, 'routes' | 'prefixMetric'>,
  present: readonly AddressSpec[],
): AddressSpec {
  const known = present.find(({ cidr }) => cidr === desired.cidr)
  const network = connectedTo(desired.cidr)
  const isInMain = nic.routes.some(route => route.table === tableMain && route.destination === network)
  return known && !known.noPrefixRoute && isInMain
    ? { ...desired, noPrefixRoute: false, metric: nic.prefixMetric }
    : desired
}

/** Who added a rule does not matter to packets: a rule with another protocol stays, without a moment in which it is missing. */
export function equivalentRule(desired: RuleSpec, present: readonly RuleSpec[]): RuleSpec {
  return present.find(rule => ruleText(rule) === ruleText(desired)) ?? desired
}

/**
 * A rule of others that the kernel may remove instead of ours: it removes the first one that has the given selectors,
 * whatever others that one has.
 */
export function removedInstead(
  rule: RuleSpec,
  present: readonly ObservedRule[],
  removed: ReadonlySet<string>,
): ObservedRule | undefined {
  // A source of length 0 is no selector.
  const given = Object.entries(rule).filter(
    ([key, value]) => value !== undefined && !(key === 'from' && String(value).endsWith('/0')),
  )
  return present.find(
    other =>
      given.every(([key, value]) => other[key as keyof RuleSpec] === value) &&
      !(other.plain && removed.has(ruleKey(other))),
  )
}
