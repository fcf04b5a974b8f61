/**
 * Which file wins at boot. udev uses the first .link file that matches a NIC and networkd the first .network file, by file
 * name over all directories. What else decides is up to the backend.
 *
 * Pure. A match that the agent cannot evaluate counts as a match.
 */

import type { Backend } from '../../contract/backend.ts'
import type { Paths } from '../paths.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import type { FileState, Link, Observed } from '../state/observed.ts'
import { macAddressIn } from '../state/ownership.ts'
import type { BootExtension } from './backend.ts'
import { allBackends, backends } from './backends.ts'
import { filesIn, hostPath, matchesAny, plainMac, sectionOf } from './matching.ts'

/** Prefix of our file names. */
const prefix = '05-'

/** The directories of each kind of file. A file replaces one of the same name in a later directory. */
function directoriesOf(paths: Paths): Record<BootExtension, string[]> {
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
  backend: Backend,
  input: { observed: Observed; paths: Paths; files: ReadonlySet<string> },
): string | undefined {
  const { observed, paths, files: ours } = input
  const { kindsAtBoot, strongerFile } = backends[backend]
  for (const extension of kindsAtBoot) {
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
  return strongerFile(nic, input)
}

function mayApply(extension: BootExtension, text: string, nic: DesiredNic, link: Link): boolean {
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

/** Files of others that may configure a NIC, and lose against ours. */
export function foreignFiles({ files }: Observed, paths: Paths, ours: ReadonlySet<string>): [string, FileState][] {
  const losing = allBackends.filter(({ againstForeignFiles }) => againstForeignFiles === 'wins')
  const directories = [paths.networkd, ...losing.map(({ directory }) => directory(paths))]
  return Object.entries(files).filter(
    ([path]) => !ours.has(path) && directories.some(directory => path.startsWith(`${directory}/`)),
  )
}

/** Files and directories of others that may configure a NIC and that cannot be read. */
export function unreadable(observed: Observed, paths: Paths, ours: ReadonlySet<string>): string[] {
  const searched = new Set([
    ...Object.values(directoriesOf(paths)).flat(),
    ...allBackends.flatMap(({ alsoRead }) => alsoRead(paths)),
  ])
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
