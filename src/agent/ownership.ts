/**
 * What multinic owns on a node: files, known by their names, and one record per NIC with the state from before it was
 * configured.
 *
 * Pure. Files and names of the Go implementation are owned too.
 */
import { parseMac } from '../contract/address.ts'
import { interfaceName } from '../contract/interfaces.ts'
import { isJsonObject } from '../contract/json.ts'
import type { MarkedNic } from './nftables.ts'
import { type FileState, type Observed, tableMain } from './observed.ts'
import { rulesInFile } from './owned-rules.ts'
import type { Paths } from './paths.ts'

/** The state that a NIC gets back when it is removed from the request. */
export interface FormerState {
  name: string
  mtu: number
  up: boolean
  sysctls: Record<string, string>
  /** NetworkManager managed the NIC. */
  managed?: true
  /** It had a leased address then. */
  leased?: true
}

/** As on disk. An agent must read the record of an older one: never change the keys. */
export interface NicRecord {
  version: 1
  id: number
  mac: string
  table: number
  portId?: string
  /** Which packets get its mark. Absent in records of older agents. */
  marked?: MarkedNic
  addresses: string[]
  /** The rules that the agent set, as `ruleText` writes them. Absent in records of older agents. */
  rules?: string[]
  /** Its routes in the main table, as `routeText` writes them. Absent in records of older agents. */
  mainRoutes?: string[]
  former?: FormerState
}

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

/** Every path that the agent may write for one index, and those of the Go implementation. */
export function filesOfIndex(paths: Paths, index: number): string[] {
  const name = interfaceName(index)
  return [
    `${paths.netplan}/9${index}-${name}.yaml`,
    `${paths.networkd}/05-${name}.link`,
    `${paths.networkd}/9${index}-${name}.link`,
    `${paths.networkd}/05-${name}.network`,
    `${paths.udevRules}/05-${name}.rules`,
    `${paths.networkManager}/${name}.nmconnection`,
    `${paths.networkManager}/9${index}-${name}.nmconnection`,
    ...['ifcfg', 'route', 'route6', 'rule', 'rule6'].map(kind => `${paths.networkScripts}/${kind}-${name}`),
    sysctlFileOf(paths, index),
  ]
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

export function ownedNics(observed: Observed, paths: Paths): OwnedNic[] {
  const owned = new Map<string, OwnedNic>()
  const add = (index: number, macAddress: string, record?: NicRecord) => {
    const rules = new Set(record?.rules ?? bootRules(observed, paths, index, macAddress))
    const tables = new Set([...(record ? [record.table] : []), ...[...rules].flatMap(tableIn)])
    owned.set(macAddress, { index, macAddress, ...(record ? { record } : {}), rules, tables })
  }
  for (const [path, file] of Object.entries(observed.files)) {
    if (!path.startsWith(`${recordsDirectory(paths)}/`)) continue
    const record = parseRecord(file.text)
    if (record) add(record.id, record.mac, record)
  }
  for (const index of allIndexes) {
    for (const path of filesOfIndex(paths, index)) {
      const file = observed.files[path]
      const macAddress = file && !isForeign(file) ? macAddressIn(file.text) : undefined
      if (macAddress && !owned.has(macAddress)) add(index, macAddress)
    }
  }
  return [...owned.values()].sort((a, b) => a.index - b.index)
}

/** The rules in our boot files of an index. Files of another MAC address do not count; without one, all files do. */
export function bootRules({ files }: Observed, paths: Paths, index: number, macAddress?: string): string[] {
  return filesOfIndex(paths, index).flatMap(path => {
    const file = files[path]
    if (!file || isForeign(file)) return []
    const configured = macAddressIn(file.text)
    return macAddress && configured && configured !== macAddress ? [] : rulesInFile(file.text)
  })
}

function tableIn(rule: string): number[] {
  const table = Number(/ lookup (\d+)/.exec(rule)?.[1])
  return Number.isNaN(table) || table === tableMain ? [] : [table]
}

export function ownedNicOf(owned: readonly OwnedNic[], { macAddress }: { macAddress: string }): OwnedNic | undefined {
  return owned.find(entry => entry.macAddress === macAddress)
}

/** The Go implementation leaves no record. */
export function isOfOlderAgent(nic: OwnedNic | undefined): boolean {
  return nic !== undefined && nic.record?.rules === undefined
}

export function parseRecord(text: string): NicRecord | undefined {
  try {
    const record = JSON.parse(text) as Partial<NicRecord>
    const usable =
      record.version === 1 &&
      Number.isInteger(record.id) &&
      Number.isInteger(record.table) &&
      parseMac(String(record.mac)) !== undefined &&
      isTextList(record.addresses) &&
      (record.rules === undefined || isTextList(record.rules))
    if (!usable) return undefined
    const { former, portId, ...rest } = record as NicRecord
    return {
      ...rest,
      ...(typeof portId === 'string' ? { portId } : {}),
      ...(isFormer(former) ? { former } : {}),
    }
  } catch {
    return undefined
  }
}

function isFormer(former: unknown): former is FormerState {
  if (!isJsonObject(former)) return false
  const { name, mtu, up, sysctls } = former
  if (typeof name !== 'string' || typeof mtu !== 'number' || typeof up !== 'boolean' || !isJsonObject(sysctls))
    return false
  return Object.values(sysctls).every(value => typeof value === 'string')
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string')
}

export function recordText(record: NicRecord): string {
  return `${JSON.stringify(record, undefined, 2)}\n`
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
