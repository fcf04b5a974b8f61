/**
 * Puts files in their place: staged beside it and synced first, then moved over it, so that a full disk fails early and a
 * crash leaves the old file or the new one. What is taken away is kept in a backup directory.
 */
import { basename, dirname } from 'node:path'
import type { Change } from './change.ts'
import type { Host } from './host.ts'
import { directoriesOf } from './observe.ts'
import { recordsDirectory } from './ownership.ts'
import type { Paths } from './paths.ts'
import type { Unit } from './unit.ts'

type FileChange = Change & { kind: 'file' }

/** Some ten removals of a node with ten NICs. */
const backupsKept = 500
const stagedEnd = '.multinic-new'

export function fileChangesOf(unit: Unit): FileChange[] {
  return unit.changes.filter(change => change.kind === 'file')
}

/** Hidden, and with an ending that none of the readers of these directories knows. */
function stagedPath(path: string): string {
  return `${dirname(path)}/.${basename(path)}${stagedEnd}`
}

export function stageFiles(host: Host, unit: Unit): void {
  for (const { path, to } of fileChangesOf(unit)) {
    if (!to) continue
    host.makeDirectory(dirname(path))
    host.writeFile(stagedPath(path), to)
  }
}

/** What was staged and is not wanted any more. */
export function dropStaged(host: Host, unit: Unit): void {
  for (const { path, to } of fileChangesOf(unit)) {
    if (to) host.removeFile(stagedPath(path))
  }
}

export function commitFiles(host: Host, paths: Paths, unit: Unit): void {
  const backedUp = new Set<string>()
  for (const { path, from, to } of fileChangesOf(unit)) {
    if (to) host.rename(stagedPath(path), path)
    else {
      const backup = from && unit.purpose === 'remove' ? backUp(host, paths, path) : undefined
      if (backup !== undefined) backedUp.add(backup)
      host.removeFile(path)
    }
  }
  for (const directory of backedUp) dropOldest(host, directory)
}

/** What a run that was cut short before its journal left behind. */
export function dropLeftovers(host: Host, paths: Paths): void {
  const directories = [...directoriesOf(paths), recordsDirectory(paths)]
  for (const directory of directories)
    for (const name of host.list(directory) ?? [])
      if (name.startsWith('.') && name.endsWith(stagedEnd)) host.removeFile(`${directory}/${name}`)
}

function backupDirectory(paths: Paths, path: string): string | undefined {
  if (path.startsWith(`${paths.state}/`)) return undefined
  for (const directory of [paths.networkScripts, paths.networkManager])
    if (path.startsWith(`${directory}/`))
      return directory === paths.networkScripts ? `${directory}/backup` : `${paths.state}/backup`
  return `${paths.netplan}/backup`
}

/** The directory that has the copy now. */
function backUp(host: Host, paths: Paths, path: string): string | undefined {
  const file = host.readFile(path)
  const wanted = backupDirectory(paths, path)
  if (!file || !wanted) return undefined
  // On a host without Netplan its directory is not ours to make.
  const directory = host.list(dirname(wanted)) === undefined ? `${paths.state}/backup` : wanted
  host.makeDirectory(directory)
  const time = new Date(host.now()).toISOString().replace(/[-:]/g, '').replace(/\..*/, 'Z')
  host.writeFile(`${directory}/${basename(path)}.${time}`, { ...file, mode: 0o600 })
  return directory
}

function dropOldest(host: Host, directory: string): void {
  const backups = (host.list(directory) ?? []).filter(name => /\.\d{8}T\d{6}Z$/.test(name))
  const oldest = backups.sort((a, b) => (a.slice(-16) < b.slice(-16) ? -1 : 1)).slice(0, -backupsKept)
  for (const name of oldest) host.removeFile(`${directory}/${name}`)
}
