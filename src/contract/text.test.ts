import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as z from 'zod'
import * as text from './text.ts'

type Values = readonly unknown[]
const x = (length: number) => 'x'.repeat(length)

const schemas: Record<string, [schema: z.ZodType, accepted: Values, refused: Values]> = {
  'an ID of another system': [text.opaqueId, ['x', 'a b/ü', x(253)], ['', x(254), 1]],
  'a name of a tenant': [text.tenantName, ['', '이름', x(255)], [x(256), null]],
  'a DNS label': [
    text.dnsLabel,
    ['a', '1', 'ab', 'a-b', 'a--1', x(63)],
    ['', 'A', '-a', 'a-', 'a.b', 'a_b', 'a\n', x(64)],
  ],
  'a MAC address': [
    text.macAddress,
    ['fa:16:3e:00:00:0a', 'FA:16:3E:00:00:0A'],
    ['fa:16:3e:00:00', 'fa-16-3e-00-00-0a', 'fa:16:3e:00:00:0g', 'fa:16:3e:00:00:0a:0b', 'xfa:16:3e:00:00:0a'],
  ],
  'an IP address': [
    text.ipAddress,
    ['10.0.0.1', 'fd00::A', '::ffff:10.1.2.3', `${'0001:'.repeat(6)}255.255.255.255`],
    ['', '10.0.0', '10.0.0.1/24', 'fe80::1%eth0', 'worker-1', ' 10.0.0.1', '10.0.0.1 '],
  ],
  'a network or address in CIDR form': [
    text.cidr,
    ['10.0.0.0/8', '192.168.1.10/24', 'fd00::/64', '::/0', `${'0001:'.repeat(6)}255.255.255.255/128`],
    ['10.0.0.0', '10.0.0.0/', '10.0.0.0/33', 'fd00::/129', '10.0.0.0/8 ', ' 10.0.0.0/8', '10.0.0.0/0008', 'x/8'],
  ],
  'a duration': [text.duration, ['20s', '1h30m', `${'1'.repeat(31)}s`], ['', '20', '-1s', `${'1'.repeat(32)}s`]],
  'a time': [
    text.timestamp,
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.123Z', '2026-01-01T09:00:00+09:00'],
    ['2026-01-01', '2026-01-01T00:00:00', 'now'],
  ],
  'a generation': [text.generation, [0, 1, Number.MAX_SAFE_INTEGER], [-1, 1.5, Number.MAX_SAFE_INTEGER + 1, '1']],
}

for (const [name, [schema, accepted, refused]] of Object.entries(schemas)) {
  test(`what is ${name}, up to its longest form`, () => {
    for (const value of accepted) assert.deepEqual(schema.parse(value), value)
  })
  test(`what is not ${name}`, () => {
    for (const value of refused) assert.equal(schema.safeParse(value).success, false, String(value))
  })
}

/** The API server checks only this. */
const bounds: Record<string, [schema: z.ZodType, maxLength: number, pattern: string]> = {
  'a MAC address': [text.macAddress, 17, '^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$'],
  'an IP address': [text.ipAddress, 45, '^[0-9A-Fa-f:.]+$'],
  'a network or address in CIDR form': [text.cidr, 49, '^[0-9A-Fa-f:.]+\\/[0-9]{1,3}$'],
}

for (const [name, [schema, maxLength, pattern]] of Object.entries(bounds))
  test(`the API server knows length and pattern of ${name}`, () => {
    const { maxLength: max, pattern: regexp } = z.toJSONSchema(schema)
    assert.deepEqual([max, regexp], [maxLength, pattern])
  })

test('kubectl explain shows what a MAC address and a condition are', () => {
  assert.equal(text.macAddress.meta()?.description, 'MAC address: six hex pairs with colons, in either case.')
  assert.equal(text.condition.meta()?.description, 'One aspect of the state, with its reason and a message.')
})

test('a value of the right letters that is no address is refused with what to write', () => {
  const messages = (schema: z.ZodType, value: string) => schema.safeParse(value).error?.issues.map(one => one.message)
  assert.deepEqual(messages(text.ipAddress, '10.0.0.256'), ['must be an IPv4 or IPv6 address'])
  assert.deepEqual(messages(text.cidr, '10.0.0.0/33'), [
    'must be a network or address in CIDR form, such as 192.168.1.0/24',
  ])
})

const condition = {
  type: 'Ready',
  status: 'True',
  reason: 'Configured',
  message: 'all interfaces',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: 3,
}

test('a condition has a type and a status, and keeps everything else that Kubernetes knows', () => {
  assert.deepEqual(text.condition.parse(condition), condition)
  for (const status of ['True', 'False', 'Unknown'])
    assert.deepEqual(text.condition.parse({ type: 'Ready', status }), { type: 'Ready', status })
  const longest = { type: x(316), status: 'True', reason: x(1024), message: x(32768), observedGeneration: 0 }
  assert.deepEqual(text.condition.parse(longest), longest)
})

const brokenConditions: Record<string, object> = {
  'no type': { type: undefined },
  'an empty type': { type: '' },
  'a type that is too long': { type: x(317) },
  'another status': { status: 'true' },
  'a reason that is too long': { reason: x(1025) },
  'a message that is too long': { message: x(32769) },
  'no time': { lastTransitionTime: 'now' },
  'a generation below zero': { observedGeneration: -1 },
  'a generation beyond exact numbers': { observedGeneration: Number.MAX_SAFE_INTEGER + 1 },
}

for (const [name, change] of Object.entries(brokenConditions))
  test(`a condition with ${name} is refused`, () =>
    assert.equal(text.condition.safeParse({ ...condition, ...change }).success, false))

test('an object has at most 32 conditions, one of each type', () => {
  const many = (length: number) => Array.from({ length }, (_, index) => ({ ...condition, type: `Type${index}` }))
  assert.equal(text.conditions.safeParse(many(32)).success, true)
  assert.equal(text.conditions.safeParse(many(33)).success, false)
  // The API server merges lists by these keys.
  assert.deepEqual(text.conditions.meta(), {
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  })
})
