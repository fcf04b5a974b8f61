import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyDefaults, prune, type Schema, validate } from './schema.ts'

const schema: Schema = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string', minLength: 2, maxLength: 5, pattern: '^[a-z]+$' },
        mtu: { type: 'integer', minimum: 68, maximum: 9216 },
        ratio: { type: 'number', minimum: 0, exclusiveMinimum: true },
        mode: { type: 'string', enum: ['a', 'b'], default: 'a' },
        port: { 'x-kubernetes-int-or-string': true },
        when: { type: 'string', format: 'date-time' },
        address: { type: 'string', format: 'ipv4' },
        note: { type: 'string', nullable: true },
        on: { type: 'boolean' },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        words: { type: 'object', additionalProperties: { type: 'string' } },
        list: {
          type: 'array',
          minItems: 1,
          maxItems: 2,
          items: {
            type: 'object',
            properties: { mac: { type: 'string', pattern: '^fa' }, on: { type: 'boolean', default: true } },
          },
        },
        keyed: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          items: { type: 'object', properties: { k: { type: 'string' }, v: { type: 'integer', maximum: 5 } } },
        },
      },
    },
  },
}

const invalid: Record<string, [spec: Record<string, unknown>, message: string]> = {
  'a number above the maximum': [
    { name: 'ab', mtu: 9217 },
    'spec.mtu: Invalid value: 9217: spec.mtu in body should be less than or equal to 9216',
  ],
  'a number at an exclusive minimum': [
    { name: 'ab', ratio: 0 },
    'spec.ratio: Invalid value: 0: spec.ratio in body should be greater than 0',
  ],
  'a fraction for an integer': [
    { name: 'ab', mtu: 100.5 },
    'spec.mtu: Invalid value: "number": spec.mtu in body must be of type integer: "number"',
  ],
  'null for a field that is not nullable': [
    { name: 'ab', on: null },
    'spec.on: Invalid value: "null": spec.on in body must be of type boolean: "null"',
  ],
  'a boolean for an int-or-string': [
    { name: 'ab', port: true },
    'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"',
  ],
  'an invalid ipv4 format': [
    { name: 'ab', address: '1.2.3' },
    'spec.address: Invalid value: "1.2.3": spec.address in body must be of type ipv4: "1.2.3"',
  ],
  'an invalid date-time format': [
    { name: 'ab', when: 'yesterday' },
    'spec.when: Invalid value: "yesterday": spec.when in body must be of type date-time: "yesterday"',
  ],
  'a list below minItems': [
    { name: 'ab', list: [] },
    'spec.list: Invalid value: 0: spec.list in body should have at least 1 items',
  ],
  'an invalid item of a list': [
    { name: 'ab', list: [{}, { mac: 'zz' }] },
    `spec.list[1].mac: Invalid value: "zz": spec.list[1].mac in body should match '^fa'`,
  ],
  'two items with the same key': [
    { name: 'ab', keyed: [{ k: 'x' }, { k: 'x' }] },
    'spec.keyed[1]: Duplicate value: {"k":"x"}',
  ],
  'an invalid value of a map': [
    { name: 'ab', words: { a: 1 } },
    'spec.words.a: Invalid value: "integer": spec.words.a in body must be of type string: "integer"',
  ],
}

for (const [name, [spec, message]] of Object.entries(invalid)) {
  test(name, () => {
    const errors = validate({ spec }, schema)
    assert.deepEqual(
      errors.map(error => `${error.field}: ${error.message}`),
      [message],
    )
  })
}

test('a valid object has no errors', () => {
  const spec = { name: 'ab', mtu: 68, ratio: 0.5, port: 'http', note: null, free: { x: [1] }, words: { a: 'b' } }
  assert.deepEqual(validate({ spec }, schema), [])
  assert.deepEqual(validate({ spec: { name: 'ab', port: 80, when: '2026-01-01T00:00:00Z' } }, schema), [])
})

test('unchanged invalid values are not reported in an update', () => {
  const old = { spec: { name: 'WRONG', keyed: [{ k: 'x', v: 9 }] } }
  assert.deepEqual(validate({ spec: { ...old.spec, mtu: 100 } }, schema, old), [])
  const next = {
    spec: {
      ...old.spec,
      keyed: [
        { k: 'y', v: 1 },
        { k: 'x', v: 9 },
      ],
    },
  }
  assert.deepEqual(validate(next, schema, old), [])
  assert.equal(validate({ spec: { ...old.spec, keyed: [{ k: 'x', v: 8 }] } }, schema, old).length, 1)
})

test('defaults are set, also in lists; null counts as absent unless the field is nullable', () => {
  const value = { spec: { name: 'ab', mode: null, note: null, on: null, list: [{ mac: 'fa' }] } }
  applyDefaults(value, schema)
  assert.deepEqual(value, { spec: { name: 'ab', mode: 'a', note: null, list: [{ mac: 'fa', on: true }] } })
})

test('unknown fields are removed and reported', () => {
  const value = {
    apiVersion: 'x',
    kind: 'y',
    metadata: { anything: 1 },
    extra: 1,
    spec: { name: 'ab', typo: 1, free: { x: 1 }, words: { a: 'b' }, list: [{ mac: 'fa', y: 1 }] },
  }
  const unknown: string[] = []
  prune(value, schema, unknown)
  assert.deepEqual(unknown, ['extra', 'spec.typo', 'spec.list[0].y'])
  assert.deepEqual(value.spec, { name: 'ab', free: { x: 1 }, words: { a: 'b' }, list: [{ mac: 'fa' }] })
  assert.deepEqual(value.metadata, { anything: 1 })
})
