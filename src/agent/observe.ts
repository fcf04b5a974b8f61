/**
 * Reads all that a decision may depend on: links, addresses, routes and rules of the kernel, files, settings, identity.
 *
 * Two processes: one `ip -batch` for everything, and one for the IPv6 rules, which need a switch of their own.
 */

import type { Host } from './host.ts'
import type { NetworkManager } from './network-manager.ts'
import { sysctlKeys } from './nic-state.ts'
import {
  type FileState,
  jsonArrays,
  type Link,
  linksByMac,
  type Manager,
  type Observed,
  ownMac,
  parseLinks,
  parseRoutes,
  parseRules,
  type RuleSeen,
} from './observed.ts'
import { allIds, filesOfId, macIn, parseRecord, recordsDirectory } from './ownership.ts'
import type { Paths } from './paths.ts'
import { refusedAltnames } from './refused-altnames.ts'

export interface Question {
  paths: Paths
  /** MACs whose kernel settings are wanted, besides those that are ours already. */
  macs: readonly string[]
  apiServer?: string
  manager?: NetworkManager | undefined
  /** What cannot have changed since it was read: the disk, or rules of IPv6, which take a process of their own. */
  known?: Disk & { rules6?: RuleSeen[] }
}

export type Disk = Pick<Observed, 'files' | 'directories'>

const asJson = ['-N', '-j', '-d', '-force', '-batch', '-']

export async function observe(host: Host, question: Question): Promise<Observed> {
  const { paths, macs, apiServer, manager } = question
  const ask = ['address show', 'route show table all', 'rule list', ...(apiServer ? [`route get ${apiServer}`] : [])]
  const all = await host.ip(asJson, ask)
  const rules6 = question.known?.rules6 ?? (await readRules6(host))
  const [rawLinks, rawRoutes, rawRules, rawPath] = jsonArrays(all.stdout)
  // Fail closed: a node that cannot be read is not touched. A kernel without a single rule does not exist.
  if (!rawLinks || !rawRoutes || !rawRules || !parseRules(rawRules, 4)[0])
    throw new Error(`ip did not answer: ${all.stderr.trim()}`)
  const { links, addresses } = parseLinks(rawLinks)
  const [path] = rawPath ? parseRoutes(rawPath, links) : []
  const { files, directories } = question.known ?? observeDisk(host, paths)
  const bootId = host.readValue(paths.bootId) ?? ''
  const owned = Object.values(files).flatMap(file => parseRecord(file.text)?.mac ?? macIn(file.text) ?? [])
  const ours = [...new Set([...macs, ...owned])].flatMap(mac => linksByMac(links, mac))
  return {
    links,
    addresses,
    routes: parseRoutes(rawRoutes, links),
    rules: [...parseRules(rawRules, 4), ...rules6],
    files,
    directories,
    sysctls: readSysctls(host, paths, ours),
    managers: manager ? await readManagers(manager, ours) : {},
    ...(path?.devices[0] === undefined
      ? {}
      : { apiPath: { ifindex: path.devices[0], ...(path.gateway === undefined ? {} : { gateway: path.gateway }) } }),
    refusedAltnames: refusedAltnames(host, paths, bootId),
    bootId,
    systemUuid: observeMachine(host, paths),
  }
}

async function readRules6(host: Host): Promise<RuleSeen[]> {
  const { stdout } = await host.ip(['-6', ...asJson], ['rule list'])
  return parseRules(jsonArrays(stdout)[0] ?? [], 6)
}

/** Files alone: read again after they were put in their place. */
export function observeDisk(host: Host, paths: Paths): Disk {
  const directories = directoriesOf(paths).filter(directory => host.list(directory) !== undefined)
  return { files: readFiles(host, paths), directories }
}

/** The SystemUUID; empty when it cannot be read. */
export function observeMachine(host: Host, paths: Paths): string {
  return host.readValue(paths.productUuid) ?? ''
}

/** Paths of every host, whoever manages its network, that we were not given. */
export function unseen(host: Host, paths: Paths): string[] {
  const directories = [paths.networkd, paths.sysctl, paths.state, paths.ipv4Conf, paths.ipv6Conf]
  const missing = directories.filter(path => host.list(path) === undefined)
  return host.readValue(paths.bootId) ? missing : [...missing, paths.bootId]
}

/** The links alone: what the wait for a late NIC looks at. */
export async function observeLinks(host: Host): Promise<Link[]> {
  const { stdout, stderr } = await host.ip(['-N', '-j', '-d', 'link', 'show'])
  const [raw] = jsonArrays(stdout)
  if (!raw) throw new Error(`ip did not answer: ${stderr.trim()}`)
  return parseLinks(raw).links
}

export function sysctlPath(paths: Paths, key: string, device: string): string {
  const [family, setting] = key.split('.')
  return `${family === 'ipv4' ? paths.ipv4Conf : paths.ipv6Conf}/${device}/${setting}`
}

export function directoriesOf(paths: Paths): string[] {
  return [paths.netplan, paths.networkd, paths.networkManager, paths.networkScripts, paths.sysctl, paths.state]
}

/** Every file that could configure a NIC, ours and others', and our records. */
function readFiles(host: Host, paths: Paths): Record<string, FileState> {
  const files: Record<string, FileState> = {}
  const read = (path: string) => {
    const file = host.readFile(path)
    if (file) files[path] = file
  }
  for (const directory of [paths.netplan, paths.networkManager, paths.networkScripts, recordsDirectory(paths)])
    for (const name of host.list(directory) ?? []) if (isConfiguration(name)) read(`${directory}/${name}`)
  for (const name of host.list(paths.networkd) ?? []) if (name.endsWith('.network')) read(`${paths.networkd}/${name}`)
  for (const id of allIds)
    for (const path of filesOfId(paths, id))
      if (path.startsWith(paths.networkd) || path.startsWith(paths.sysctl)) read(path)
  return files
}

function isConfiguration(name: string): boolean {
  return !name.startsWith('.') && /(\.(yaml|nmconnection|json)$)|^(ifcfg|route|route6|rule|rule6)-/.test(name)
}

async function readManagers(manager: NetworkManager, links: readonly Link[]): Promise<Record<number, Manager>> {
  const answers = links.map(async link => [link.ifindex, await manager.managerOf(link.name, ownMac(link))] as const)
  return Object.fromEntries(await Promise.all(answers))
}

function readSysctls(host: Host, paths: Paths, links: readonly Link[]): Record<number, Record<string, string>> {
  return Object.fromEntries(
    links.map(link => {
      const values = sysctlKeys.flatMap(key => {
        const value = host.readValue(sysctlPath(paths, key, link.name))
        return value === undefined ? [] : [[key, value] as const]
      })
      return [link.ifindex, Object.fromEntries(values)]
    }),
  )
}
