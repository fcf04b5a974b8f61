/**
 * Which file wins at boot. udev uses the first .link file that matches a NIC and networkd the first .network file, by file
 * name over all directories. NetworkManager activates the profile with the highest priority.
 *
 * Pure. A match that the agent cannot evaluate counts as a match.
 */

import type { Paths } from '../paths.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import type { FileState, Link, Observed } from '../state/observed.ts'
import { macAddressIn } from '../state/ownership.ts'
import { maxPriority } from './networkmanager.ts'

type Extension = '.link' | '.network' | '.rules'

/** Prefix of our file names. */
const prefix = '05-'

/** The directories of each kind of file. A file replaces one of the same name in a later directory. */
function directoriesOf(paths: Paths): Record<Extension, string[]> {
  const networkd = networkdDirectories(paths)
  return {
    '.link': networkd,
    '.network': networkd,
    '.rules': [paths.udevRules, paths.udevRulesRuntime, paths.udevRulesLocal, paths.udevRulesVendor],
  }
}

export function networkdDirectories({ networkd, networkdRuntime, networkdLocal, networkdVendor }: Paths): string[] {
  return [networkd, networkdRuntime, networkdLocal, networkdVendor]
}

/** NetworkManager reads the profiles of all of them. */
export function profileDirectories(paths: Paths): string[] {
  return [paths.networkManager, paths.networkManagerRuntime, paths.networkManagerVendor]
}

/** Files that udev or networkd read before ours, by path. The others cannot win, whatever they say. */
export function earlierFiles(paths: Paths, list: (directory: string) => string[] | undefined): string[] {
  return Object.entries(directoriesOf(paths)).flatMap(([extension, directories]) =>
    directories.flatMap(directory =>
      (list(directory) ?? [])
        .filter(name => name.endsWith(extension) && name < `${prefix}multinic9${extension}`)
        .map(name => `${directory}/${name}`),
    ),
  )
}

/** Why a foreign file, and not ours, would configure the NIC after the next boot; undefined when ours wins. */
export function winnerAtBoot(
  nic: DesiredNic,
  link: Link,
  backend: string,
  { observed, paths, files: ours }: { observed: Observed; paths: Paths; files: ReadonlySet<string> },
): string | undefined {
  const kinds: Extension[] = backend === 'netplan' ? ['.link', '.network', '.rules'] : ['.link', '.rules']
  for (const extension of kinds) {
    const own = `${prefix}${nic.name}${extension}`
    const masked = new Set<string>()
    for (const directory of directoriesOf(paths)[extension]) {
      for (const [path, file] of filesIn(directory, extension, observed)) {
        const name = path.slice(directory.length + 1)
        if (masked.has(name)) continue
        masked.add(name)
        if (ours.has(path) || name >= own) continue
        const problem = `sorts before ${own}, so it would configure the NIC at boot`
        if (file.unreadable) return `cannot read ${hostPath(path)}, which ${problem}`
        if (mayApply(extension, file.text, nic, link)) return `${hostPath(path)} matches the NIC and ${problem}`
      }
    }
  }
  return backend === 'networkmanager' ? strongerProfile(nic, { observed, paths, ours }) : undefined
}

/** All NICs ask for the same directories. */
const sortedFiles = new WeakMap<Observed['files'], Map<string, [path: string, file: FileState][]>>()

function filesIn(directory: string, extension: string, { files }: Observed): [path: string, file: FileState][] {
  const known = sortedFiles.get(files) ?? new Map<string, [path: string, file: FileState][]>()
  sortedFiles.set(files, known)
  const found =
    known.get(directory + extension) ??
    Object.entries(files)
      .filter(([path]) => path.startsWith(`${directory}/`) && path.endsWith(extension))
      .sort(([a], [b]) => (a < b ? -1 : 1))
  known.set(directory + extension, found)
  return found
}

function mayApply(extension: Extension, text: string, nic: DesiredNic, link: Link): boolean {
  if (extension === '.rules') return namesFinally(text, nic)
  // An empty file only hides another one of its name.
  if (text.trim() === '') return false
  // The name that the kernel gave the NIC is not known any more.
  const names =
    extension === '.network'
      ? [nic.name, ...(nic.altname === undefined ? [] : [nic.altname])]
      : [link.name, ...link.altnames, ...Array.from({ length: 10 }, (_, index) => `eth${index}`)]
  return Object.entries(sectionOf(text, 'Match')).every(([key, values]) => {
    const words = values.flatMap(value => value.split(/\s+/).filter(Boolean))
    if (key === 'MACAddress' || key === 'PermanentMACAddress')
      return words.some(word => plainMac(word) === plainMac(nic.macAddress))
    if (key === 'Name' || key === 'OriginalName') return matchesAny(words, names)
    if (key === 'Type') return matchesAny(words, ['ether'])
    if (key === 'Kind') return matchesAny(words, [link.kind ?? ''])
    return !/^(SSID|BSSID|WLANInterfaceType)$/.test(key)
  })
}

/** Our rule assigns the name finally, so only a final assignment before it wins. */
function namesFinally(text: string, { macAddress }: DesiredNic): boolean {
  const lines = text.replace(/\\\n/g, '').split('\n')
  return lines.some(line => {
    if (/^\s*#/.test(line) || !/(^|[,\s])NAME\s*:=/.test(line)) return false
    const [, addresses] = /ATTR\{address\}\s*==\s*"([^"]*)"/.exec(line) ?? []
    return addresses === undefined || matchesAny(addresses.toLowerCase().split('|'), [macAddress])
  })
}

/** Files of others that may configure a NIC. */
export function foreignFiles({ files }: Observed, paths: Paths, ours: ReadonlySet<string>): [string, FileState][] {
  const directories = [paths.netplan, paths.networkd, paths.networkManager]
  return Object.entries(files).filter(
    ([path]) => !ours.has(path) && directories.some(directory => path.startsWith(`${directory}/`)),
  )
}

/** Files and directories of others that may configure a NIC and that cannot be read. */
export function unreadable(observed: Observed, paths: Paths, ours: ReadonlySet<string>): string[] {
  const searched = new Set([...Object.values(directoriesOf(paths)).flat(), ...profileDirectories(paths)])
  const files = foreignFiles(observed, paths, ours).filter(([, file]) => file.unreadable)
  const directories = [...searched].filter(directory => observed.files[directory]?.unreadable)
  return [...files.map(([path]) => path), ...directories].map(hostPath)
}

/** Those that configure the NIC by its MAC address or by one of its present and former names, and lose at boot. */
export function filesThatLose(
  { macAddress }: Pick<DesiredNic, 'macAddress'>,
  names: readonly string[],
  foreign: readonly [string, FileState][],
): string[] {
  return foreign.filter(([, { text }]) => mentions(text, macAddress) || namesOne(text, names)).map(([path]) => path)
}

/** Netplan names a device by the key of its entry, or by a pattern in `match`. */
function namesOne(text: string, names: readonly string[]): boolean {
  return text.split('\n').some(line => {
    const [, key] = /^\s*["']?([\w.@-]+)["']?\s*:/.exec(line) ?? []
    if (key !== undefined && names.includes(key)) return true
    const [, list] = /^\s*(?:Name|interface-name)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    const [, pattern] = /^\s*name\s*:\s*["']?([^"'#\s]+)["']?\s*(?:#.*)?$/.exec(line) ?? []
    const patterns = [...(list?.split(/\s+/).filter(Boolean) ?? []), ...(pattern === undefined ? [] : [pattern])]
    return patterns.length > 0 && matchesAny(patterns, names)
  })
}

/** `#` starts a comment in all three file formats. */
export function mentions(text: string, macAddress: string): boolean {
  return text
    .split('\n')
    .map(line => line.replace(/(^|\s)#.*/, ''))
    .some(line => line.toLowerCase().includes(macAddress) || macAddressIn(line) === macAddress)
}

/** NetworkManager ignores profiles that root does not own. */
function strongerProfile(
  { name, macAddress }: DesiredNic,
  { observed, paths, ours }: { observed: Observed; paths: Paths; ours: ReadonlySet<string> },
): string | undefined {
  const profiles = profileDirectories(paths).flatMap(directory => filesIn(directory, '.nmconnection', observed))
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

/** Values by key of all sections with this name. As in systemd, an empty value discards those before it. */
function sectionOf(text: string, name: string): Record<string, string[]> {
  const values: Record<string, string[]> = {}
  let inside = false
  for (const line of text.replace(/\\\n/g, ' ').split('\n')) {
    if (/^\s*([#;]|$)/.test(line)) continue
    if (/^\s*\[/.test(line)) inside = new RegExp(`^\\s*\\[${name}\\]`).test(line)
    const [, key, value = ''] = /^\s*([\w-]+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    if (!inside || key === undefined) continue
    values[key] = value === '' ? [] : [...(values[key] ?? []), value]
  }
  return Object.fromEntries(Object.entries(values).filter(([, list]) => list.length > 0))
}

/** Shell patterns. `!` before the first one inverts the list. */
function matchesAny(patterns: readonly string[], names: readonly string[]): boolean {
  const inverted = patterns[0]?.startsWith('!') ?? false
  const matches = patterns.some((pattern, index) => {
    const expression = globExpression(inverted && index === 0 ? pattern.slice(1) : pattern)
    return names.some(name => expression.test(name))
  })
  return matches !== inverted
}

function globExpression(pattern: string): RegExp {
  const escaped = pattern
    .replace(/[.+^${}()|\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  try {
    return new RegExp(`^${escaped.replaceAll('[!', '[^')}$`)
  } catch {
    return /^/
  }
}

/** systemd accepts colons, hyphens and dots. */
function plainMac(text: string): string {
  return text.toLowerCase().replace(/[:.-]/g, '')
}

/** `/host/run/systemd/network/x` is mounted from `/run/systemd/network/x`. */
function hostPath(path: string): string {
  return path.replace('/host/', '/')
}
