/**
 * The ifcfg, route- and rule- files of one NIC, for RHEL and CentOS 7 and 8.
 *
 * Pure. There is no validator for this format; golden files are the only test.
 */
import type { Family } from '../../contract/address.ts'
import { destinationOf, familyOf, type RouteSpec, type RuleSpec } from '../change.ts'
import type { DesiredNic } from '../desired.ts'

export function ifcfgFiles(nic: DesiredNic, uuid: string): Record<string, string> {
  const of = <T>(items: readonly T[], family: Family, familyOfItem: (item: T) => Family) =>
    items.filter(item => familyOfItem(item) === family)
  const lines = (items: readonly string[]) => (items.length > 0 ? `${items.join('\n')}\n` : '')
  const files: Record<string, string> = { ifcfg: lines(ifcfg(nic, uuid)) }
  for (const family of [4, 6] as const) {
    const mark = family === 4 ? '' : '6'
    files[`route${mark}`] = lines(
      of(nic.routes, family, route => route.family).map(route => routeLine(route, nic.name)),
    )
    files[`rule${mark}`] = lines(of(nic.rules, family, rule => rule.family).map(ruleLine))
  }
  return Object.fromEntries(Object.entries(files).filter(([, text]) => text !== ''))
}

function ifcfg(nic: DesiredNic, uuid: string): string[] {
  const v4 = nic.addresses.filter(address => familyOf(address.cidr) === 4).map(address => address.cidr)
  const [first6, ...more6] = nic.addresses.filter(address => familyOf(address.cidr) === 6).map(address => address.cidr)
  return [
    `DEVICE=${nic.name}`,
    `NAME=${nic.name}`,
    `UUID=${uuid}`,
    'TYPE=Ethernet',
    `HWADDR=${nic.macAddress.toUpperCase()}`,
    'ONBOOT=yes',
    'BOOTPROTO=none',
    'DEFROUTE=no',
    ...v4.flatMap((cidr, index) => {
      const [address, prefix] = cidr.split('/')
      return [`IPADDR${index || ''}=${address}`, `PREFIX${index || ''}=${prefix}`]
    }),
    ...(nic.routes[0] ? [`IPV4_ROUTE_METRIC=${nic.routes[0].metric}`, `IPV4_ROUTE_TABLE=${nic.table}`] : []),
    `IPV6INIT=${first6 || nic.acceptRa ? 'yes' : 'no'}`,
    `IPV6_AUTOCONF=${nic.acceptRa ? 'yes' : 'no'}`,
    ...(first6 || nic.acceptRa ? ['IPV6_DEFROUTE=no'] : []),
    ...(first6
      ? [
          `IPV6ADDR=${first6}`,
          ...(more6.length > 0 ? [`IPV6ADDR_SECONDARIES="${more6.join(' ')}"`] : []),
          ...(nic.routes[0] ? [`IPV6_ROUTE_TABLE=${nic.table}`] : []),
        ]
      : []),
    ...(nic.mtu === undefined ? [] : [`MTU=${nic.mtu}`]),
  ]
}

function routeLine(route: RouteSpec, device: string): string {
  return [
    destinationOf(route),
    ...(route.from ? [`from ${route.from}`] : []),
    ...(route.gateway ? [`via ${route.gateway}`] : []),
    `dev ${device}`,
    ...(route.source ? [`src ${route.source}`] : []),
    `table ${route.table}`,
    `metric ${route.metric}`,
    ...(route.onlink ? ['onlink'] : []),
  ].join(' ')
}

function ruleLine(rule: RuleSpec): string {
  return [
    ...(rule.from ? [`from ${rule.from}`] : []),
    ...(rule.to ? [`to ${rule.to}`] : []),
    `table ${rule.table}`,
    ...(rule.suppressPrefixLength === undefined ? [] : [`suppress_prefixlength ${rule.suppressPrefixLength}`]),
    `priority ${rule.priority}`,
  ].join(' ')
}
