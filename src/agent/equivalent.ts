/**
 * Routes and rules of others that are equivalent to ours: they stay as they are.
 *
 * Pure.
 */
import { type RouteSpec, type RuleSpec, routeText, ruleText } from './change.ts'
import type { BackendKind } from './config.ts'
import { protocolKernel } from './observed.ts'

/** A connected route from NetworkManager or the kernel stays. Where NetworkManager adds it at boot, ours is the same. */
export function equivalentRoute(desired: RouteSpec, present: readonly RouteSpec[], backend: BackendKind): RouteSpec {
  const fromKernel = { ...desired, protocol: protocolKernel }
  const isPresent = (spec: RouteSpec) => present.some(route => routeText(route) === routeText(spec))
  if (isPresent(fromKernel)) return fromKernel
  const isConnected = !desired.gateway && !desired.from
  return backend === 'networkmanager' && isConnected && !isPresent(desired) ? fromKernel : desired
}

/** Who added a rule does not matter to packets: a rule with another protocol stays, without a moment in which it is missing. */
export function equivalentRule(desired: RuleSpec, present: readonly RuleSpec[]): RuleSpec {
  return present.find(rule => ruleText(rule) === ruleText(desired)) ?? desired
}
