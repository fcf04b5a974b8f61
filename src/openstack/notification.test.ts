import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Reading, Subject } from '../operator/cloud.ts'
import { readNotification } from './notification.ts'

interface Captured {
  exchange: string
  routingKey: string
  message: Record<string, unknown> & { event_type: string; payload: Record<string, unknown> }
}

/** From a real Neutron and Nova (OpenStack Zed), shortened. */
const captured = JSON.parse(
  readFileSync(new URL('../../test/openstack/notifications.json', import.meta.url), 'utf8'),
) as Captured[]

const [vm0, vm1] = ['56b26d0f-fafa-4dab-a4a0-e913bdc53b00', '0820cf11-61d5-4e33-a14a-d62a613115e6']

/** The reading of each captured message. Messages that are absent here are not relevant. */
const expected: Record<string, string> = {
  'port.create.end': 'port 3387ab67-9a0f-4105-8a17-464b42120724 of no server',
  'port.update.end': `port 3387ab67-9a0f-4105-8a17-464b42120724 of ${vm0}`,
  'port.delete.end': `port b67e5039-383f-4172-86b3-d40557f0838f of ${vm1}, deleted`,
  'subnet.create.end': 'subnet fb13820f-52c9-4061-9ed2-5d6fd46f201e named v4-0',
  'subnet.update.end': 'subnet 48c805c9-4ebc-47bc-a51b-0ddeafc25fe6 named v4-1',
  'compute.instance.update': `server ${vm0} named vm0 (name or metadata)`,
  'instance.update': `server ${vm0} named vm0 (name or metadata)`,
  'compute.instance.create.end': `server ${vm0} named vm0`,
  'instance.create.end': `server ${vm0} named vm0`,
  'instance.interface_attach.end': `server ${vm0} named vm0 (interfaces)`,
  'instance.interface_detach.end': `server ${vm0} named vm0 (interfaces)`,
  'compute.instance.delete.end': `server ${vm1} named vm1`,
  'instance.delete.end': `server ${vm1} named vm1`,
}

function readingText(reading: Reading): string {
  if (reading.kind !== 'notification') return reading.kind === 'poison' ? `poison: ${reading.why}` : 'not relevant'
  return reading.subjects.map(subjectText).join('; ')
}

function subjectText(subject: Subject): string {
  switch (subject.about) {
    case 'port':
      return `port ${subject.id} of ${subject.deviceId || 'no server'}${subject.deleted ? ', deleted' : ''}`
    case 'server': {
      const what = subject.interfaces ? ' (interfaces)' : subject.fingerprint === undefined ? '' : ' (name or metadata)'
      return `server ${subject.id} named ${subject.name}${what}`
    }
    case 'subnet':
      return `subnet ${subject.id} named ${subject.name}`
    case 'network':
      return `network ${subject.id}`
  }
}

const inner = (message: unknown) => JSON.stringify(message)
/** Every envelope that was observed. */
const envelopes: Record<string, (message: unknown) => unknown> = {
  'oslo.message 2.0, as bytes': message =>
    Buffer.from(JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': inner(message) })),
  'oslo.message 1.0, as text': message => JSON.stringify({ 'oslo.version': '1.0', 'oslo.message': inner(message) }),
  'an envelope that is already parsed': message => ({ 'oslo.version': '2.0', 'oslo.message': inner(message) }),
  'an envelope whose message is not encoded twice': message => ({ 'oslo.version': '2.0', 'oslo.message': message }),
  'no envelope, as bytes': message => Buffer.from(inner(message)),
  'no envelope, in a JSON string': message => JSON.stringify(inner(message)),
}

for (const { message } of captured)
  test(`captured ${message.event_type}`, () => {
    for (const [name, envelope] of Object.entries(envelopes))
      assert.equal(
        readingText(readNotification(envelope(message))),
        expected[message.event_type] ?? 'not relevant',
        name,
      )
  })

test('the time is read as UTC', () => {
  const found = captured.find(({ message }) => message.event_type === 'port.update.end')
  const reading = readNotification(found?.message)
  assert.equal(reading.kind === 'notification' && reading.sentAt, Date.parse('2026-11-15T01:12:49.230Z'))
})

const uuid = 'aaaaaaaa-0000-4000-8000-000000000001'
const cases: Record<string, [body: unknown, expected: string]> = {
  'a bulk request names several ports': [
    { event_type: 'port.create.end', payload: { ports: [{ id: 'a', device_id: 'v' }, { id: 'b' }] } },
    'port a of v; port b of no server',
  ],
  'a delete with only the id': [
    { event_type: 'port.delete.end', payload: { port_id: uuid } },
    `port ${uuid} of no server, deleted`,
  ],
  'a network whose MTU changed': [
    { event_type: 'network.update.end', payload: { network: { id: 'n', mtu: 9000 } } },
    'network n',
  ],
  'a failed attach is relevant too': [
    {
      event_type: 'instance.interface_attach.error',
      payload: { 'nova_object.data': { uuid: 'v', display_name: 'w' } },
    },
    'server v named w (interfaces)',
  ],
  'the start of an operation is not relevant': [
    { event_type: 'port.update.start', payload: { id: 'p' } },
    'not relevant',
  ],
  'other services are not relevant': [{ event_type: 'volume.create.end', payload: {} }, 'not relevant'],
  'a port without an id': [
    { event_type: 'port.update.end', payload: { port: { id: 7 } } },
    'poison: port.update.end: no id',
  ],
  'no payload': [{ event_type: 'port.update.end' }, 'poison: port.update.end: no id'],
  'no event': [{ payload: {} }, 'poison: no event_type'],
  'no JSON': [Buffer.from('<html>'), 'poison: not a JSON object'],
  'bytes that are not UTF-8': [
    Buffer.from('{"event_type":"port.create.end","payload":{"port":{"id":"\xff"}}}', 'latin1'),
    'poison: cannot be read',
  ],
  'many empty objects': [Buffer.from(`{"a":[${'{},'.repeat(50_000)}{}]}`), 'poison: not a JSON object'],
  'many empty objects in an envelope': [
    { 'oslo.message': `{"a":[${'{},'.repeat(50_000)}{}]}` },
    'poison: oslo.message is not a JSON object',
  ],
  'an envelope with invalid content': [{ 'oslo.message': '{' }, 'poison: oslo.message is not a JSON object'],
  nothing: [undefined, 'poison: not a JSON object'],
  'a message above 1 MiB': [Buffer.alloc(1024 * 1024 + 1, 0x20), 'poison: longer than 1 MiB'],
  'nested beyond the stack': [
    `{"event_type":"instance.update","payload":{"uuid":"v","metadata":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`,
    'poison: not a JSON object',
  ],
}
for (const [name, [body, text]] of Object.entries(cases))
  test(name, () => assert.equal(readingText(readNotification(body)), text))

test('two updates have the same fingerprint unless the name or the metadata changed', () => {
  const fingerprint = (fields: object) => {
    const reading = readNotification({
      event_type: 'compute.instance.update',
      payload: { instance_id: 'v', ...fields },
    })
    const [subject] = reading.kind === 'notification' ? reading.subjects : []
    return subject?.about === 'server' ? subject.fingerprint : undefined
  }
  const first = fingerprint({ display_name: 'w', metadata: { a: '1' }, state: 'building' })
  assert.equal(fingerprint({ display_name: 'w', metadata: { a: '1' }, state: 'active' }), first)
  assert.notEqual(fingerprint({ display_name: 'x', metadata: { a: '1' } }), first)
  assert.notEqual(fingerprint({ display_name: 'w', metadata: { a: '2' } }), first)
})

const kinds = ['notification', 'other', 'poison']

test('no payload makes it throw', () => {
  const anything = fc.oneof(
    fc.uint8Array().map(bytes => Buffer.from(bytes)),
    fc.string(),
    fc.json(),
    fc.json().map(text => Buffer.from(text)),
    fc.anything(),
  )
  fc.assert(
    fc.property(anything, body => kinds.includes(readNotification(body).kind)),
    { numRuns: 2_000 },
  )
})

test('no payload of a relevant event makes it throw, and ids stay short', () => {
  const event = fc.constantFrom(...Object.keys(expected), 'network.update.end', 'port.create.error')
  const field = fc.constantFrom(
    'port',
    'ports',
    'port_id',
    'id',
    'subnet',
    'network',
    'instance_id',
    'nova_object.data',
  )
  const payload = fc.oneof(fc.jsonValue(), fc.dictionary(field, fc.jsonValue()))
  const property = fc.property(event, payload, (event_type, given) => {
    const reading = readNotification(JSON.stringify({ 'oslo.message': JSON.stringify({ event_type, payload: given }) }))
    assert.ok(kinds.includes(reading.kind))
    if (reading.kind === 'notification')
      for (const { id } of reading.subjects) assert.ok(id.length > 0 && id.length <= 253)
  })
  fc.assert(property, { numRuns: 2_000 })
})

test('a truncated or corrupted message is read or refused, and never makes it throw', () => {
  const texts = captured.map(({ message }) => JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': inner(message) }))
  const property = fc.property(fc.constantFrom(...texts), fc.nat(), fc.nat(255), (text, at, byte) => {
    const bytes = Buffer.from(text)
    bytes[at % bytes.length] = byte
    assert.ok(kinds.includes(readNotification(bytes).kind))
    assert.ok(kinds.includes(readNotification(bytes.subarray(0, at % bytes.length)).kind))
  })
  fc.assert(property, { numRuns: 2_000 })
})

test('the request id of a notification is kept if it is valid', () => {
  const message = { event_type: 'port.delete.end', payload: { port_id: 'p-1' } }
  const requestOf = (id: unknown) => {
    const reading = readNotification({ ...message, _context_request_id: id })
    return reading.kind === 'notification' ? reading.requestId : assert.fail(reading.kind)
  }
  const id = 'req-3387ab67-9a0f-4105-8a17-464b42120724'
  assert.equal(requestOf(id), id)
  for (const odd of [undefined, 7, '', 'req-', `${id}0`, `${id}\n`, { id }]) assert.equal(requestOf(odd), undefined)
})
