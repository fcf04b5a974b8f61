/**
 * The records of configured NICs, and which of them the agent believes.
 *
 * Pure. A record decides what the agent may remove, so a record that no agent could have written is not believed.
 */
import { parseCidr, parseMac } from '../../contract/address.ts'
import { isJsonObject } from '../../contract/json.ts'
import { isOurPriority } from '../../contract/routing-scheme.ts'
import type { MarkedNic } from './nftables.ts'
import { tableDefault, tableLocal } from './observed.ts'

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
  addresses: string[]
  /** The rules that the agent set, as `ruleText` writes them. Absent in records of older agents. */
  rules?: string[]
  /** Its routes in the main table, as `routeText` writes them. Absent in records of older agents. */
  mainRoutes?: string[]
  /** Which packets get its mark. Absent in records of older agents. */
  marked?: MarkedNic
  former?: FormerState
}

/** What multinic has set for all NICs, as on disk. */
export interface NodeRecord {
  version: 1
  rules: string[]
  routes: string[]
}

/** Tables of the kernel, which never belong to a NIC: unspecified, default, main and local. */
export function isKernelTable(table: number): boolean {
  return table === 0 || (table >= tableDefault && table <= tableLocal)
}

/** The kernel's own rules: local, main and default. */
const kernelPriorities = new Set([0, 32_766, 32_767])

export function parseRecord(text: string): NicRecord | undefined {
  try {
    const record = JSON.parse(text) as Partial<NicRecord>
    const usable =
      record.version === 1 &&
      isIntegerIn(record.id, 0, 9) &&
      isIntegerIn(record.table, 1, 2 ** 32 - 1) &&
      !isKernelTable(record.table) &&
      parseMac(String(record.mac)) !== undefined &&
      isTextList(record.addresses) &&
      record.addresses.every(address => parseCidr(address) !== undefined) &&
      (record.rules === undefined || (isTextList(record.rules) && record.rules.every(isRuleOfNic))) &&
      (record.mainRoutes === undefined || isTextList(record.mainRoutes))
    if (!usable) return undefined
    const { former, portId, marked, ...rest } = record as NicRecord
    return {
      ...rest,
      ...(isMarked(marked) ? { marked } : {}),
      ...(typeof portId === 'string' ? { portId } : {}),
      ...(isFormer(former) ? { former } : {}),
    }
  } catch {
    return undefined
  }
}

/** A rule or route that no agent could have set is left out. */
export function parseNodeRecord(text: string | undefined): NodeRecord | undefined {
  try {
    const record: unknown = JSON.parse(text ?? 'null')
    if (!isJsonObject(record)) return undefined
    const texts = (value: unknown) => (isTextList(value) ? value : [])
    return {
      version: 1,
      rules: texts(record['rules']).filter(rule => isOurPriority(priorityIn(rule) ?? 0)),
      routes: texts(record['routes']).filter(isRouteOfNode),
    }
  } catch {
    return undefined
  }
}

function isRouteOfNode(text: string): boolean {
  const table = Number(/ table (\d+)/.exec(text)?.[1] ?? 0)
  return !isKernelTable(table) && !/^(default|0\.0\.0\.0\/0|::\/0) /.test(text)
}

/** Its names and networks become part of a program for nft. */
function isMarked(value: unknown): value is MarkedNic {
  if (!isJsonObject(value)) return false
  const { name, slot, sources, networks } = value
  return /^multinic[0-9]$/.test(String(name)) && isIntegerIn(slot, 0, 9) && [sources, networks].every(isListOfNetworks)
}

function isListOfNetworks(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(item => isJsonObject(item) && parseCidr(String(item['cidr']))?.family === item['family'])
  )
}

function priorityIn(rule: string): number | undefined {
  const priority = /(?:^| )priority (\d+)$/.exec(rule)?.[1]
  return priority === undefined ? undefined : Number(priority)
}

/** As `ruleText` writes it. A rule of a NIC names a source or a mark: without them it would be for the whole node. */
function isRuleOfNic(text: string): boolean {
  const source = parseCidr(/(?:^| )from (\S+)/.exec(text)?.[1] ?? '')
  const priority = priorityIn(text)
  const selects = (source !== undefined && source.prefix > 0) || /(?:^| )fwmark \S+/.test(text)
  return selects && priority !== undefined && !kernelPriorities.has(priority)
}

function isFormer(former: unknown): former is FormerState {
  if (!isJsonObject(former)) return false
  const { name, mtu, up, sysctls } = former
  if (typeof name !== 'string' || typeof mtu !== 'number' || typeof up !== 'boolean' || !isJsonObject(sysctls))
    return false
  return Object.values(sysctls).every(value => typeof value === 'string')
}

function isIntegerIn(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string')
}

export function recordText(record: NicRecord): string {
  return `${JSON.stringify(record, undefined, 2)}\n`
}
