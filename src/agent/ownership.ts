/**
 * What on a node is ours: files by their names, and one record a NIC that says what was there before us.
 *
 * Pure. Files and names that the Go implementation left count as ours too.
 */
import { parseMac } from '../contract/address.ts'
import { interfaceName } from '../contract/interfaces.ts'
import type { FileState, Observed } from './observed.ts'
import type { Paths } from './paths.ts'

/** The state that a NIC goes back to when it is no longer wanted. */
export interface Former {
  name: string
  mtu: number
  up: boolean
  sysctls: Record<string, string>
  /** NetworkManager had it. */
  managed?: true
}

export interface NicRecord {
  version: 1
  id: number
  mac: string
  table: number
  portId?: string
  addresses: string[]
  former?: Former
}

/** A NIC that we configured before: known by its record, or only by a file of ours that has its MAC. */
export interface OwnedNic {
  id: number
  mac: string
  record?: NicRecord
}

export function recordPath(paths: Paths, mac: string): string {
  return `${recordsDirectory(paths)}/${mac.replaceAll(':', '')}.json`
}

export function recordsDirectory(paths: Paths): string {
  return `${paths.state}/nics`
}

/** Every path that we may write for one number, and those of the Go implementation. */
export function filesOfId(paths: Paths, id: number): string[] {
  const name = interfaceName(id)
  return [
    `${paths.netplan}/9${id}-${name}.yaml`,
    `${paths.networkd}/05-${name}.link`,
    `${paths.networkd}/9${id}-${name}.link`,
    `${paths.networkd}/05-${name}.network`,
    `${paths.networkManager}/${name}.nmconnection`,
    `${paths.networkManager}/9${id}-${name}.nmconnection`,
    ...['ifcfg', 'route', 'route6', 'rule', 'rule6'].map(kind => `${paths.networkScripts}/${kind}-${name}`),
    sysctlFileOf(paths, id),
  ]
}

export function sysctlFileOf(paths: Paths, id: number): string {
  return `${paths.sysctl}/9${id}-${interfaceName(id)}.conf`
}

/** By one of our names, and still somebody else's: neither written nor taken away. */
export function isForeign(file: FileState): boolean {
  return file.special === true || file.uid !== 0
}

export const allIds = Array.from({ length: 10 }, (_, id) => id)

export function ownedNics(observed: Observed, paths: Paths): OwnedNic[] {
  const owned = new Map<string, OwnedNic>()
  for (const [path, file] of Object.entries(observed.files)) {
    if (!path.startsWith(`${recordsDirectory(paths)}/`)) continue
    const record = parseRecord(file.text)
    if (record) owned.set(record.mac, { id: record.id, mac: record.mac, record })
  }
  for (const id of allIds) {
    for (const path of filesOfId(paths, id)) {
      const file = observed.files[path]
      const mac = file && !isForeign(file) ? macIn(file.text) : undefined
      if (mac && !owned.has(mac)) owned.set(mac, { id, mac })
    }
  }
  return [...owned.values()].sort((a, b) => a.id - b.id)
}

export function parseRecord(text: string): NicRecord | undefined {
  try {
    const record = JSON.parse(text) as Partial<NicRecord>
    const usable =
      record.version === 1 &&
      Number.isInteger(record.id) &&
      Number.isInteger(record.table) &&
      parseMac(String(record.mac)) !== undefined &&
      Array.isArray(record.addresses)
    return usable ? (record as NicRecord) : undefined
  } catch {
    return undefined
  }
}

export function recordText(record: NicRecord): string {
  return `${JSON.stringify(record, undefined, 2)}\n`
}

/** The MAC that a file of ours, or of the Go implementation, is about. */
export function macIn(text: string | undefined): string | undefined {
  const found = /(?:macaddress|mac-address|hwaddr)"?\s*[:=]\s*["']?((?:[0-9a-f]{2}:){5}[0-9a-f]{2})/i.exec(text ?? '')
  return found?.[1]?.toLowerCase()
}

/** The id of our profile in NetworkManager: the same for the same NIC for ever, so that it is never there twice. */
export function profileUuid(mac: string): string {
  return `6d756c74-696e-8963-8000-${mac.replaceAll(':', '')}`
}
