/**
 * NetworkManager: how to recognize it, the keyfile of one NIC, and which profile it activates: the one with the highest
 * priority.
 *
 * Pure. The connected route comes from the address, in our table by `route-table`; NetworkManager reads rules only from
 * `routing-rule1`, `routing-rule2`, …
 */

import type { Family } from '../../contract/address.ts'
import { interfaceName } from '../../contract/interfaces.ts'
import type { Paths } from '../paths.ts'
import { destinationOf, familyOf, type RouteSpec, type RuleSpec } from '../state/change.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import { kernelMetric, linkLocalRouteIn } from '../state/link-local.ts'
import { type Observed, tableMain } from '../state/observed.ts'
import { profileUuid } from '../state/ownership.ts'
import type { BackendRules } from './backend.ts'
import { filesIn, hostPath, plainMac, sectionOf } from './matching.ts'

/** The highest that NetworkManager accepts. */
export const maxPriority = 999

export const networkmanager: BackendRules = {
  directory: paths => paths.networkManager,
  alsoRead: paths => [paths.networkManagerRuntime, paths.networkManagerVendor],
  fileNames: /\.nmconnection$/,
  againstForeignFiles: 'wins',
  // NetworkManager reads every file in its directories.
  backups: paths => `${paths.state}/backup`,
  detect: ({ directories }, paths) =>
    directories.includes(paths.networkManager)
      ? { kind: 'networkmanager', because: [`no ${paths.netplan}`, `${paths.networkManager} exists`] }
      : undefined,
  render: (nic, paths) => [
    [paths.networkManager, `${nic.name}.nmconnection`, 0o600, keyfile(nic, profileUuid(nic.macAddress))],
  ],
  owns(paths, index) {
    const name = interfaceName(index)
    return [`${name}.nmconnection`, `9${index}-${name}.nmconnection`].map(file => `${paths.networkManager}/${file}`)
  },
  kindsAtBoot: ['.link', '.rules'],
  strongerFile: strongerProfile,
  readByNetworkManager: 'always',
  readByNetworkd: false,
  worksWithoutBus: false,
}

function keyfile(nic: DesiredNic, uuid: string): string {
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

/** NetworkManager ignores profiles that root does not own. */
function strongerProfile(
  { name, macAddress }: DesiredNic,
  { observed, paths, files: ours }: { observed: Observed; paths: Paths; files: ReadonlySet<string> },
): string | undefined {
  const profiles = [networkmanager.directory(paths), ...networkmanager.alsoRead(paths)].flatMap(directory =>
    filesIn(directory, '.nmconnection', observed),
  )
  for (const [path, file] of profiles) {
    if (ours.has(path) || file.uid !== 0) continue
    if (file.unreadable) return `cannot read ${hostPath(path)}, which may have the highest priority`
    const connection = sectionOf(file.text, 'connection')
    const ethernet = sectionOf(file.text, '(?:802-3-)?ethernet')
    const [priority, autoconnect = 'true', device, type = 'ethernet', mac = macAddress] = [
      ...['autoconnect-priority', 'autoconnect', 'interface-name', 'type'].map(key => connection[key]?.at(-1)),
      ethernet['mac-address']?.at(-1),
    ]
    if (Number(priority ?? 0) < maxPriority || autoconnect === 'false' || !type.endsWith('ethernet')) continue
    if ((device === undefined || device === name) && plainMac(mac) === plainMac(macAddress))
      return `${hostPath(path)} has autoconnect-priority ${priority}, the same as ours, so it may configure the NIC at boot`
  }
  return undefined
}
