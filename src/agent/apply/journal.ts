/**
 * The journal: the changes that a run is about to make, written before the first change and removed after the last one.
 * The next run finds the journal of a run that did not finish, and rolls its changes back.
 *
 * A directory with one file per round. It holds the boot ID: after a reboot the kernel state is gone, and only files are
 * rolled back. An agent of another version reads it, so never change a key of the JSON. What this agent cannot read moves to a
 * directory of its own and stays there until an agent can read it (docs/decisions/0146-contract-of-a-node.md).
 */
import { parseMac } from '../../contract/address.ts'
import { isJsonObject } from '../../contract/json.ts'
import type { Host } from '../host/host.ts'
import type { Paths } from '../paths.ts'
import { readChange, type Unread } from '../state/change-keys.ts'
import type { Unit } from '../state/unit.ts'

export interface JournalEntry {
  bootID: string
  units: readonly Unit[]
}

export interface Journal {
  /** In the order of writing. */
  entries: JournalEntry[]
  unread: Unread[]
  /** The text of each file that has to stay, without what `entries` have, by its path; undefined: all of it. */
  rests: Map<string, string | undefined>
}

interface EntryOnDisk {
  version: 1
  bootId: string
  units: UnitOnDisk[]
}

/** Each entry has the texts of all files before and after the run. */
const maxEntryBytes = 64 << 20

type UnitOnDisk = Omit<Unit, 'index' | 'macAddress'> & { id: number; mac: string }

const unitKeys = {
  ...{ purpose: true, id: true, name: true, mac: true, ifindex: true, group: true, changes: true },
} satisfies Record<keyof UnitOnDisk, true>
const purposes = { apply: true, remove: true, rollback: true, node: true } satisfies Record<Unit['purpose'], true>

function directoryOf(paths: Paths): string {
  return `${paths.state}/journal`
}

function unreadDirectory(paths: Paths): string {
  return `${paths.state}/journal-unread`
}

export function writeJournal(host: Host, paths: Paths, { bootID, units }: JournalEntry): void {
  const directory = directoryOf(paths)
  host.makeDirectory(directory)
  const entry: EntryOnDisk = { version: 1, bootId: bootID, units: units.map(toDisk) }
  writeEntry(host, nextPath(host, directory), JSON.stringify(entry))
}

function writeEntry(host: Host, path: string, text: string): void {
  host.writeFile(`${path}.new`, { text, mode: 0o600, uid: 0, gid: 0 })
  host.rename(`${path}.new`, path)
}

function nextPath(host: Host, directory: string): string {
  const last = numberIn(names(host, directory).at(-1) ?? '0')
  return `${directory}/${String(last + 1).padStart(4, '0')}.json`
}

export function readJournal(host: Host, paths: Paths): Journal {
  const journal: Journal = { entries: [], unread: [], rests: new Map() }
  for (const directory of [unreadDirectory(paths), directoryOf(paths)])
    for (const name of names(host, directory)) {
      const path = `${directory}/${name}`
      const file = host.readFile(path, maxEntryBytes)
      const { entry, unread, rest } = file?.unreadable
        ? { unread: [{ message: 'cannot be read' }] }
        : parseEntry(file?.text ?? '')
      if (entry) journal.entries.push(entry)
      for (const { message, ...of } of unread) journal.unread.push({ ...of, message: `${path} ${message}` })
      if (!entry || rest !== undefined) journal.rests.set(path, rest)
    }
  return journal
}

/** Ends the journal after its entries were rolled back. What could not be read stays. */
export function endJournal(host: Host, paths: Paths, { rests }: Journal): void {
  const [directory, unread] = [directoryOf(paths), unreadDirectory(paths)]
  if (rests.size > 0) host.makeDirectory(unread)
  for (const name of names(host, unread)) if (!rests.has(`${unread}/${name}`)) host.removeFile(`${unread}/${name}`)
  for (const [path, text] of rests) {
    const isMoved = path.startsWith(`${directory}/`)
    const isWhole = text === undefined
    if (isMoved && isWhole) host.rename(path, nextPath(host, unread))
    if (isWhole) continue
    // A run that was killed here has moved it already.
    const copies = isMoved ? names(host, unread).map(name => `${unread}/${name}`) : [path]
    const isKept = copies.some(copy => host.readFile(copy, maxEntryBytes)?.text === text)
    if (!isKept) writeEntry(host, isMoved ? nextPath(host, unread) : path, text)
  }
  clearJournal(host, paths)
}

/** Without an entry, all of the file is the rest. */
interface ParsedEntry {
  entry?: JournalEntry
  unread: Unread[]
  rest?: string
}

/** A file that is not JSON names no NIC: it stays and stops nothing. */
function parseEntry(text: string): ParsedEntry {
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    return { unread: [] }
  }
  if (!isJsonObject(content)) return { unread: [{ message: 'is no journal' }] }
  const { version, bootId, units, ...others } = content
  const [unknown] = Object.keys(others)
  if (version !== 1 || typeof bootId !== 'string' || !Array.isArray(units) || unknown !== undefined) {
    const what = unknown === undefined ? `has version ${version} or another form` : `has the unknown key ${unknown}`
    return { unread: [{ message: what }] }
  }
  const parsed = units.map(parseUnit)
  const rests = parsed.flatMap(({ rest }) => (rest === undefined ? [] : [rest]))
  return {
    entry: { bootID: bootId, units: parsed.flatMap(({ unit }) => unit ?? []) },
    unread: parsed.flatMap(({ unread }) => unread ?? []),
    ...(rests.length > 0 ? { rest: JSON.stringify({ version, bootId, units: rests }) } : {}),
  }
}

interface ParsedUnit {
  unit?: Unit
  unread?: Unread
  rest?: unknown
}

/** What all NICs share has no MAC address of a NIC: an unknown change of it stops all NICs. */
function parseUnit(unit: unknown): ParsedUnit {
  if (!isJsonObject(unit)) return { unread: { message: 'has a unit of another form' }, rest: unit }
  const { purpose, id, name, group, mac, changes } = unit
  const macAddress = purpose === 'node' ? undefined : parseMac(String(mac))
  const unread = (what: string): Unread => ({
    ...(macAddress === undefined ? {} : { macAddress }),
    message: `has ${what} of ${String(name)}`,
  })
  const unknown = Object.keys(unit).find(key => !Object.hasOwn(unitKeys, key))
  if (unknown !== undefined) return { unread: unread(`the unknown key ${unknown}`), rest: unit }
  const isUnit =
    Object.hasOwn(purposes, String(purpose)) &&
    typeof id === 'number' &&
    [name, group, mac].every(text => typeof text === 'string') &&
    Array.isArray(changes)
  if (!isUnit) return { unread: unread('a unit of another form'), rest: unit }
  const read = changes.map(change => ({ change, result: readChange(change) }))
  const known = read.flatMap(({ result }) => ('change' in result ? [result.change] : []))
  const others = read.flatMap(({ change, result }) => ('problem' in result ? [{ change, ...result }] : []))
  return {
    ...(known.length > 0 ? { unit: fromDisk({ ...(unit as unknown as UnitOnDisk), changes: known }) } : {}),
    ...(others.length > 0
      ? {
          unread: unread(others.map(({ problem }) => problem).join(', ')),
          rest: { ...unit, changes: others.map(({ change }) => change) },
        }
      : {}),
  }
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
  const files = host.list(directory)
  if (!files) return
  for (const name of files) host.removeFile(`${directory}/${name}`)
  host.removeDirectory(directory)
}

function names(host: Host, directory: string): string[] {
  const found = (host.list(directory) ?? []).filter(name => /^\d+\.json$/.test(name))
  return found.sort((a, b) => numberIn(a) - numberIn(b))
}

function numberIn(name: string): number {
  return Number.parseInt(name, 10)
}

function toDisk({ purpose, index, name, macAddress, ...rest }: Unit): UnitOnDisk {
  return { purpose, id: index, name, mac: macAddress, ...rest }
}

function fromDisk({ id, mac, ...rest }: UnitOnDisk): Unit {
  return { ...rest, index: id, macAddress: mac }
}
