/**
 * Reads a notification of OpenStack's message bus: which ports, servers, subnets or networks changed. Pure.
 *
 * Never throws: every input gives one of three readings. A notification is a hint and never data, so only ids are read,
 * and what is needed to recognize a change that does not matter.
 */
import { hashOf } from '../contract/hash.ts'
import type { Reading, Subject } from '../operator/cloud.ts'
import { elementCounter } from '../runtime/bounded-body.ts'

/** Messages of Neutron and Nova are less than a tenth of it. */
export const maxMessageBytes = 1024 * 1024
/** A server with a hundred metadata entries has less than a hundredth. */
const maxMessageElements = 50_000
const maxIdLength = 253
const utf8 = new TextDecoder('utf-8', { fatal: true })

export function readNotification(body: unknown): Reading {
  try {
    return read(body)
  } catch {
    return poison('cannot be read')
  }
}

function read(body: unknown): Reading {
  if (body instanceof Uint8Array && body.byteLength > maxMessageBytes) return poison('longer than 1 MiB')
  const outer = record(decoded(body))
  if (!outer) return poison('not a JSON object')
  const inner = 'oslo.message' in outer ? record(decoded(outer['oslo.message'])) : outer
  if (!inner) return poison('oslo.message is not a JSON object')
  const event = inner['event_type']
  if (typeof event !== 'string') return poison('no event_type')
  const reader = readers.find(([pattern]) => pattern.test(event))?.[1]
  if (!reader) return { kind: 'other' }
  const payload = record(inner['payload'])
  const subjects = payload && reader(payload, event)
  if (!subjects || subjects.length === 0) return poison(`${event}: no id`)
  const sentAt = timeOf(inner['timestamp'])
  const requestId = requestIn(inner['_context_request_id'])
  return {
    kind: 'notification',
    event,
    subjects,
    ...(sentAt !== undefined && { sentAt }),
    ...(requestId && { requestId }),
  }
}

type Json = Record<string, unknown>

/** Only events of completed or failed operations: an operation that starts has changed nothing yet. */
const readers: [RegExp, (payload: Json, event: string) => Subject[]][] = [
  [/^port\.(create|update|delete)\.(end|error)$/, portsIn],
  [
    /^(compute\.)?instance\.(update|(create|delete|soft_delete|interface_attach|interface_detach)\.(end|error))$/,
    serverIn,
  ],
  [/^subnet\.(create|update|delete)\.(end|error)$/, subnetsIn],
  [/^network\.(update|delete)\.(end|error)$/, networksIn],
]

/** One entry, several of a bulk request, or only the id of a deleted one. */
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
  const fingerprint = event.endsWith('instance.update')
    ? { fingerprint: hashOf([name, fields['metadata'] ?? null, fields['tags'] ?? null]) }
    : {}
  return [{ about: 'server', id, name, interfaces: event.includes('.interface_'), ...fingerprint }]
}

/** A body is bytes, text or parsed JSON. JSON may be wrapped in a JSON string. */
function decoded(value: unknown): unknown {
  let at = value
  for (let wraps = 0; wraps < 2; wraps++) {
    if (typeof at !== 'string' && !(at instanceof Uint8Array)) return at
    const bytes = typeof at === 'string' ? Buffer.from(at) : at
    if (elementCounter(maxMessageElements)(bytes) !== undefined) return undefined
    at = parsed(utf8.decode(bytes))
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
  return typeof value === 'string' && value !== '' && value.length <= maxIdLength ? value : undefined
}

/** The request id under which the logs of OpenStack show the operation. */
function requestIn(value: unknown): string | undefined {
  return typeof value === 'string' && /^req-[0-9a-f-]{36}$/.test(value) ? value : undefined
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, maxIdLength) : ''
}

/** `2026-11-15 00:55:17.948489`: UTC, with a space instead of the T and without a zone. */
function timeOf(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  const iso = value.replace(' ', 'T')
  const at = Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(iso) ? iso : `${iso}Z`)
  return Number.isNaN(at) ? undefined : at
}

function poison(why: string): Reading {
  return { kind: 'poison', why }
}
