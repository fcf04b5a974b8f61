/**
 * The systemd-networkd file of one NIC, on hosts with Netplan.
 *
 * Pure. networkd uses the first file that matches, and 05 sorts before the files that Netplan generates: from our YAML
 * file, because Netplan has no key for noprefixroute, and from a foreign one with the same MAC address. It also keeps our
 * rules when networkd restarts before the next boot.
 */

import { broadcastOf } from '../../contract/address.ts'
import { type AddressSpec, destinationOf, type RouteSpec, type RuleSpec } from '../state/change.ts'
import type { DesiredNic } from '../state/desired-nic.ts'

export function networkFile(nic: DesiredNic): string {
  const sections = [
    ['[Match]', `MACAddress=${nic.macAddress}`, `Name=${nic.name}`],
    ['[Link]', 'RequiredForOnline=no', ...(nic.mtu === undefined ? [] : [`MTUBytes=${nic.mtu}`])],
    networkSection(nic),
    ...(nic.acceptRa ? [['[IPv6AcceptRA]', 'UseGateway=no', 'UseDNS=no']] : []),
    ...nic.addresses.map(addressSection),
    ...nic.routes.map(routeSection),
    ...nic.rules.map(ruleSection),
  ]
  return sections.map(lines => `${lines.join('\n')}\n`).join('\n')
}

/**
 * Without a carrier, networkd would remove everything. Afterwards networkd 252 sets the default route before the route to
 * its gateway, which the kernel refuses, and gives up.
 */
function networkSection({ acceptRa }: DesiredNic): string[] {
  return ['[Network]', 'LinkLocalAddressing=ipv6', `IPv6AcceptRA=${acceptRa ? 'yes' : 'no'}`, 'IgnoreCarrierLoss=yes']
}

/** networkd 252 removes an address with a broadcast address that its file does not name, when it is reloaded. */
function addressSection({ cidr, noPrefixRoute }: AddressSpec): string[] {
  const broadcast = broadcastOf(cidr)
  return [
    '[Address]',
    `Address=${cidr}`,
    ...(broadcast === undefined ? [] : [`Broadcast=${broadcast}`]),
    ...(noPrefixRoute ? ['AddPrefixRoute=no'] : []),
  ]
}

function routeSection(route: RouteSpec): string[] {
  return [
    '[Route]',
    `Destination=${destinationOf(route)}`,
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
    ...(rule.fwmark ? [`Family=ipv${rule.family}`, `FirewallMark=${rule.fwmark}`] : [`From=${rule.from}`]),
    ...(rule.to ? [`To=${rule.to}`] : []),
    ...(rule.iif ? [`IncomingInterface=${rule.iif}`] : []),
    `Table=${rule.table}`,
    ...(rule.suppressPrefixLength === undefined ? [] : [`SuppressPrefixLength=${rule.suppressPrefixLength}`]),
    `Priority=${rule.priority}`,
  ]
}
