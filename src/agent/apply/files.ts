/**
 * Writes configuration files in two steps: stage beside the target and sync, then rename over it. A full disk fails early,
 * and a crash leaves the old file or the new one. Removed files are kept in a backup directory.
 */
import { basename, dirname } from 'node:path'
import { messageOf } from '../../runtime/errors.ts'
import { allBackends, backends } from '../backends/backends.ts'
import type { Host } from '../host/host.ts'
import { configDirectories } from '../observe/observe.ts'
import type { Paths } from '../paths.ts'
import type { Change } from '../state/change.ts'
import { nodeFiles } from '../state/node-files.ts'
import { recordsDirectory } from '../state/ownership.ts'
import type { Unit } from '../state/unit.ts'

type FileChange = Change & { kind: 'file' }

/** Per directory: about ten removals of a node with ten NICs. */
const maxBackups = 500
const stagedSuffix = '.multinic-new'

export function fileChangesOf(unit: Unit): FileChange[] {
  return unit.changes.filter(change => change.kind === 'file')
}

/** Hidden, and with a suffix that no reader of these directories uses. */
function stagedPath(path: string): string {
  return `${dirname(path)}/.${basename(path)}${stagedSuffix}`
}

export function stageFiles(host: Host, unit: Unit): void {
  for (const { path, to } of fileChangesOf(unit)) {
    if (!to) continue
    try {
      host.makeDirectory(dirname(path))
      host.writeFile(stagedPath(path), to)
    } catch (error) {
      throw fileError('write', path, error)
    }
  }
}

export function removeStaged(host: Host, unit: Unit): void {
  for (const { path, to } of fileChangesOf(unit)) {
    if (to) host.removeFile(stagedPath(path))
  }
}

export function commitFiles(host: Host, paths: Paths, unit: Unit): void {
  const backupDirectories = new Set<string>()
  for (const { path, from, to } of inBootOrder(fileChangesOf(unit))) {
    try {
      if (to) host.rename(stagedPath(path), path)
      else {
        const backup = from && unit.purpose === 'remove' ? backUp(host, paths, path) : undefined
        if (backup !== undefined) backupDirectories.add(backup)
        host.removeFile(path)
        if (isDropIn(path, paths)) host.removeDirectory(dirname(path))
      }
    } catch (error) {
      throw fileError(to ? 'write' : 'remove', path, error)
    }
  }
  for (const directory of backupDirectories) removeOldestBackups(host, directory)
}

/** The directory of a drop-in of systemd exists for the drop-ins in it. */
function isDropIn(path: string, { units }: Paths): boolean {
  return dirname(dirname(path)) === units
}

/**
 * The udev rule gives the NIC the name that the other files match. It is written after them and removed before them, so that
 * a power cut between two files leaves the complete old or the complete new configuration for the next boot. Netplan would
 * name the NIC without the rule: its file has no effect beside the rule.
 */
function inBootOrder(changes: readonly FileChange[]): FileChange[] {
  const order = [/\.yaml$/, /\.rules$/, /\.link$/, /./]
  const rankOf = ({ path }: FileChange) => order.findIndex(pattern => pattern.test(path))
  const sorted = changes.toSorted((a, b) => rankOf(a) - rankOf(b))
  return [...sorted.filter(change => change.to).reverse(), ...sorted.filter(change => !change.to)]
}

/** Names the file that was to be written; the message of Node.js names its staged copy. */
function fileError(operation: 'write' | 'remove', path: string, cause: unknown): Error {
  const reason = messageOf(cause).replace(/^E[A-Z]+: (.*?), .*/, '$1')
  return new Error(`cannot ${operation} ${path}: ${reason}`, { cause })
}

/** Removes staged files of a run that was killed before it wrote its journal. */
export function removeStaleStaged(host: Host, paths: Paths): void {
  const shared = nodeFiles(paths).map(path => dirname(path))
  const directories = new Set([...configDirectories(paths), recordsDirectory(paths), ...shared])
  for (const directory of directories)
    for (const name of host.list(directory) ?? [])
      if (name.startsWith('.') && name.endsWith(stagedSuffix)) host.removeFile(`${directory}/${name}`)
}

function backupDirectory(paths: Paths, path: string): string | undefined {
  if (path.startsWith(`${paths.state}/`)) return undefined
  const owner = allBackends.find(({ directory }) => path.startsWith(`${directory(paths)}/`)) ?? backends.netplan
  return owner.backups(paths)
}

/** Returns the directory of the copy; undefined when there is nothing to keep. */
function backUp(host: Host, paths: Paths, path: string): string | undefined {
  const file = host.readFile(path)
  const preferred = backupDirectory(paths, path)
  if (!file || !preferred) return undefined
  // The agent does not create /etc/netplan on a host without Netplan.
  const directory = host.list(dirname(preferred)) === undefined ? `${paths.state}/backup` : preferred
  host.makeDirectory(directory)
  const time = new Date(host.now()).toISOString().replace(/[-:]/g, '').replace(/\..*/, 'Z')
  host.writeFile(`${directory}/${basename(path)}.${time}`, { ...file, mode: 0o600 })
  return directory
}

function removeOldestBackups(host: Host, directory: string): void {
  const backups = (host.list(directory) ?? []).filter(name => /\.\d{8}T\d{6}Z$/.test(name))
  const oldest = backups.sort((a, b) => (a.slice(-16) < b.slice(-16) ? -1 : 1)).slice(0, -maxBackups)
  for (const name of oldest) host.removeFile(`${directory}/${name}`)
}
