/**
 * What a run is about to change, on disk before the first change and gone after the last: a run that was cut short is
 * found by the next one, and taken back.
 *
 * A directory, one file a round. It holds the boot id: after a reboot the kernel has forgotten, and only files are undone.
 */
import type { Host } from './host.ts'
import type { Paths } from './paths.ts'
import type { Unit } from './unit.ts'

export interface JournalEntry {
  version: 1
  bootId: string
  units: Unit[]
}

function directoryOf(paths: Paths): string {
  return `${paths.state}/journal`
}

export function writeJournal(host: Host, paths: Paths, entry: JournalEntry): void {
  const directory = directoryOf(paths)
  host.makeDirectory(directory)
  const number = String(names(host, paths).length + 1).padStart(4, '0')
  const path = `${directory}/${number}.json`
  host.writeFile(`${path}.new`, { text: JSON.stringify(entry), mode: 0o600, uid: 0, gid: 0 })
  host.rename(`${path}.new`, path)
}

/** In the order of writing. An entry that cannot be read was never finished: nothing was changed after it. */
export function readJournal(host: Host, paths: Paths): JournalEntry[] {
  return names(host, paths).flatMap(name => {
    try {
      const entry = JSON.parse(host.readFile(`${directoryOf(paths)}/${name}`)?.text ?? '') as JournalEntry
      return entry.version === 1 && Array.isArray(entry.units) ? [entry] : []
    } catch {
      return []
    }
  })
}

/** One rename ends it, however many rounds it has: half a journal would undo half a run. */
export function clearJournal(host: Host, paths: Paths): void {
  const [directory, done] = [directoryOf(paths), `${directoryOf(paths)}.done`]
  dropDone(host, done)
  if (!host.list(directory)) return
  host.rename(directory, done)
  dropDone(host, done)
}

function dropDone(host: Host, directory: string): void {
  const names = host.list(directory)
  if (!names) return
  for (const name of names) host.removeFile(`${directory}/${name}`)
  host.removeDirectory(directory)
}

function names(host: Host, paths: Paths): string[] {
  return (host.list(directoryOf(paths)) ?? []).filter(name => /^\d{4}\.json$/.test(name)).sort()
}
