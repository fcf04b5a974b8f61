/**
 * What multinic owns on a node: files, known by their names, and one record per NIC with the state from before it was
 * configured.
 *
 * Pure. Files and names of the Go implementation are owned too.
 */
import { parseMac } from '../contract/address.ts'
import { interfaceName } from '../contract/interfaces.ts'
import type { FileState, Observed } from './observed.ts'
import type { Paths } from './paths.ts'

/** The state that a NIC gets back when it is removed from the request. */
export interface FormerState {
  name: string
  mtu: number
  up: boolean
  sysctls: Record<string, string>
  /** NetworkManager managed the NIC. */
  managed?: true
}

/** As on disk. An agent must read the record of an older one: never change the keys. */
export interface NicRecord {
  version: 1
  id: number
  mac: string
  table: number
  portId?: string
  addresses: string[]
  former?: FormerState
}

/** A NIC that was configured before: known by its record, or only by the MAC address in one of our files. */
export interface OwnedNic {
  index: number
  macAddress: string
  record?: NicRecord
}

export function recordPath(paths: Paths, macAddress: string): string {
  return `${recordsDirectory(paths)}/${macAddress.replaceAll(':', '')}.json`
}

export function recordsDirectory(paths: Paths): string {
  return `${paths.state}/nics`
}

/** Every path that the agent may write for one index, and those of the Go implementation. */
export function filesOfIndex(paths: Paths, index: number): string[] {
  const name = interfaceName(index)
  return [
    `${paths.netplan}/9${index}-${name}.yaml`,
    `${paths.networkd}/05-${name}.link`,
    `${paths.networkd}/9${index}-${name}.link`,
    `${paths.networkd}/05-${name}.network`,
    `${paths.networkManager}/${name}.nmconnection`,
    `${paths.networkManager}/9${index}-${name}.nmconnection`,
    ...['ifcfg', 'route', 'route6', 'rule', 'rule6'].map(kind => `${paths.networkScripts}/${kind}-${name}`),
    sysctlFileOf(paths, index),
  ]
}

export function sysctlFileOf(paths: Paths, index: number): string {
  return `${paths.sysctl}/9${index}-${interfaceName(index)}.conf`
}

/** Has one of our names but is not ours: the agent neither writes nor removes it. */
export function isForeign(file: FileState): boolean {
  return file.special === true || file.uid !== 0
}

export const allIndexes = Array.from({ length: 10 }, (_, index) => index)

export function ownedNics(observed: Observed, paths: Paths): OwnedNic[] {
  const owned = new Map<string, OwnedNic>()
  for (const [path, file] of Object.entries(observed.files)) {
    if (!path.startsWith(`${recordsDirectory(paths)}/`)) continue
    const record = parseRecord(file.text)
    if (record) owned.set(record.mac, { index: record.id, macAddress: record.mac, record })
  }
  for (const index of allIndexes) {
    for (const path of filesOfIndex(paths, index)) {
      const file = observed.files[path]
      const macAddress = file && !isForeign(file) ? macAddressIn(file.text) : undefined
      if (macAddress && !owned.has(macAddress)) owned.set(macAddress, { index, macAddress })
    }
  }
  return [...owned.values()].sort((a, b) => a.index - b.index)
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

/** The MAC address that a file of ours, or of the Go implementation, configures. */
export function macAddressIn(text: string | undefined): string | undefined {
  const found = /(?:macaddress|mac-address|hwaddr)"?\s*[:=]\s*["']?((?:[0-9a-f]{2}:){5}[0-9a-f]{2})/i.exec(text ?? '')
  return found?.[1]?.toLowerCase()
}

/** The UUID of our NetworkManager profile. It depends on the MAC address alone, so a NIC never gets two profiles. */
export function profileUuid(macAddress: string): string {
  return `6d756c74-696e-8963-8000-${macAddress.replaceAll(':', '')}`
}
