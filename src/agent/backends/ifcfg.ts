/**
 * ifcfg files, of RHEL and CentOS 7 and 8: how to recognize them, and the ifcfg, route- and rule- files of one NIC.
 *
 * Pure. NetworkManager and the network scripts read them differently. With a rule- file, NetworkManager (since 1.18) ignores
 * the tables, the routes and its own keys for rules. The network scripts do not know these keys.
 */

import type { Family } from '../../contract/address.ts'
import { interfaceName } from '../../contract/interfaces.ts'
import { destinationOf, familyOf, type RouteSpec, type RuleSpec } from '../state/change.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import { profileUuid } from '../state/ownership.ts'
import type { BackendRules } from './backend.ts'
import { listedRoutes, maxPriority } from './networkmanager.ts'

const prefixes = ['ifcfg', 'route', 'route6', 'rule', 'rule6']

export const ifcfg: BackendRules = {
  directory: paths => paths.networkScripts,
  alsoRead: () => [],
  fileNames: new RegExp(`^(${prefixes.join('|')})-`),
  againstForeignFiles: 'undecided',
  backups: paths => `${paths.networkScripts}/backup`,
  detect({ files, directories }, paths) {
    const count = (directory: string, name: RegExp) =>
      Object.keys(files).filter(path => path.startsWith(`${directory}/`) && name.test(path)).length
    if (!directories.includes(paths.networkScripts)) return undefined
    const scripts = count(paths.networkScripts, /\/ifcfg-(?!lo$)/)
    const keyfiles = count(paths.networkManager, /\.nmconnection$/)
    if (scripts > 0 && keyfiles === 0) {
      const because = [`${paths.networkScripts} has ${scripts} ifcfg files`, 'no .nmconnection files']
      return { kind: 'ifcfg', because }
    }
    if (directories.includes(paths.networkManager)) return undefined
    return { kind: 'ifcfg', because: [`only ${paths.networkScripts} exists`] }
  },
  render: (nic, paths, byManager) =>
    Object.entries(ifcfgFiles(nic, profileUuid(nic.macAddress), byManager)).map(([prefix, text]) => [
      ...([paths.networkScripts, `${prefix}-${nic.name}`, 0o644, text] as const),
    ]),
  owns: (paths, index) => prefixes.map(prefix => `${paths.networkScripts}/${prefix}-${interfaceName(index)}`),
  kindsAtBoot: ['.link', '.rules'],
  strongerFile: () => undefined,
  // Without it, the network scripts read them.
  readByNetworkManager: 'ifRunning',
  readByNetworkd: false,
  worksWithoutBus: false,
}

function ifcfgFiles(nic: DesiredNic, uuid: string, byManager: boolean): Record<string, string> {
  const lines = (items: readonly string[]) => (items.length > 0 ? `${items.join('\n')}\n` : '')
  const files: Record<string, string> = {
    ifcfg: lines([...ifcfgLines(nic, uuid), ...(byManager ? managerKeys(nic) : [])]),
  }
  for (const family of [4, 6] as const) {
    const mark = family === 4 ? '' : '6'
    const routes = byManager ? managerRoutes(nic, family) : nic.routes.filter(route => route.family === family)
    files[`route${mark}`] = lines(routes.map(route => routeLine(route, nic.name)))
    files[`rule${mark}`] = byManager ? '' : lines(rulesOf(nic, family).map(ruleLine))
  }
  return Object.fromEntries(Object.entries(files).filter(([, text]) => text !== ''))
}

function ifcfgLines(nic: DesiredNic, uuid: string): string[] {
  const v4 = cidrsOf(nic, 4)
  const [first6, ...more6] = cidrsOf(nic, 6)
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
    `IPV6INIT=${hasIpv6(nic) ? 'yes' : 'no'}`,
    `IPV6_AUTOCONF=${nic.acceptRa ? 'yes' : 'no'}`,
    ...(hasIpv6(nic) ? ['IPV6_DEFROUTE=no'] : []),
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

/** What only NetworkManager reads: the same as in its keyfile. */
function managerKeys(nic: DesiredNic): string[] {
  const route6 = nic.routes.find(route => route.family === 6)
  return [
    `AUTOCONNECT_PRIORITY=${maxPriority}`,
    ...(hasIpv6(nic) ? ['IPV6_ADDR_GEN_MODE=eui64'] : []),
    ...(nic.acceptRa ? ['IPV6_PEERDNS=no'] : []),
    ...(route6 ? [`IPV6_ROUTE_METRIC=${route6.metric}`] : []),
    ...([4, 6] as const).flatMap(family => {
      const key = family === 4 ? 'ROUTING_RULE' : 'ROUTING_RULE6'
      return rulesOf(nic, family).map((rule, index) => `${key}_${index + 1}="${ruleLine(rule)}"`)
    }),
  ]
}

function managerRoutes(nic: DesiredNic, family: Family): RouteSpec[] {
  return family === 4 || hasIpv6(nic) ? listedRoutes(nic, family) : []
}

function hasIpv6(nic: DesiredNic): boolean {
  return nic.acceptRa || cidrsOf(nic, 6).length > 0
}

function cidrsOf({ addresses }: DesiredNic, family: Family): string[] {
  return addresses.map(({ cidr }) => cidr).filter(cidr => familyOf(cidr) === family)
}

function rulesOf({ rules }: DesiredNic, family: Family): RuleSpec[] {
  return rules.filter(rule => rule.family === family)
}

function routeLine(route: RouteSpec, device: string): string {
  return [
    destinationOf(route),
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
    // NetworkManager accepts no source of length 0.
    ...(rule.from && !rule.from.endsWith('/0') ? [`from ${rule.from}`] : []),
    ...(rule.to ? [`to ${rule.to}`] : []),
    ...(rule.iif ? [`iif ${rule.iif}`] : []),
    ...(rule.fwmark ? [`fwmark ${rule.fwmark}`] : []),
    `table ${rule.table}`,
    ...(rule.suppressPrefixLength === undefined ? [] : [`suppress_prefixlength ${rule.suppressPrefixLength}`]),
    `priority ${rule.priority}`,
  ].join(' ')
}
