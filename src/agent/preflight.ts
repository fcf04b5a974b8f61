/**
 * Decides whether a NIC may be touched at all; every refusal has its reason and its sentence.
 *
 * Pure, and fails closed: the first doubt refuses. The guards stand in order of what would be lost.
 */
import { overlaps, parseCidr, parseIp } from '../contract/address.ts'
import type { InterfaceReason } from '../contract/reasons/catalogue.ts'
import type { Settings } from './config.ts'
import { priorityOf, type WantedNic } from './desired.ts'
import {
  type FileState,
  type Link,
  linkByIndex,
  type Observed,
  protocolKernel,
  type RouteSeen,
  tableMain,
} from './observed.ts'
import { filesOfId, isForeign, macIn, type OwnedNic } from './ownership.ts'
import type { Paths } from './paths.ts'

export interface Refusal {
  reason: InterfaceReason
  message: string
}

export interface Ground {
  observed: Observed
  settings: Settings
  paths: Paths
  /** In canonical form. */
  nodeAddresses: readonly string[]
  /** Devices of NICs that are wanted or were configured by us. */
  ours: ReadonlySet<number>
  /** Routing tables that are ours: the band, and those that our records name. */
  tables: ReadonlySet<number>
  /** Every path that is ours by its name. */
  files: ReadonlySet<string>
}

/** A machine is known by its SystemUUID; some firmware reports the first three groups in the other byte order. */
export function wrongMachine(instanceId: string | undefined, systemUuid: string): Refusal | undefined {
  if (!instanceId) return undefined
  const [wanted, found] = [instanceId.toLowerCase(), systemUuid.toLowerCase()]
  if (found !== '' && (wanted === found || swapped(wanted) === found)) return undefined
  const machine = found === '' ? 'a machine whose SystemUUID cannot be read' : `machine ${found}`
  return { reason: 'WrongMachine', message: `this is ${machine}, not ${wanted}` }
}

/** What cannot be seen can neither be set nor be taken back: a run without it would only look like a good one. */
export function notMounted(unseen: readonly string[]): Refusal | undefined {
  if (unseen.length === 0) return undefined
  return { reason: 'HostPathNotMounted', message: `the agent does not see ${unseen.join(', ')} of the host` }
}

/** What makes a device untouchable, wanted or not: the node lives on it. */
export function carriesNode(link: Link, ground: Ground, owned: OwnedNic | undefined): Refusal | undefined {
  const { observed, nodeAddresses, tables } = ground
  const gateway = observed.routes.find(
    route => route.destination === 'default' && route.devices.includes(link.ifindex) && !tables.has(route.table),
  )
  if (gateway) return { reason: 'DefaultRoute', message: `${link.name} carries ${routeInWords(gateway)}` }

  // A cloud provider may list our own addresses among the node's: those that we put there do not count.
  const mine = new Set((owned?.record?.addresses ?? []).map(cidr => hostPart(cidr)))
  const known = nodeAddresses.filter(ip => !mine.has(ip))
  const address = observed.addresses.find(
    entry => entry.ifindex === link.ifindex && known.includes(hostPart(entry.cidr)),
  )
  if (address) return { reason: 'NodeAddress', message: `${link.name} has the node's address ${address.cidr}` }

  if (observed.apiPath?.ifindex === link.ifindex)
    return { reason: 'ApiServerPath', message: `the way to the API server leaves by ${link.name}` }
  const unknown = apiPathUnknown(link, ground, owned)
  if (unknown) return unknown
  if (link.master) return { reason: 'LinkHasMaster', message: `${link.name} belongs to ${link.master}` }
  return undefined
}

/** While the name of the API server does not resolve, any way out that is not ours may be the one to it. */
function apiPathUnknown(
  link: Link,
  { observed, settings: { apiServer }, tables }: Ground,
  owned: OwnedNic | undefined,
): Refusal | undefined {
  if (apiServer === undefined || parseIp(apiServer) || owned || !link.up) return undefined
  const route = observed.routes.find(
    entry =>
      entry.type === 1 && entry.devices.includes(link.ifindex) && !tables.has(entry.table) && !isLinkLocal(entry),
  )
  return (
    route && {
      reason: 'ApiServerPath',
      message: `${link.name} has ${routeInWords(route)}, and the API server ${apiServer} does not resolve: it may be the way there`,
    }
  )
}

export function refuse(nic: WantedNic, link: Link, ground: Ground, owned: OwnedNic | undefined): Refusal | undefined {
  return (
    carriesNode(link, ground, owned) ??
    foreignUse(nic, link, ground, owned) ??
    foreignFile(nic, ground) ??
    tableTaken(nic, ground) ??
    ruleTaken(nic, ground) ??
    addressTaken(nic, link, ground) ??
    mtuImpossible(nic, link) ??
    ambiguousIndex(link, ground)
  )
}

/** A NIC that is up and used by somebody else; one that we configured before may carry what others added to it. */
function foreignUse(
  nic: WantedNic,
  link: Link,
  { observed, settings, tables }: Ground,
  owned: OwnedNic | undefined,
): Refusal | undefined {
  if (owned || !link.up || settings.allowUp) return undefined
  const wanted = new Set(nic.addresses.map(address => address.cidr))
  const address = observed.addresses.find(
    entry => entry.ifindex === link.ifindex && !entry.linkLocal && !wanted.has(entry.cidr),
  )
  if (address) return { reason: 'ForeignAddresses', message: `${link.name} is up and has address ${address.cidr}` }
  const route = observed.routes.find(
    entry =>
      entry.devices.includes(link.ifindex) &&
      !tables.has(entry.table) &&
      !(entry.protocol === protocolKernel && entry.type !== 1) &&
      !fromWantedAddress(entry, wanted),
  )
  return route && { reason: 'ForeignAddresses', message: `${link.name} is up and has ${routeInWords(route)}` }
}

/** The kernel's own route of a wanted address, and of the link-local network. */
function fromWantedAddress(route: RouteSeen, wanted: ReadonlySet<string>): boolean {
  if (route.protocol !== protocolKernel) return false
  if (isLinkLocal(route)) return true
  return [...wanted].some(cidr => {
    const [address, destination] = [parseCidr(cidr), parseCidr(route.destination)]
    return address && destination && address.prefix === destination.prefix && overlaps(address, destination)
  })
}

function isLinkLocal(route: RouteSeen): boolean {
  return route.protocol === protocolKernel && (route.destination === 'fe80::/64' || route.destination === 'ff00::/8')
}

function foreignFile(nic: WantedNic, { observed, paths, files }: Ground): Refusal | undefined {
  const ours = new Set(filesOfId(paths, nic.id))
  const directories = [paths.netplan, paths.networkd, paths.networkManager, paths.networkScripts]
  for (const [path, file] of Object.entries(observed.files)) {
    if (ours.has(path) && isForeign(file)) return foreignOwner(path, file)
    if (files.has(path) || !directories.some(directory => path.startsWith(`${directory}/`))) continue
    if (mentions(file.text, nic.mac)) {
      const by = path.includes('cloud-init') ? ' (written by cloud-init)' : ''
      return { reason: 'ForeignFile', message: `${path}${by} configures ${nic.mac}` }
    }
  }
  return undefined
}

/** The refusal of a number at whose path there is a file of somebody else's. */
export function foreignOwner(path: string, file: FileState): Refusal {
  const whose = file.special ? 'is not a plain file' : `belongs to user ${file.uid}, not to root`
  return { reason: 'ForeignFile', message: `${path} ${whose}: it is where ours has its place` }
}

/** In any of the three file formats `#` starts a comment; a MAC stands in it as text, in either case. */
function mentions(text: string, mac: string): boolean {
  return text
    .split('\n')
    .map(line => line.replace(/(^|\s)#.*/, ''))
    .some(line => line.toLowerCase().includes(mac) || macIn(line) === mac)
}

function tableTaken(nic: WantedNic, { observed, ours }: Ground): Refusal | undefined {
  if (nic.routes.length === 0) return undefined
  const route = observed.routes.find(
    entry =>
      entry.table === nic.table &&
      !(entry.type === 1 && entry.devices.length > 0 && entry.devices.every(device => ours.has(device))),
  )
  return route && { reason: 'RoutingTableInUse', message: `table ${nic.table} holds ${routeInWords(route)}` }
}

function ruleTaken(nic: WantedNic, { observed }: Ground): Refusal | undefined {
  if (nic.rules.length === 0) return undefined
  const priority = priorityOf(nic.table)
  const rule = observed.rules.find(entry => entry.priority === priority && (!entry.plain || entry.table !== nic.table))
  return (
    rule && { reason: 'RulePriorityInUse', message: `a rule with priority ${priority} looks up table ${rule.table}` }
  )
}

function addressTaken(nic: WantedNic, link: Link, { observed, ours }: Ground): Refusal | undefined {
  const hosts = new Set(nic.addresses.map(address => hostPart(address.cidr)))
  const taken = observed.addresses.find(
    entry => entry.ifindex !== link.ifindex && !ours.has(entry.ifindex) && hosts.has(hostPart(entry.cidr)),
  )
  if (!taken) return undefined
  const holder = linkByIndex(observed, taken.ifindex)?.name
  return { reason: 'AddressConflict', message: `${holder} of this node has ${taken.cidr}` }
}

function mtuImpossible(nic: WantedNic, link: Link): Refusal | undefined {
  if (nic.mtu === undefined) return undefined
  if (link.maxMtu > 0 && nic.mtu > link.maxMtu)
    return { reason: 'MtuTooLarge', message: `${link.name} allows an MTU of at most ${link.maxMtu}, not ${nic.mtu}` }
  if (nic.mtu < link.minMtu)
    return { reason: 'MtuTooLarge', message: `${link.name} allows an MTU of at least ${link.minMtu}, not ${nic.mtu}` }
  if (nic.mtu < 1280 && nic.addresses.some(address => address.cidr.includes(':')))
    return { reason: 'MtuTooLarge', message: `IPv6 needs an MTU of at least 1280, not ${nic.mtu}` }
  return undefined
}

/** We name devices by `if<index>`; a device that really is called so would be meant instead. */
function ambiguousIndex(link: Link, { observed }: Ground): Refusal | undefined {
  const other = observed.links.find(entry => entry.name === `if${link.ifindex}` && entry.ifindex !== link.ifindex)
  return (
    other && {
      reason: 'InterfaceNameInUse',
      message: `a device is called ${other.name}, which also means device ${link.ifindex}`,
    }
  )
}

function routeInWords(route: RouteSeen): string {
  const via = route.gateway ? ` via ${route.gateway}` : ''
  const table = route.table === tableMain ? '' : ` in table ${route.table}`
  return route.destination === 'default'
    ? `a default route${via}${table}`
    : `a route to ${route.destination}${via}${table}`
}

/** The address of a cidr; both are in canonical form, as the kernel prints them. */
function hostPart(cidr: string): string {
  return cidr.split('/', 1)[0] ?? cidr
}

function swapped(uuid: string): string {
  const groups = uuid.split('-')
  const flip = (group: string) => (group.match(/../g) ?? []).reverse().join('')
  return groups.map((group, index) => (index < 3 ? flip(group) : group)).join('-')
}
