/**
 * What a message of OpenStack's bus tells: which ports, servers, subnets or networks to look at.
 *
 * Pure, and total: whatever comes in, one of three readings comes out. A notice is a hint to look and never data, so only
 * ids are taken from it, and what is needed to see that nothing of interest changed.
 */
import { hashOf } from '../contract/hash.ts'

export interface PortSubject {
  about: 'port'
  id: string
  /** Empty when it is on no server. */
  deviceId: string
  deleted: boolean
}

export interface ServerSubject {
  about: 'server'
  id: string
  name: string
  /** Equal for two updates that changed neither the name nor the metadata; absent when the server itself came or went. */
  mark?: string
  /** An interface came or went; the server itself is as it was. */
  interfaces: boolean
}

export interface SubnetSubject {
  about: 'subnet'
  id: string
  name: string
}

export interface NetworkSubject {
  about: 'network'
  id: string
}

export type Subject = PortSubject | ServerSubject | SubnetSubject | NetworkSubject

export type Reading =
  | { kind: 'notice'; event: string; subjects: Subject[]; at?: number; requestId?: string }
  /** Well-formed, and of no interest. */
  | { kind: 'other' }
  | { kind: 'poison'; why: string }

/** Neither service sends a tenth of it. */
const longestMessage = 1024 * 1024
const longestId = 253
const utf8 = new TextDecoder()

export function readNotice(body: unknown): Reading {
  try {
    return reading(body)
  } catch {
    // Nested so deeply that walking it ends the stack.
    return poison('cannot be read')
  }
}

function reading(body: unknown): Reading {
  if (body instanceof Uint8Array && body.byteLength > longestMessage) return poison('longer than 1 MiB')
  const outer = record(decoded(body))
  if (!outer) return poison('not a JSON object')
  const inner = 'oslo.message' in outer ? record(decoded(outer['oslo.message'])) : outer
  if (!inner) return poison('oslo.message is not a JSON object')
  const event = inner['event_type']
  if (typeof event !== 'string') return poison('no event_type')
  const read = readers.find(([pattern]) => pattern.test(event))?.[1]
  if (!read) return { kind: 'other' }
  const payload = record(inner['payload'])
  const subjects = payload && read(payload, event)
  if (!subjects || subjects.length === 0) return poison(`${event} names nothing`)
  const at = timeOf(inner['timestamp'])
  const requestId = requestIn(inner['_context_request_id'])
  return { kind: 'notice', event, subjects, ...(at !== undefined && { at }), ...(requestId && { requestId }) }
}

type Json = Record<string, unknown>

/** What has ended, well or not: what begins may still fail, and changes nothing yet. */
const readers: [RegExp, (payload: Json, event: string) => Subject[]][] = [
  [/^port\.(create|update|delete)\.(end|error)$/, portsIn],
  [
    /^(compute\.)?instance\.(update|(create|delete|soft_delete|interface_attach|interface_detach)\.(end|error))$/,
    serverIn,
  ],
  [/^subnet\.(create|update|delete)\.(end|error)$/, subnetsIn],
  [/^network\.(update|delete)\.(end|error)$/, networksIn],
]

/** One, several of a bulk request, or only the id of what is gone. */
function entriesIn(payload: Json, kind: string): Json[] {
  const one = record(payload[kind])
  const many = payload[`${kind}s`]
  const bulk = Array.isArray(many) ? many.map(record).filter(entry => entry !== undefined) : []
  const entries = [...(one ? [one] : []), ...bulk]
  return entries.length > 0 ? entries : [{ id: payload[`${kind}_id`] ?? payload['id'] }]
}

function portsIn(payload: Json, event: string): Subject[] {
  const deleted = event === 'port.delete.end'
  return entriesIn(payload, 'port').flatMap(port => {
    const id = idIn(port['id'])
    return id === undefined ? [] : [{ about: 'port' as const, id, deviceId: idIn(port['device_id']) ?? '', deleted }]
  })
}

function subnetsIn(payload: Json): Subject[] {
  return entriesIn(payload, 'subnet').flatMap(subnet => {
    const id = idIn(subnet['id'])
    return id === undefined ? [] : [{ about: 'subnet' as const, id, name: textIn(subnet['name']) }]
  })
}

function networksIn(payload: Json): Subject[] {
  return entriesIn(payload, 'network').flatMap(network => {
    const id = idIn(network['id'])
    return id === undefined ? [] : [{ about: 'network' as const, id }]
  })
}

/** The older format is flat; the versioned one wraps its fields. */
function serverIn(payload: Json, event: string): Subject[] {
  const fields = record(payload['nova_object.data']) ?? payload
  const id = idIn(fields['uuid']) ?? idIn(fields['instance_id'])
  if (id === undefined) return []
  const name = textIn(fields['display_name'])
  const mark = event.endsWith('instance.update') ? { mark: hashOf([name, fields['metadata'] ?? null]) } : {}
  return [{ about: 'server', id, name, interfaces: event.includes('.interface_'), ...mark }]
}

/** A body may be bytes, text or JSON already, and JSON may be wrapped in a JSON string. */
function decoded(value: unknown): unknown {
  let at = value
  for (let wraps = 0; wraps < 2; wraps++) {
    const text = at instanceof Uint8Array ? utf8.decode(at) : at
    if (typeof text !== 'string') return text
    at = parsed(text)
  }
  return at
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function record(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
    ? (value as Json)
    : undefined
}

function idIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= longestId ? value : undefined
}

/** What OpenStack calls the request that the notice tells of; its logs know it by that. */
function requestIn(value: unknown): string | undefined {
  return typeof value === 'string' && /^req-[0-9a-f-]{36}$/.test(value) ? value : undefined
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, longestId) : ''
}

/** `2026-11-15 00:55:17.948489`: UTC, with a blank for the T and no zone. */
function timeOf(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  const iso = value.replace(' ', 'T')
  const at = Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(iso) ? iso : `${iso}Z`)
  return Number.isNaN(at) ? undefined : at
}

function poison(why: string): Reading {
  return { kind: 'poison', why }
}
