/**
 * Netplan, with networkd as its renderer: how to recognize it, and the file of one NIC.
 *
 * Pure. Every string is quoted: YAML reads a MAC address of digits alone as a number. Netplan has no key for our rules: they
 * are only in the .network file, which is the one that networkd uses. The MTU is in that file alone: Netplan would write it to a .link file too, which udev applies again when the NIC is renamed.
 */

import { interfaceName } from '../../contract/interfaces.ts'
import type { Paths } from '../paths.ts'
import { destinationOf, type RouteSpec } from '../state/change.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import { allIndexes, isForeign } from '../state/ownership.ts'
import type { BackendRules, DetectInput } from './backend.ts'
import { networkFile } from './networkd.ts'
import { networkmanager } from './networkmanager.ts'

export const netplan: BackendRules = {
  directory: paths => paths.netplan,
  alsoRead: () => [],
  fileNames: /\.yaml$/,
  againstForeignFiles: 'wins',
  backups: paths => `${paths.netplan}/backup`,
  detect(observed, paths) {
    const has = (directory: string) => observed.directories.includes(directory)
    if (!has(paths.netplan)) return undefined
    const because = whyNetworkManager(observed, paths)
    if (because === undefined) return { kind: 'netplan', because: [`${paths.netplan} exists`] }
    const problem = has(paths.networkManager) ? observed.networkManagerError : `no ${paths.networkManager}`
    if (problem !== undefined) return { kind: 'unknown', because: [because, problem] }
    return { kind: 'networkmanager', because: [because] }
  },
  render: (nic, paths) => [
    [paths.networkd, `05-${nic.name}.network`, 0o644, networkFile(nic)],
    [paths.netplan, `9${nic.index}-${nic.name}.yaml`, 0o600, netplanFile(nic)],
  ],
  owns(paths, index) {
    const name = interfaceName(index)
    return [`${paths.netplan}/9${index}-${name}.yaml`, `${paths.networkd}/05-${name}.network`]
  },
  kindsAtBoot: ['.link', '.network', '.rules'],
  strongerFile: () => undefined,
  readByNetworkManager: 'never',
  readByNetworkd: true,
  worksWithoutBus: true,
}

function netplanFile(nic: DesiredNic): string {
  return [
    `# multinic: ${nic.name}${nic.portId ? `, port ${commentText(nic.portId)}` : ''}. Written by the agent; changes are lost.`,
    'network:',
    '  version: 2',
    '  ethernets:',
    `    ${nic.name}:`,
    '      match:',
    `        macaddress: "${nic.macAddress}"`,
    `      set-name: "${nic.name}"`,
    // The boot must not wait for a secondary NIC.
    '      optional: true',
    '      dhcp4: false',
    '      dhcp6: false',
    `      accept-ra: ${nic.acceptRa}`,
    ...listOf('addresses', nic.addresses, address => [`"${address.cidr}"`]),
    ...listOf('routes', nic.routes, routeKeys),
    '',
  ].join('\n')
}

function routeKeys(route: RouteSpec): string[] {
  return [
    `to: "${destinationOf(route)}"`,
    ...(route.gateway ? [`via: "${route.gateway}"`] : ['scope: link']),
    ...(route.source ? [`from: "${route.source}"`] : []),
    ...(route.onlink ? ['on-link: true'] : []),
    `metric: ${route.metric}`,
    `table: ${route.table}`,
  ]
}

function listOf<T>(key: string, items: readonly T[], lines: (item: T) => string[]): string[] {
  if (items.length === 0) return []
  const entries = items.flatMap(item => lines(item).map((line, index) => `        ${index === 0 ? '-' : ' '} ${line}`))
  return [`      ${key}:`, ...entries]
}

function commentText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?')
}

/**
 * On a host with Netplan: NetworkManager configures new NICs if it is Netplan's renderer, or if it manages one of our NICs
 * without Netplan. A NIC that has our profile keeps it: the agent released the NIC from NetworkManager until the next boot.
 */
function whyNetworkManager(
  { files, links, managers }: Pick<DetectInput, 'files' | 'links' | 'managers'>,
  paths: Paths,
): string | undefined {
  const renderers = Object.keys(files)
    .filter(path => path.startsWith(`${paths.netplan}/`))
    .sort()
    .flatMap(path => {
      const renderer = rendererIn(files[path]?.text ?? '')
      return renderer === undefined ? [] : [{ path, renderer }]
    })
  const last = renderers.at(-1)
  if (last?.renderer === 'NetworkManager') return `${last.path} sets the renderer NetworkManager`
  const [managed] = Object.entries(managers).filter(([, manager]) => manager !== 'none')
  if (managed) return `NetworkManager manages ${links.find(({ ifindex }) => ifindex === Number(managed[0]))?.name}`
  if (last?.renderer === 'networkd' && Object.keys(managers).length === 0) return undefined
  const profile = allIndexes
    .flatMap(index => networkmanager.owns(paths, index))
    .find(path => files[path] && !isForeign(files[path]))
  return profile && `${profile} exists`
}

/** The key `renderer` of the mapping `network`. The agent has no YAML parser: it reads the block style and one-line maps. */
function rendererIn(text: string): string | undefined {
  if (!text.includes('renderer')) return undefined
  const lines = text.split('\n').map(line => line.replace(/(^|\s)#.*/, ''))
  const start = lines.findIndex(line => /^["']?network["']?\s*:/.test(line))
  if (start < 0) return undefined
  const body = lines.slice(start + 1).filter(line => line.trim() !== '')
  const indent = /^\s+/.exec(body[0] ?? '')?.[0] ?? ''
  const keys = body.map(line => line.slice(indent.length)).filter(key => !/^\s/.test(key))
  let map = /\{.*/.exec(lines[start] ?? '')?.[0].slice(1) ?? ''
  while (/\{[^{}]*\}/.test(map)) map = map.replace(/\{[^{}]*\}/g, '')
  return [...keys, ...map.split(',')]
    .map(entry => /^\s*["']?renderer["']?\s*:\s*["']?(\w+)/.exec(entry)?.[1])
    .findLast(renderer => renderer !== undefined)
}
