/**
 * The journal: the changes that a run is about to make, written before the first change and removed after the last one.
 * The next run finds the journal of a run that did not finish, and rolls its changes back.
 *
 * A directory with one file per round. It holds the boot ID: after a reboot the kernel state is gone, and only files are
 * rolled back. An agent must read the journal of an older one: never change the keys of the JSON.
 */
import { isJsonObject } from '../../contract/json.ts'
import type { Host } from '../host/host.ts'
import type { Paths } from '../paths.ts'
import type { Unit } from '../state/unit.ts'

export interface JournalEntry {
  bootID: string
  units: readonly Unit[]
}

interface EntryOnDisk {
  version: 1
  bootId: string
  units: UnitOnDisk[]
}

/** Each entry has the texts of all files before and after the run. */
const maxEntryBytes = 64 << 20

type UnitOnDisk = Omit<Unit, 'index' | 'macAddress'> & { id: number; mac: string }

function directoryOf(paths: Paths): string {
  return `${paths.state}/journal`
}

export function writeJournal(host: Host, paths: Paths, { bootID, units }: JournalEntry): void {
  const directory = directoryOf(paths)
  host.makeDirectory(directory)
  const number = String(names(host, paths).length + 1).padStart(4, '0')
  const path = `${directory}/${number}.json`
  const entry: EntryOnDisk = { version: 1, bootId: bootID, units: units.map(toDisk) }
  host.writeFile(`${path}.new`, { text: JSON.stringify(entry), mode: 0o600, uid: 0, gid: 0 })
  host.rename(`${path}.new`, path)
}

/** In the order of writing. An entry that is not JSON was never completed, so no change followed it. */
export function readJournal(host: Host, paths: Paths): JournalEntry[] {
  return names(host, paths).flatMap(name => {
    const path = `${directoryOf(paths)}/${name}`
    const file = host.readFile(path, maxEntryBytes)
    if (file?.unreadable) throw new Error(`cannot read ${path}`)
    return parseEntry(file?.text ?? '')
  })
}

function parseEntry(text: string): JournalEntry[] {
  try {
    const entry = JSON.parse(text) as EntryOnDisk
    if (entry.version !== 1 || typeof entry.bootId !== 'string' || !Array.isArray(entry.units)) return []
    return [{ bootID: entry.bootId, units: entry.units.filter(isUnit).map(fromDisk) }]
  } catch {
    return []
  }
}

/** The disk is not trusted: a unit or a change of another form would stop every run. */
function isUnit(unit: unknown): unit is UnitOnDisk {
  if (!isJsonObject(unit)) return false
  const { name, group, mac, changes } = unit
  return [name, group, mac].every(text => typeof text === 'string') && Array.isArray(changes) && changes.every(isChange)
}

const keysOf: Readonly<Record<string, readonly string[]>> = {
  name: ['from', 'to'],
  mtu: ['from', 'to'],
  link: ['from', 'to'],
  manager: ['from', 'to'],
  sysctl: ['key', 'from', 'to'],
  address: ['op', 'address'],
  route: ['op', 'route'],
  rule: ['op', 'rule'],
  altname: ['op', 'altname'],
  file: ['path'],
  nft: ['family'],
}

function isChange(change: unknown): boolean {
  if (!isJsonObject(change)) return false
  const { kind, losses = [] } = change
  if (!Array.isArray(losses) || !losses.every(isChange)) return false
  return keysOf[String(kind)]?.every(key => change[key] !== undefined && change[key] !== null) ?? false
}

/** One rename ends all rounds at once: a partial journal would roll back part of a run. */
export function clearJournal(host: Host, paths: Paths): void {
  const [directory, done] = [directoryOf(paths), `${directoryOf(paths)}.done`]
  removeDirectory(host, done)
  if (!host.list(directory)) return
  host.rename(directory, done)
  removeDirectory(host, done)
}

function removeDirectory(host: Host, directory: string): void {
  const names = host.list(directory)
  if (!names) return
  for (const name of names) host.removeFile(`${directory}/${name}`)
  host.removeDirectory(directory)
}

function names(host: Host, paths: Paths): string[] {
  return (host.list(directoryOf(paths)) ?? []).filter(name => /^\d{4}\.json$/.test(name)).sort()
}

function toDisk({ purpose, index, name, macAddress, ...rest }: Unit): UnitOnDisk {
  return { purpose, id: index, name, mac: macAddress, ...rest }
}

function fromDisk({ id, mac, ...rest }: UnitOnDisk): Unit {
  return { ...rest, index: id, macAddress: mac }
}
