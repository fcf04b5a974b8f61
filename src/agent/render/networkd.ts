/**
 * The systemd-networkd file of one NIC, on hosts with Netplan.
 *
 * Pure. networkd takes the first file that matches, and 05 sorts before all that Netplan generates: from ours, which has no
 * key for an address without its route in the main table, and from another one that claims the same MAC. It also tells a
 * networkd that is restarted before the next boot of our rules, which it would drop.
 */
import type { RouteSpec, RuleSpec } from '../change.ts'
import type { WantedNic } from '../desired.ts'

export function networkFile(nic: WantedNic): string {
  const sections = [
    ['[Match]', `MACAddress=${nic.mac}`, `Name=${nic.name}`],
    ['[Link]', 'RequiredForOnline=no', ...(nic.mtu === undefined ? [] : [`MTUBytes=${nic.mtu}`])],
    ['[Network]', 'LinkLocalAddressing=ipv6', `IPv6AcceptRA=${nic.acceptRa ? 'yes' : 'no'}`],
    ...(nic.acceptRa ? [['[IPv6AcceptRA]', 'UseGateway=no', 'UseDNS=no']] : []),
    ...nic.addresses.map(address => [
      '[Address]',
      `Address=${address.cidr}`,
      ...(address.noPrefixRoute ? ['AddPrefixRoute=no'] : []),
    ]),
    ...nic.routes.map(routeSection),
    ...nic.rules.map(ruleSection),
  ]
  return sections.map(lines => `${lines.join('\n')}\n`).join('\n')
}

function routeSection(route: RouteSpec): string[] {
  const everything = route.family === 4 ? '0.0.0.0/0' : '::/0'
  return [
    '[Route]',
    `Destination=${route.destination === 'default' ? everything : route.destination}`,
    ...(route.gateway ? [`Gateway=${route.gateway}`] : route.family === 4 ? ['Scope=link'] : []),
    ...(route.source ? [`PreferredSource=${route.source}`] : []),
    ...(route.onlink ? ['GatewayOnLink=yes'] : []),
    `Metric=${route.metric}`,
    `Table=${route.table}`,
  ]
}

function ruleSection(rule: RuleSpec): string[] {
  return [
    '[RoutingPolicyRule]',
    ...(rule.from ? [`From=${rule.from}`] : []),
    ...(rule.to ? [`To=${rule.to}`] : []),
    `Table=${rule.table}`,
    `Priority=${rule.priority}`,
  ]
}
