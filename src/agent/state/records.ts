/**
 * The records of configured NICs, and which of them the agent believes.
 *
 * Pure. A record decides what the agent may remove, so a record that no agent could have written is not believed. A record with
 * anything that this agent does not know stops its NIC (docs/decisions/0146-contract-of-a-node.md).
 */
import { parseCidr, parseMac } from '../../contract/address.ts'
import { equalJson, isJsonObject } from '../../contract/json.ts'
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

/** As on disk. Agents of other versions read it: never change a key. */
export interface NicRecord {
  version: 1
  id: number
  mac: string
  table: number
  portId?: string
  addresses: string[]
  /** The rules that the agent set, as `ruleText` writes them. */
  rules: string[]
  /** Its routes in the main table, as `routeText` writes them. */
  mainRoutes: string[]
  /** Which packets get its mark. */
  marked: MarkedNic
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

/** A record and what this agent does not know of it. Both are set for a record of another version that has all of ours. */
export interface ReadRecord<T> {
  record?: T
  problem?: string
}

const recordKeys = {
  ...{ version: true, id: true, mac: true, table: true, portId: true, addresses: true, rules: true, mainRoutes: true },
  ...{ marked: true, former: true },
} satisfies Record<keyof NicRecord, true>
const formerKeys = {
  ...{ name: true, mtu: true, up: true, sysctls: true, managed: true, leased: true },
} satisfies Record<keyof FormerState, true>
const markedKeys = { name: true, slot: true, sources: true, networks: true } satisfies Record<keyof MarkedNic, true>
const nodeRecordKeys = { version: true, rules: true, routes: true } satisfies Record<keyof NodeRecord, true>

export function parseRecord(text: string): NicRecord | undefined {
  return readRecord(text).record
}

export function readRecord(text: string): ReadRecord<NicRecord> {
  const record = jsonIn(text)
  if (!isJsonObject(record)) return { problem: 'is no record' }
  const { id, mac, table, addresses, rules, mainRoutes, marked, former, portId } = record as Partial<NicRecord>
  const usable =
    isIntegerIn(id, 0, 9) &&
    isIntegerIn(table, 1, 2 ** 32 - 1) &&
    !isKernelTable(table) &&
    parseMac(String(mac)) !== undefined &&
    isTextList(addresses) &&
    addresses.every(address => parseCidr(address) !== undefined) &&
    isTextList(rules) &&
    rules.every(isRuleOfNic) &&
    isTextList(mainRoutes) &&
    isMarked(marked) &&
    ['undefined', 'string'].includes(typeof portId) &&
    (former === undefined || isFormer(former))
  const problem =
    versionProblem(record) ??
    unknownKey(record, recordKeys, '') ??
    unknownKey(marked, markedKeys, 'marked.') ??
    unknownKey(former, formerKeys, 'former.') ??
    (usable ? undefined : 'has a value that no agent writes')
  return {
    ...(usable ? { record: record as unknown as NicRecord } : {}),
    ...(problem === undefined ? {} : { problem }),
  }
}

/** A rule or route that no agent could have set is left out. */
export function readNodeRecord(text: string | undefined): ReadRecord<NodeRecord> {
  if (text === undefined) return {}
  const record = jsonIn(text)
  if (!isJsonObject(record)) return { problem: 'is no record' }
  const { rules, routes } = record
  const texts = (value: unknown) => (isTextList(value) ? value : [])
  const ours: NodeRecord = {
    version: 1,
    rules: texts(rules).filter(rule => isOurPriority(priorityIn(rule) ?? 0)),
    routes: texts(routes).filter(isRouteOfNode),
  }
  const isWhole = equalJson([ours.rules, ours.routes], [rules, routes])
  const problem =
    versionProblem(record) ??
    unknownKey(record, nodeRecordKeys, '') ??
    (isWhole ? undefined : 'has a value that no agent writes')
  return { record: ours, ...(problem === undefined ? {} : { problem }) }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function versionProblem({ version }: Readonly<Record<string, unknown>>): string | undefined {
  return version === 1 ? undefined : `has version ${String(version)}`
}

function unknownKey(value: unknown, keys: object, prefix: string): string | undefined {
  const key = Object.keys(isJsonObject(value) ? value : {}).find(name => !Object.hasOwn(keys, name))
  return key === undefined ? undefined : `has the unknown key ${prefix}${key}`
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
