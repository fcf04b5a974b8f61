/**
 * Guards: decide whether the agent may change a NIC at all. Every refusal has a reason and a message.
 *
 * Pure, and fails closed: a NIC is refused when in doubt. The guards that protect most come first.
 */

import { hostPart, overlaps, parseCidr, parseIp } from '../../contract/address.ts'
import type { NodeAddress } from '../../contract/agent-input.ts'
import { isSameMachine } from '../../contract/machine.ts'
import type { InterfaceReason } from '../../contract/reasons/catalogue.ts'
import type { BackendRules, DetectedBackend } from '../backends/backend.ts'
import { allBackends } from '../backends/backends.ts'
import { mentions, winnerAtBoot } from '../backends/boot-order.ts'
import { filesOfIndex } from '../backends/owned.ts'
import type { Settings } from '../config.ts'
import type { AgentRequest } from '../input.ts'
import { isConfiguredOn, neededElsewhere } from '../observe/needed-addresses.ts'
import type { Paths } from '../paths.ts'
import { routeText } from '../state/change.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import { isLinkLocalRoute } from '../state/link-local.ts'
import { routeSpec } from '../state/nic-state.ts'
import {
  type FileState,
  type Link,
  linkByIndex,
  type Observed,
  type ObservedRoute,
  protocolKernel,
  tableMain,
} from '../state/observed.ts'
import { isForeign, type OwnedNic, recordPath } from '../state/ownership.ts'
import { isKernelTable } from '../state/records.ts'
import {
  acceptsDynamic,
  isDynamicAddress,
  isDynamicRoute,
  isNodeDefault,
  takesRouteOver,
  whyNotHandedOver,
} from './take-over.ts'

export interface Refusal {
  reason: InterfaceReason
  message: string
}

export interface GuardInput {
  observed: Observed
  settings: Settings
  backend: DetectedBackend['kind']
  paths: Paths
  /** The node's own addresses, in canonical notation. */
  nodeAddresses: readonly string[]
  addressesOfNodes?: readonly NodeAddress[]
  serviceCIDRs?: readonly string[]
  /** Devices of requested NICs, and of NICs that multinic has configured. */
  ours: ReadonlySet<number>
  /** Our routing tables: those in our records and files. */
  tables: ReadonlySet<number>
  /** The same by ifindex. */
  tablesOfDevices: ReadonlyMap<number, ReadonlySet<number>>
  /** Every path that multinic may write. */
  files: ReadonlySet<string>
}

/**
 * A machine without DMI has no SystemUUID. The boot ID identifies it as well: the controller compared the SystemUUID of the
 * Node that reported this boot ID.
 */
export function wrongMachine(
  expected: Pick<AgentRequest, 'instanceId' | 'bootID'>,
  machine: { systemUUID: string; bootID: string },
): Refusal | undefined {
  const { instanceId, bootID } = expected
  const { systemUUID } = machine
  if (!instanceId || isSameMachine(instanceId, systemUUID)) return undefined
  if (systemUUID !== '')
    return wrong(`SystemUUID of this machine is ${systemUUID.toLowerCase()}, expected ${instanceId.toLowerCase()}`)
  if (bootID === undefined) return wrong(`cannot read SystemUUID of this machine, expected ${instanceId.toLowerCase()}`)
  if (bootID === machine.bootID) return undefined
  return wrong(`this machine has no SystemUUID, and its boot ID is ${machine.bootID}, expected ${bootID}`)
}

function wrong(message: string): Refusal {
  return { reason: 'WrongMachine', message }
}

/** Without these paths the agent can neither configure nor roll back, and a run would only look successful. */
export function notMounted(missing: readonly string[]): Refusal | undefined {
  if (missing.length === 0) return undefined
  return { reason: 'HostPathNotMounted', message: `not mounted from the host: ${missing.join(', ')}` }
}

/** The node needs this device for its own traffic, so the agent never changes it, requested or not. */
export function nodeDependsOn(link: Link, input: GuardInput, owned: OwnedNic | undefined): Refusal | undefined {
  const { observed, nodeAddresses, settings, tables } = input
  const route = observed.routes.find(
    entry =>
      entry.destination === 'default' &&
      entry.devices.includes(link.ifindex) &&
      (isKernelTable(entry.table) || !tables.has(entry.table)) &&
      (!takesRouteOver(settings, entry) || isNodeDefault(entry, link, input)),
  )
  if (route) return { reason: 'CarriesDefaultRoute', message: `${link.name} carries ${describeRoute(route)}` }

  const address = observed.addresses.find(
    entry => entry.ifindex === link.ifindex && nodeAddresses.includes(hostPart(entry.cidr)),
  )
  if (address) return { reason: 'HasNodeAddress', message: `${link.name} has the node's address ${address.cidr}` }

  if (observed.apiPath?.ifindex === link.ifindex)
    return { reason: 'CarriesApiServerRoute', message: `${link.name} carries the route to the API server` }
  const unknown = apiPathUnknown(link, input, owned)
  if (unknown) return unknown
  if (link.master) return { reason: 'LinkHasMaster', message: `${link.name} is a member of ${link.master}` }
  return undefined
}

/** While the API server's name does not resolve, any foreign route may be the route to it. */
function apiPathUnknown(
  link: Link,
  { observed, settings: { apiServer }, tables }: GuardInput,
  owned: OwnedNic | undefined,
): Refusal | undefined {
  if (apiServer === undefined || parseIp(apiServer) || owned || !link.up) return undefined
  const route = observed.routes.find(
    entry =>
      entry.type === 1 && entry.devices.includes(link.ifindex) && !tables.has(entry.table) && !isLinkLocal(entry),
  )
  return (
    route && {
      reason: 'CarriesApiServerRoute',
      message: `${link.name} has ${describeRoute(route)}, which may lead to the API server: cannot resolve ${apiServer}`,
    }
  )
}

/** The first refusal; undefined when the NIC may be changed. */
export function runGuards(
  nic: DesiredNic,
  link: Link,
  input: GuardInput,
  owned: OwnedNic | undefined,
): Refusal | undefined {
  return (
    nodeDependsOn(link, input, owned) ??
    upperDevices(nic, link, input, owned) ??
    dhcpClient(link, input, owned) ??
    foreignUse(nic, link, input, owned) ??
    foreignRecord(nic, input) ??
    foreignFile(nic, link, input) ??
    tableInUse(nic, link, input) ??
    addressInUse(nic, input) ??
    addressNeeded(nic, link, input, owned) ??
    mtuNotSupported(nic, link) ??
    ambiguousName(link, input)
  )
}

/** Devices on top of a foreign NIC are foreign. On ours they stay, and the NIC keeps its name and at least its MTU. */
function upperDevices(
  nic: DesiredNic,
  link: Link,
  { observed }: GuardInput,
  owned: OwnedNic | undefined,
): Refusal | undefined {
  const disturbed = !owned || link.name !== nic.name || (nic.mtu !== undefined && nic.mtu < link.mtu)
  return disturbed ? hasUpperDevices(link, observed) : undefined
}

/** A rename, a smaller MTU or a link that goes down would disturb the devices on top. */
export function hasUpperDevices(link: Link, { links, stackedElsewhere }: Observed): Refusal | undefined {
  const names = links.filter(entry => entry.lower === link.name).map(entry => entry.name)
  if (names.length === 0 && stackedElsewhere?.includes(link.ifindex)) {
    const message = `a device in another network namespace, such as that of a Pod, uses ${link.name} as lower device; stop the Pod first`
    return { reason: 'LinkHasUpperDevices', message }
  }
  if (names.length === 0) return undefined
  const message = `${names.join(' and ')} ${names.length === 1 ? 'uses' : 'use'} ${link.name} as lower device; remove ${names.length === 1 ? 'it' : 'them'} first`
  return { reason: 'LinkHasUpperDevices', message }
}

/** A DHCP client that keeps running would configure the NIC again. NetworkManager releases the NIC; networkd reads our file. */
function dhcpClient(
  link: Link,
  { observed, settings, backend }: GuardInput,
  owned: OwnedNic | undefined,
): Refusal | undefined {
  const { managers, networkdFiles, dhcpClients } = observed
  if (settings.takeover === 'refuse' || owned) return undefined
  const file = networkdFiles?.[link.ifindex]
  if (file !== undefined) {
    const message = whyNotHandedOver(link, observed, backend)
    return message === undefined ? undefined : { reason: 'DhcpClientActive', message }
  }
  const evidence = dhcpClients?.[link.ifindex]
  if (evidence === undefined || managers[link.ifindex] === 'other') return undefined
  return {
    reason: 'DhcpClientActive',
    message: `a DHCP client runs on ${link.name}: ${evidence}. Stop it for this NIC`,
  }
}

/** The NIC is up and someone else uses it. A NIC that multinic has configured may also have foreign addresses. */
function foreignUse(
  nic: DesiredNic,
  link: Link,
  { observed, settings, tables }: GuardInput,
  owned: OwnedNic | undefined,
): Refusal | undefined {
  if (owned || !link.up || settings.allowUp) return undefined
  const requested = new Set(nic.addresses.map(address => address.cidr))
  const address = observed.addresses.find(
    entry =>
      entry.ifindex === link.ifindex &&
      !entry.linkLocal &&
      !requested.has(entry.cidr) &&
      !(acceptsDynamic(settings, entry.family) && isDynamicAddress(entry)),
  )
  if (address) return { reason: 'ForeignAddresses', message: `${link.name} is up and has address ${address.cidr}` }
  const route = observed.routes.find(
    entry =>
      entry.devices.includes(link.ifindex) &&
      !tables.has(entry.table) &&
      !(entry.protocol === protocolKernel && entry.type !== 1) &&
      !isRouteOfAddress(entry, requested) &&
      !(
        (takesRouteOver(settings, entry) || acceptsDynamic(settings, entry.family)) &&
        isDynamicRoute(entry, link, observed)
      ),
  )
  return route && { reason: 'ForeignAddresses', message: `${link.name} is up and has ${describeRoute(route)}` }
}

/** The connected route that the kernel adds for one of the addresses, or a link-local one. */
function isRouteOfAddress(route: ObservedRoute, cidrs: ReadonlySet<string>): boolean {
  if (route.protocol !== protocolKernel) return false
  if (isLinkLocal(route)) return true
  return [...cidrs].some(cidr => {
    const [address, destination] = [parseCidr(cidr), parseCidr(route.destination)]
    return address && destination && address.prefix === destination.prefix && overlaps(address, destination)
  })
}

function isLinkLocal(route: ObservedRoute): boolean {
  return isLinkLocalRoute(route) || (route.protocol === protocolKernel && route.destination === 'ff00::/8')
}

/** A file at a path of ours, one that would win at boot, or, unless the agent may take the NIC over, any that names it. */
function foreignFile(nic: DesiredNic, link: Link, input: GuardInput): Refusal | undefined {
  const { observed, paths, files, settings, backend } = input
  const ours = new Set(filesOfIndex(paths, nic.index))
  const isObstacle = ({ againstForeignFiles }: BackendRules) =>
    settings.takeover === 'refuse' || againstForeignFiles === 'undecided'
  const directories = [
    ...(settings.takeover === 'refuse' ? [paths.networkd] : []),
    ...allBackends.filter(isObstacle).map(({ directory }) => directory(paths)),
  ]
  for (const [path, file] of Object.entries(observed.files)) {
    if (ours.has(path) && isForeign(file)) return foreignFileAt(path, file)
    if (files.has(path) || !directories.some(directory => path.startsWith(`${directory}/`))) continue
    const by = path.includes('cloud-init') ? ' (written by cloud-init)' : ''
    if (file.unreadable)
      return { reason: 'ForeignFile', message: `cannot read ${path}${by}, which may configure ${nic.macAddress}` }
    if (mentions(file.text, nic.macAddress))
      return { reason: 'ForeignFile', message: `${path}${by} configures ${nic.macAddress}` }
  }
  const message = backend === 'unknown' ? undefined : winnerAtBoot(nic, link, backend, input)
  return message === undefined ? undefined : { reason: 'ForeignFile', message }
}

/** The record may say what the NIC was before, so it is neither ignored nor replaced. */
export function foreignRecord(
  { macAddress }: { macAddress: string },
  { observed, paths }: Pick<GuardInput, 'observed' | 'paths'>,
): Refusal | undefined {
  const path = recordPath(paths, macAddress)
  const file = observed.files[path]
  return file && isForeign(file) ? foreignFileAt(path, file) : undefined
}

/** A foreign file at a path that multinic needs. */
export function foreignFileAt(path: string, file: FileState): Refusal {
  const owner = file.uid === 0 ? 'is not readable' : `is owned by uid ${file.uid}, not by root`
  const problem = file.special ? 'is not a regular file' : owner
  return { reason: 'ForeignFile', message: `${path} ${problem}; multinic needs this path` }
}

/** Routes of NICs that multinic has configured with this table, and routes that equal a desired one, are no obstacle. */
function tableInUse(nic: DesiredNic, link: Link, { observed, tablesOfDevices }: GuardInput): Refusal | undefined {
  if (nic.routes.length === 0) return undefined
  const desired = new Set(nic.routes.map(route => routeText(route)))
  const isOurs = (route: ObservedRoute) =>
    route.type === 1 &&
    route.devices.length > 0 &&
    (route.devices.every(device => tablesOfDevices.get(device)?.has(nic.table)) ||
      (route.devices.every(device => device === link.ifindex) && desired.has(routeText(routeSpec(route)))))
  const route = observed.routes.find(entry => entry.table === nic.table && !isOurs(entry))
  return route && { reason: 'RoutingTableInUse', message: `${describeRoute(route)} is not from multinic` }
}

function addressInUse(nic: DesiredNic, { observed, ours }: GuardInput): Refusal | undefined {
  const hosts = new Set(nic.addresses.map(address => hostPart(address.cidr)))
  const address = observed.addresses.find(entry => !ours.has(entry.ifindex) && hosts.has(hostPart(entry.cidr)))
  if (!address) return undefined
  const device = linkByIndex(observed, address.ifindex)?.name
  return { reason: 'AddressConflict', message: `${device} on this node already has ${address.cidr}` }
}

function addressNeeded(
  nic: DesiredNic,
  link: Link,
  input: GuardInput,
  owned: OwnedNic | undefined,
): Refusal | undefined {
  const configured = isConfiguredOn(link, owned?.record?.addresses ?? [], input.observed)
  const message = neededElsewhere(nic, input, configured)
  return message === undefined ? undefined : { reason: 'AddressConflict', message }
}

function mtuNotSupported(nic: DesiredNic, link: Link): Refusal | undefined {
  if (nic.mtu === undefined) return undefined
  if (link.maxMtu > 0 && nic.mtu > link.maxMtu)
    return { reason: 'MtuTooLarge', message: `MTU ${nic.mtu} exceeds the maximum of ${link.name}, ${link.maxMtu}` }
  if (nic.mtu < link.minMtu)
    return { reason: 'MtuTooLarge', message: `MTU ${nic.mtu} is below the minimum of ${link.name}, ${link.minMtu}` }
  if (nic.mtu < 1280 && nic.addresses.some(address => address.cidr.includes(':')))
    return { reason: 'MtuTooLarge', message: `MTU ${nic.mtu} is below the minimum of IPv6, 1280` }
  return undefined
}

/** Commands name devices by `if<ifindex>`: a device with that very name would be changed instead. */
export function ambiguousName(link: Link, { observed }: GuardInput): Refusal | undefined {
  const name = `if${link.ifindex}`
  const other = observed.links.find(
    entry => entry.ifindex !== link.ifindex && (entry.name === name || entry.altnames.includes(name)),
  )
  const message = `${other?.name === name ? 'another device' : other?.name} has the name ${name}, which ip also reads as ifindex ${link.ifindex}`
  return other && { reason: 'InterfaceNameInUse', message }
}

function describeRoute(route: ObservedRoute): string {
  const via = route.gateway ? ` via ${route.gateway}` : ''
  const table = route.table === tableMain ? '' : ` in table ${route.table}`
  return route.destination === 'default'
    ? `a default route${via}${table}`
    : `a route to ${route.destination}${via}${table}`
}
