/**
 * The keys of a change in the journal. A change with another kind or key is of another version: it is not read at all, because
 * half of it may mean something else.
 *
 * Pure. A kind or a key without its line here does not compile.
 */
import { isJsonObject } from '../../contract/json.ts'
import type { AddressSpec, Change, RouteSpec, RuleSpec } from './change.ts'
import type { FileState, Manager } from './observed.ts'

/** What this agent cannot read of the files of another one. */
export interface Unread {
  /** Undefined: it stops all NICs. */
  macAddress?: string
  /** The file, and what is unknown in it. */
  message: string
}

type TypeOf<T> = T extends string ? 'string' : T extends number ? 'number' : T extends boolean ? 'boolean' : 'object'
/** The type of each key; with a question mark, the key may be absent. */
type KeysOf<T> = {
  [K in keyof T]-?: Record<never, never> extends Pick<T, K>
    ? `${TypeOf<NonNullable<T[K]>>}?`
    : TypeOf<NonNullable<T[K]>>
}
type Keys = Readonly<Record<string, string>>

const addressKeys = {
  ...{ cidr: 'string', noPrefixRoute: 'boolean', lifetime: 'object?', metric: 'number?' },
} satisfies KeysOf<AddressSpec>

const routeKeys = {
  ...{ family: 'number', table: 'number', destination: 'string', from: 'string?', gateway: 'string?' },
  ...{ source: 'string?', metric: 'number', onlink: 'boolean', protocol: 'number' },
} satisfies KeysOf<RouteSpec>

const ruleKeys = {
  ...{ family: 'number', priority: 'number', table: 'number', from: 'string?', to: 'string?', iif: 'string?' },
  ...{ fwmark: 'string?', not: 'boolean?', goto: 'number?', nop: 'boolean?', suppressPrefixLength: 'number?' },
  protocol: 'number',
} satisfies KeysOf<RuleSpec>

const fileKeys = {
  ...{
    text: 'string',
    mode: 'number',
    uid: 'number',
    gid: 'number',
    unreadable: 'boolean?',
    special: 'boolean?',
  },
} satisfies KeysOf<FileState>

const keysOf = {
  name: { from: 'string', to: 'string', park: 'boolean?', losses: 'object?' },
  mtu: { from: 'number', to: 'number' },
  link: { from: 'string', to: 'string' },
  address: { op: 'string', address: 'object', inPlace: 'boolean?', changed: 'boolean?', leavesRoute: 'boolean?' },
  route: { op: 'string', route: 'object', inPlace: 'boolean?', early: 'boolean?' },
  rule: { op: 'string', rule: 'object' },
  altname: { op: 'string', altname: 'string' },
  sysctl: { key: 'string', from: 'string', to: 'string' },
  file: { path: 'string', from: 'object?', to: 'object?' },
  nft: { family: 'number', from: 'string?', to: 'string?' },
  manager: { from: 'string', to: 'string', leased: 'boolean?' },
} satisfies { [K in Change['kind']]: KeysOf<Omit<Extract<Change, { kind: K }>, 'kind'>> }

/** The keys of the values that are objects. */
const innerKeys: Readonly<Record<string, Keys>> = {
  ...{ 'address.address': addressKeys, 'route.route': routeKeys, 'rule.rule': ruleKeys },
  ...{ 'file.from': fileKeys, 'file.to': fileKeys },
}

const linkStates = ['up', 'down']
const managers = ['none', 'ours', 'other'] satisfies Manager[]
const ops = ['add', 'remove']
/** A word that this agent does not know means another change. */
const wordsOf: Readonly<Record<string, readonly string[]>> = {
  ...{ 'link.from': linkStates, 'link.to': linkStates, 'manager.from': managers, 'manager.to': managers },
  ...{ 'address.op': ops, 'route.op': ops, 'rule.op': ops, 'altname.op': ops },
}

/** The disk is not trusted. The problem names what is unknown. */
export function readChange(change: unknown): { change: Change } | { problem: string } {
  if (!isJsonObject(change)) return { problem: 'a change of another form' }
  const { kind, ...values } = change
  if (!isKind(kind)) return { problem: `the unknown change ${String(kind)}` }
  const problem =
    problemIn(values, keysOf[kind], kind) ??
    Object.entries(values)
      .map(([key, value]) => innerProblem(`${kind}.${key}`, value))
      .find(found => found !== undefined)
  return problem === undefined ? { change: change as unknown as Change } : { problem }
}

function isKind(kind: unknown): kind is Change['kind'] {
  return typeof kind === 'string' && Object.hasOwn(keysOf, kind)
}

function innerProblem(path: string, value: unknown): string | undefined {
  if (path === 'name.losses') {
    const losses = Array.isArray(value) ? value : [undefined]
    return losses.map(readChange).flatMap(read => ('problem' in read ? [read.problem] : []))[0]
  }
  const keys = innerKeys[path]
  return keys && problemIn(value, keys, path)
}

function problemIn(value: unknown, keys: Keys, what: string): string | undefined {
  if (!isJsonObject(value)) return `a ${what} of another form`
  const unknown = Object.keys(value).find(key => !Object.hasOwn(keys, key))
  if (unknown !== undefined) return `the unknown key ${what}.${unknown}`
  const isOther = ([key, type]: [string, string]) => {
    const found = value[key] ?? undefined
    if (found === undefined) return !type.endsWith('?')
    const isKnown = wordsOf[`${what}.${key}`]?.includes(String(found)) ?? true
    return typeof found !== type.replace('?', '') || !isKnown
  }
  return Object.entries(keys).some(isOther) ? `a ${what} of another form` : undefined
}
