/**
 * Observes the node: links, addresses, routes and rules of the kernel, configuration files, sysctls, machine and boot ID.
 *
 * Runs two processes: one `ip -batch` for everything except IPv6 rules, and `ip -6` for those.
 */
import { basename } from 'node:path'
import { type Family, hostPart } from '../../contract/address.ts'
import { type Interface, interfaceName } from '../../contract/interfaces.ts'
import { allBackends, backendDirectoriesIn } from '../backends/backends.ts'
import { earlierFiles } from '../backends/boot-order.ts'
import { ownFiles } from '../backends/owned.ts'
import type { HostContext } from '../context.ts'
import type { NetworkManager } from '../daemons/network-manager.ts'
import type { Networkd } from '../daemons/networkd.ts'
import { type Host, tryList } from '../host/host.ts'
import { type IpResult, itemsOf, readIp, readIpLists } from '../host/ip-read.ts'
import type { Paths } from '../paths.ts'
import { tableName } from '../state/change.ts'
import { canonicalTable } from '../state/nftables.ts'
import { sysctlKeys } from '../state/nic-state.ts'
import { nodeFiles } from '../state/node-files.ts'
import {
  type Address,
  type FileState,
  ifindexes,
  type Link,
  linksByMac,
  type Manager,
  type Observed,
  type ObservedRoute,
  type ObservedRule,
  parseLinks,
  parseNeighbours,
  parseRoutes,
  parseStacked,
  permanentMacOf,
} from '../state/observed.ts'
import { allIndexes, isOurNetworkFile, macAddressIn, recordPath, recordsDirectory } from '../state/ownership.ts'
import { parseRecord } from '../state/records.ts'
import { findDhcpClients } from './dhcp-clients.ts'
import { resolversIn } from './needed-addresses.ts'
import { parseRules } from './observed-rules.ts'
import { readRefusals } from './refusals-of-boot.ts'

export interface ObserveOptions {
  /** NICs whose sysctls to read, in addition to those that multinic has configured. */
  macAddresses: readonly string[]
  /** The names that NICs will get. */
  requested?: readonly Pick<Interface, 'macAddress' | 'name'>[]
  /** An address. */
  apiServer?: string
  /** Questions to the kernel, as `ip` commands. */
  lookups?: readonly string[]
  /** No IPv6 address is requested. Without a file that has one, no IPv6 rule is of interest. */
  ipv4Only?: boolean
  /** What cannot have changed since it was observed: the files, or the IPv6 rules. */
  known?: ObservedFiles & { rules6?: ObservedRule[] }
  /** The tables of nftables, where they cannot have changed since nft loaded them. */
  nft?: Observed['nft']
}

export type ObservedFiles = Pick<Observed, 'files' | 'directories'>

/** Addresses for documentation (RFC 5737 and RFC 3849): only a default route leads to them. No packet is sent. */
const internetAddresses = { 4: '192.0.2.1', 6: '2001:db8::1' } as const

/** A MAC address has fewer parts. */
const ipv6Address = /::|([0-9a-f]{1,4}:){7}/i

export async function observe(context: HostContext, options: ObserveOptions): Promise<Observed> {
  const { host, networkManager, networkManagerError, networkd, paths } = context
  const { macAddresses, requested = [], apiServer, known, ipv4Only = false, lookups = [] } = options
  const commands = ['address show', 'route show table all', 'rule list', 'neigh show']
  const ipv6 = hasSysctls(host, paths.ipv6Conf)
  const destinations = [
    ...(apiServer ? [apiServer] : []),
    internetAddresses[4],
    ...(ipv6 ? [internetAddresses[6]] : []),
  ]
  const questions = destinations.map(address => `route get ${address}`)
  const [rawLinks, rawRoutes, rawRules, rawNeighbours, ...rawAnswers] = await readIp(host, [
    ...commands,
    ...questions,
    ...lookups,
  ])
  const { files, directories } = known ?? observeFiles(host, paths)
  const needsRules6 = ipv6 && !(ipv4Only && Object.values(files).every(({ text }) => !ipv6Address.test(text)))
  const rules6 = needsRules6 ? (known?.rules6 ?? (await readRules6(host))) : []
  const { links, addresses } = parseLinks(itemsOf(rawLinks, 'address show'))
  const devices = ifindexes(links)
  const rules4 = rulesIn(rawRules, 4)
  const selected = rawAnswers
    .slice(0, questions.length)
    .flatMap((raw, index) => parseRoutes(pathItems(raw, questions[index] ?? ''), devices))
  const pathTo = (address: string | undefined) => selected.find(route => hostPart(route.destination) === address)
  const answers = rawAnswers.slice(questions.length).map(({ items = [] }) => parseRoutes(items, devices)[0] ?? null)
  const path = pathTo(apiServer)
  const bootID = host.readValue(paths.bootID) ?? ''
  const owned = Object.values(files).flatMap(file => parseRecord(file.text)?.mac ?? macAddressIn(file.text) ?? [])
  const ours = [...new Set([...macAddresses, ...owned])].flatMap(macAddress => linksByMac(links, macAddress))
  return {
    links,
    addresses,
    routes: parseRoutes(itemsOf(rawRoutes, 'route show'), devices),
    rules: [...rules4, ...rules6],
    noPolicyRouting: [...(rules4[0] ? [] : [4 as const]), ...(needsRules6 && !rules6[0] ? [6 as const] : [])],
    neighbours: parseNeighbours(itemsOf(rawNeighbours, 'neigh show'), links),
    files,
    directories,
    sysctls: readSysctls(host, paths, ours),
    managers: networkManager ? await readManagers(networkManager, ours) : {},
    ...(networkManagerError === undefined ? {} : { networkManagerError }),
    ...(networkd ? await readNetworkd(networkd, ours) : {}),
    dhcpClients: readDhcpClients(context, ours, addresses, ipv6),
    ...(path?.devices[0] === undefined
      ? {}
      : { apiPath: { ifindex: path.devices[0], ...(path.gateway === undefined ? {} : { gateway: path.gateway }) } }),
    defaultDevices: {
      ...deviceOf(4, pathTo(internetAddresses[4])),
      ...deviceOf(6, pathTo(internetAddresses[6])),
    },
    lookups: Object.fromEntries(lookups.map((command, index) => [command, answers[index] ?? null])),
    nft: options.nft ?? (await readNft(host)),
    resolvers: resolversIn(host.readFile(paths.resolvConf)),
    ...readRefusals(host, paths, bootID),
    bootID,
    ipv6,
    ...(isRenumbered(requested, links) && { stackedElsewhere: await readStacked(host, links) }),
  }
}

function isRenumbered(requested: NonNullable<ObserveOptions['requested']>, links: readonly Link[]): boolean {
  const names = new Set(allIndexes.map(interfaceName))
  return requested.some(nic =>
    linksByMac(links, nic.macAddress).some(link => link.name !== nic.name && names.has(link.name)),
  )
}

async function readStacked(host: Host, links: readonly Link[]): Promise<number[]> {
  const [raw] = await readIp(host, ['neigh show'], ['-f', 'bridge'])
  return parseStacked(itemsOf(raw, 'neigh show'), links)
}

function deviceOf(family: Family, route: ObservedRoute | undefined): Observed['defaultDevices'] {
  return route?.devices[0] === undefined ? {} : { [family]: route.devices[0] }
}

async function readRules6(host: Host): Promise<ObservedRule[]> {
  const [raw] = await readIp(host, ['rule list'], ['-6'])
  return rulesIn(raw, 6)
}

/** Empty for a kernel without policy routing. Every other kernel has at least the rule for its local table. */
function rulesIn(result: IpResult | undefined, family: Family): ObservedRule[] {
  if (/not supported/.test(result?.error ?? '')) return []
  const rules = parseRules(itemsOf(result, 'rule list'), family)
  if (!rules[0]) throw new Error('cannot read network state: ip lists no rule')
  return rules
}

/** One process for each table: nft 1.0.6 does not find the first one of two in a script. */
async function readNft(host: Host): Promise<Observed['nft']> {
  const list = async (what: string) => (await host.nft(`list ${what}\n`)).stdout
  const names = (await list('tables')).split('\n')
  const tables: Observed['nft'] = {}
  for (const family of [4, 6] as const)
    if (names.includes(tableName(family))) tables[family] = canonicalTable(await list(tableName(family)))
  return tables
}

/** The kernel answers with these errors when it has no route; any other error tells nothing about the route. */
function pathItems(result: IpResult, command: string): unknown[] {
  const noRoute = /Network is unreachable|No route to host|Invalid argument|Permission denied/
  return result.error !== undefined && noRoute.test(result.error) ? [] : itemsOf(result, command)
}

/** The NICs that multinic has configured. */
export function withRecord<Nic extends { macAddress: string }>(
  nics: readonly Nic[],
  { host, paths }: Pick<HostContext, 'host' | 'paths'>,
): Nic[] {
  const names = host.list(recordsDirectory(paths)) ?? []
  return nics.filter(nic => names.includes(basename(recordPath(paths, nic.macAddress))))
}

/** The files alone. A directory that cannot be read, and that the agent does not write to, counts as an unreadable file. */
export function observeFiles(host: Host, paths: Paths): ObservedFiles {
  const names = new Map<string, string[] | undefined>()
  const written = new Set([...configDirectories(paths), recordsDirectory(paths)])
  const unreadable: Record<string, FileState> = {}
  const read = (directory: string) => {
    if (written.has(directory)) return host.list(directory)
    const found = tryList(host, directory)
    if (!found) unreadable[directory] = { text: '', mode: 0, uid: 0, gid: 0, unreadable: true }
    return found
  }
  const list = (directory: string) => {
    if (!names.has(directory)) names.set(directory, read(directory))
    return names.get(directory)
  }
  const directories = configDirectories(paths).filter(directory => list(directory) !== undefined)
  return { files: { ...readFiles({ ...host, list }, paths), ...unreadable }, directories }
}

/** Empty on a machine without DMI. */
export function readMachine(host: Host, paths: Paths): { systemUUID: string; bootID: string } {
  return { systemUUID: host.readValue(paths.productUuid) ?? '', bootID: host.readValue(paths.bootID) ?? '' }
}

/** Paths that every host has and that are not mounted. */
export function missingHostPaths(host: Host, paths: Paths): string[] {
  return [
    ...[paths.networkd, paths.sysctl, paths.boot, paths.units, paths.state].filter(
      path => host.list(path) === undefined,
    ),
    ...(hasSysctls(host, paths.ipv4Conf) ? [] : [paths.ipv4Conf]),
    ...(host.readValue(paths.bootID) ? [] : [paths.bootID]),
  ]
}

/** Listing the directory would take milliseconds: the kernel creates all of its names. */
function hasSysctls(host: Host, directory: string, device = 'all'): boolean {
  return host.readValue(`${directory}/${device}/forwarding`) !== undefined
}

/** The links alone, to wait for a NIC that is not attached yet. */
export async function observeLinks(host: Host): Promise<Link[]> {
  const [raw = []] = await readIpLists(host, ['link show'])
  return parseLinks(raw).links
}

export function sysctlPath(paths: Paths, key: string, device: string): string {
  const [family, setting] = key.split('.')
  return `${family === 'ipv4' ? paths.ipv4Conf : paths.ipv6Conf}/${device}/${setting}`
}

export function configDirectories(paths: Paths): string[] {
  const { networkd, udevRules, sysctl, boot, units, state } = paths
  return [...backendDirectoriesIn(paths), networkd, udevRules, sysctl, boot, units, state]
}

/** Every file that may configure a NIC, ours or foreign, and our records. */
function readFiles(host: Host, paths: Paths): Record<string, FileState> {
  const files: Record<string, FileState> = {}
  const read = (path: string) => {
    const file = host.readFile(path)
    if (file) files[path] = file
  }
  const readAll = (directories: string[], names: RegExp) => {
    for (const directory of directories)
      for (const name of host.list(directory) ?? [])
        if (!name.startsWith('.') && names.test(name)) read(`${directory}/${name}`)
  }
  for (const { directory, alsoRead, fileNames } of allBackends)
    readAll([directory(paths), ...alsoRead(paths)], fileNames)
  readAll([recordsDirectory(paths)], /\.json$/)
  const ours = ownFiles(paths)
  for (const directory of [paths.networkd, paths.udevRules, paths.sysctl])
    for (const name of host.list(directory) ?? [])
      if (ours.has(`${directory}/${name}`) || (directory === paths.networkd && name.endsWith('.network')))
        read(`${directory}/${name}`)
  for (const path of [...earlierFiles(paths, host.list), ...nodeFiles(paths)]) read(path)
  return files
}

async function readManagers(networkManager: NetworkManager, links: readonly Link[]): Promise<Record<number, Manager>> {
  const managers = links.map(
    async link => [link.ifindex, await networkManager.managerOf(link.name, permanentMacOf(link))] as const,
  )
  return Object.fromEntries(await Promise.all(managers))
}

async function readNetworkd(
  networkd: Networkd,
  links: readonly Link[],
): Promise<Pick<Observed, 'networkdFiles' | 'networkdChanged'>> {
  const managed = await networkd.links()
  const files = links.flatMap(({ ifindex }) => {
    const file = managed.get(ifindex)?.file
    return file === undefined ? [] : [[ifindex, file] as const]
  })
  const changed = files.every(([, file]) => isOurNetworkFile(file)) ? undefined : await networkd.changedSinceLoad()
  return { networkdFiles: Object.fromEntries(files), ...(changed === undefined ? {} : { networkdChanged: changed }) }
}

/** A client keeps its link up. */
function readDhcpClients(
  { host, paths: { sockets } }: HostContext,
  links: readonly Link[],
  addresses: readonly Address[],
  ipv6: boolean,
): Record<number, string> {
  const up = links.filter(link => link.up)
  if (up.length === 0) return {}
  const read = (name: string) => requireValue(host, `${sockets}/${name}`)
  return findDhcpClients({ packet: read('packet'), udp: read('udp'), udp6: ipv6 ? read('udp6') : '' }, up, addresses)
}

/** A device has no IPv6 sysctls where the kernel has no IPv6, or while its MTU is below 1280. */
function readSysctls(host: Host, paths: Paths, links: readonly Link[]): Record<number, Record<string, string>> {
  return Object.fromEntries(
    links.map(link => {
      const hasIpv6 = hasSysctls(host, paths.ipv6Conf, link.name)
      const keys = sysctlKeys.filter(key => hasIpv6 || key.startsWith('ipv4.'))
      return [
        link.ifindex,
        Object.fromEntries(keys.map(key => [key, requireValue(host, sysctlPath(paths, key, link.name))])),
      ]
    }),
  )
}

function requireValue(host: Host, path: string): string {
  const value = host.readValue(path)
  if (value === undefined) throw new Error(`cannot read ${path}: no such file`)
  return value
}
