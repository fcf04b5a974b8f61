/**
 * The NetworkManager keyfile of one NIC.
 *
 * Pure. The connected route comes from the address, in our table by `route-table`; NetworkManager reads rules only from
 * `routing-rule1`, `routing-rule2`, …
 */

import type { Family } from '../../contract/address.ts'
import { destinationOf, familyOf, type RouteSpec, type RuleSpec } from '../state/change.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import { kernelMetric, linkLocalRouteIn } from '../state/link-local.ts'
import { tableMain } from '../state/observed.ts'

/** The highest that NetworkManager accepts. */
export const maxPriority = 999

export function keyfile(nic: DesiredNic, uuid: string): string {
  return [
    '[connection]',
    `id=${nic.name}`,
    `uuid=${uuid}`,
    'type=ethernet',
    `interface-name=${nic.name}`,
    // Prevail over every other profile that matches the NIC.
    `autoconnect-priority=${maxPriority}`,
    '',
    '[ethernet]',
    `mac-address=${nic.macAddress.toUpperCase()}`,
    ...(nic.mtu === undefined ? [] : [`mtu=${nic.mtu}`]),
    '',
    '[ipv4]',
    ...family(nic, 4),
    '',
    '[ipv6]',
    ...family(nic, 6),
    '',
  ].join('\n')
}

function family(nic: DesiredNic, of: Family): string[] {
  const addresses = nic.addresses.filter(address => familyOf(address.cidr) === of)
  const auto = of === 6 && nic.acceptRa
  if (addresses.length === 0 && !auto) return [of === 4 ? 'method=disabled' : 'method=ignore']
  const routes = nic.routes.filter(route => route.family === of)
  const rules = nic.rules.filter(rule => rule.family === of)
  return [
    auto ? 'method=auto' : 'method=manual',
    ...(auto ? ['ignore-auto-dns=true'] : []),
    ...(of === 6 ? ['addr-gen-mode=eui64'] : []),
    ...addresses.map((address, index) => `address${index + 1}=${address.cidr}`),
    'never-default=true',
    ...(routes[0] ? [`route-table=${nic.table}`, `route-metric=${routes[0].metric}`] : []),
    ...listedRoutes(nic, of).flatMap(routeLines),
    ...rules.map((rule, index) => `routing-rule${index + 1}=${ruleText(rule)}`),
  ]
}

/** The routes that NetworkManager does not add with the addresses. */
export function listedRoutes({ routes }: DesiredNic, of: Family): RouteSpec[] {
  const listed = routes.filter(route => route.family === of && (route.gateway || route.table === tableMain))
  return of === 6 ? [...listed, linkLocalRoute] : listed
}

/** As the kernel adds it with a link-local address. NetworkManager itself adds it to our table only. */
const linkLocalRoute: RouteSpec = linkLocalRouteIn(tableMain, kernelMetric)

function routeLines(route: RouteSpec, index: number): string[] {
  const options = [
    ...(route.onlink ? ['onlink=true'] : []),
    ...(route.source ? [`src=${route.source}`] : []),
    ...(route.table === tableMain ? [`table=${route.table}`] : []),
  ]
  return [
    `route${index + 1}=${destinationOf(route)},${route.gateway ?? (route.family === 4 ? '0.0.0.0' : '::')},${route.metric}`,
    ...(options.length > 0 ? [`route${index + 1}_options=${options.join(',')}`] : []),
  ]
}

function ruleText(rule: RuleSpec): string {
  return [
    `priority ${rule.priority}`,
    // NetworkManager accepts no source of length 0.
    ...(rule.from && !rule.from.endsWith('/0') ? [`from ${rule.from}`] : []),
    ...(rule.to ? [`to ${rule.to}`] : []),
    ...(rule.iif ? [`iif ${rule.iif}`] : []),
    ...(rule.fwmark ? [`fwmark ${rule.fwmark}`] : []),
    `table ${rule.table}`,
    ...(rule.suppressPrefixLength === undefined ? [] : [`suppress_prefixlength ${rule.suppressPrefixLength}`]),
  ].join(' ')
}
