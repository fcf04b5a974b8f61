/**
 * The keys of a change in the journal. A change with another kind or key is of another version: it is not read at all, because
 * half of it may mean something else.
 *
 * Pure. A kind or a key without its line here does not compile.
 */
import { isJsonObject } from '../../contract/json.ts'
import type { AddressSpec, Change, RouteSpec, RuleSpec } from './change.ts'
import type { FileState } from './observed.ts'

/** What this agent cannot read of the files of another one. */
export interface Unread {
  /** Undefined: it stops all NICs. */
  macAddress?: string
  /** The file, and what is unknown in it. */
  message: string
}

type KeysOf<T> = { [K in keyof T]-?: Record<never, never> extends Pick<T, K> ? 'optional' : 'required' }
type Keys = Readonly<Record<string, 'optional' | 'required'>>

const addressKeys = {
  ...{ cidr: 'required', noPrefixRoute: 'required', lifetime: 'optional', metric: 'optional' },
} satisfies KeysOf<AddressSpec>

const routeKeys = {
  ...{ family: 'required', table: 'required', destination: 'required', from: 'optional', gateway: 'optional' },
  ...{ source: 'optional', metric: 'required', onlink: 'required', protocol: 'required' },
} satisfies KeysOf<RouteSpec>

const ruleKeys = {
  ...{ family: 'required', priority: 'required', table: 'required', from: 'optional', to: 'optional', iif: 'optional' },
  ...{ fwmark: 'optional', not: 'optional', goto: 'optional', nop: 'optional', suppressPrefixLength: 'optional' },
  protocol: 'required',
} satisfies KeysOf<RuleSpec>

const fileKeys = {
  ...{
    text: 'required',
    mode: 'required',
    uid: 'required',
    gid: 'required',
    unreadable: 'optional',
    special: 'optional',
  },
} satisfies KeysOf<FileState>

const keysOf = {
  name: { from: 'required', to: 'required', park: 'optional', losses: 'optional' },
  mtu: { from: 'required', to: 'required' },
  link: { from: 'required', to: 'required' },
  address: { op: 'required', address: 'required', inPlace: 'optional', changed: 'optional', leavesRoute: 'optional' },
  route: { op: 'required', route: 'required', inPlace: 'optional', early: 'optional' },
  rule: { op: 'required', rule: 'required' },
  altname: { op: 'required', altname: 'required' },
  sysctl: { key: 'required', from: 'required', to: 'required' },
  file: { path: 'required', from: 'optional', to: 'optional' },
  nft: { family: 'required', from: 'optional', to: 'optional' },
  manager: { from: 'required', to: 'required', leased: 'optional' },
} satisfies { [K in Change['kind']]: KeysOf<Omit<Extract<Change, { kind: K }>, 'kind'>> }

/** The keys of the values that are objects. */
const innerKeys: Readonly<Record<string, Keys>> = {
  ...{ 'address.address': addressKeys, 'route.route': routeKeys, 'rule.rule': ruleKeys },
  ...{ 'file.from': fileKeys, 'file.to': fileKeys },
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
  const isMissing = ([key, need]: [string, string]) => need === 'required' && (value[key] ?? undefined) === undefined
  return Object.entries(keys).some(isMissing) ? `a ${what} of another form` : undefined
}
