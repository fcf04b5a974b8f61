/**
 * What multinic owns on a node: files, known by their names, and one record per NIC with the state from before it was
 * configured.
 *
 * Pure. Files and names of the Go implementation are owned too.
 */
import { parseMac } from '../../contract/address.ts'
import { interfaceName } from '../../contract/interfaces.ts'
import type { Paths } from '../paths.ts'
import type { FileState, Observed } from './observed.ts'
import { type NicRecord, readRecord } from './records.ts'

export { type FormerState, type NicRecord, recordText } from './records.ts'

/** A NIC that was configured before: known by its record, or only by the MAC address in one of our files. */
export interface OwnedNic {
  index: number
  macAddress: string
  record?: NicRecord
  /** By text, from the record, else from the boot files. Any other rule is foreign, whatever its priority and table are. */
  rules: ReadonlySet<string>
  /** Routing tables that the record, or these rules, name. */
  tables: ReadonlySet<number>
}

export function recordPath(paths: Paths, macAddress: string): string {
  return `${recordsDirectory(paths)}/${macAddress.replaceAll(':', '')}.json`
}

export function recordsDirectory(paths: Paths): string {
  return `${paths.state}/nics`
}

export function sysctlFileOf(paths: Paths, index: number): string {
  return `${paths.sysctl}/9${index}-${interfaceName(index)}.conf`
}

/** By name: networkd knows the paths of the host, and the agent those of its mounts. */
export function isOurNetworkFile(file: string): boolean {
  return /(^|\/)05-multinic[0-9]\.network$/.test(file)
}

/** Has one of our names but is not ours: the agent neither writes nor removes it. */
export function isForeign(file: FileState): boolean {
  return file.special === true || file.unreadable === true || file.uid !== 0
}

export const allIndexes = Array.from({ length: 10 }, (_, index) => index)

export function ownedNicOf(owned: readonly OwnedNic[], { macAddress }: { macAddress: string }): OwnedNic | undefined {
  return owned.find(entry => entry.macAddress === macAddress)
}

/** The Go implementation leaves no record. */
export function isOfGoAgent(nic: OwnedNic | undefined): boolean {
  return nic !== undefined && !nic.record
}

/** Files at the paths of records that the agent cannot read completely, with the MAC address in their name. */
export function unusableRecords(
  { files }: Pick<Observed, 'files'>,
  paths: Paths,
): { path: string; macAddress: string | undefined; file: FileState; problem: string }[] {
  const directory = `${recordsDirectory(paths)}/`
  return Object.entries(files).flatMap(([path, file]) => {
    if (!path.startsWith(directory)) return []
    const problem = isForeign(file) ? 'is foreign' : readRecord(file.text).problem
    return problem === undefined
      ? []
      : [{ path, macAddress: macAddressOf(path.slice(directory.length)), file, problem }]
  })
}

function macAddressOf(name: string): string | undefined {
  const [, digits = ''] = /^([0-9a-f]{12})\.json$/.exec(name) ?? []
  return parseMac(digits.replace(/..(?=.)/g, '$&:'))
}

/** The MAC address that a file of ours, or of the Go implementation, configures. */
export function macAddressIn(text: string | undefined): string | undefined {
  const found =
    /(?:macaddress|mac-address|hwaddr|attr\{address\})"?\s*(?:[:=]|==)\s*["']?((?:[0-9a-f]{2}:){5}[0-9a-f]{2})/i.exec(
      text ?? '',
    )
  return found?.[1]?.toLowerCase()
}

/** The UUID of our NetworkManager profile. It depends on the MAC address alone, so a NIC never gets two profiles. */
export function profileUuid(macAddress: string): string {
  return `6d756c74-696e-8963-8000-${macAddress.replaceAll(':', '')}`
}
