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

const wrong: Record<string, [spec: Record<string, unknown>, said: string]> = {
  'a missing field is required': [{}, 'spec.name: Required value'],
  'a pattern is named': [{ name: 'A1' }, `spec.name: Invalid value: "A1": spec.name in body should match '^[a-z]+$'`],
  'a text can be too short': [
    { name: 'a' },
    'spec.name: Invalid value: "a": spec.name in body should be at least 2 chars long',
  ],
  'a text can be too long': [{ name: 'abcdef' }, 'spec.name: Too long: may not be more than 5 bytes'],
  'a number can be too small': [
    { name: 'ab', mtu: 10 },
    'spec.mtu: Invalid value: 10: spec.mtu in body should be greater than or equal to 68',
  ],
  'a number can be too big': [
    { name: 'ab', mtu: 9217 },
    'spec.mtu: Invalid value: 9217: spec.mtu in body should be less than or equal to 9216',
  ],
  'a bound can be exclusive': [
    { name: 'ab', ratio: 0 },
    'spec.ratio: Invalid value: 0: spec.ratio in body should be greater than 0',
  ],
  'a type is named': [
    { name: 'ab', mtu: '10' },
    'spec.mtu: Invalid value: "string": spec.mtu in body must be of type integer: "string"',
  ],
  'a fraction is no integer': [
    { name: 'ab', mtu: 100.5 },
    'spec.mtu: Invalid value: "number": spec.mtu in body must be of type integer: "number"',
  ],
  'null is a type of its own': [
    { name: 'ab', on: null },
    'spec.on: Invalid value: "null": spec.on in body must be of type boolean: "null"',
  ],
  'an enum names what it supports': [
    { name: 'ab', mode: 'c' },
    'spec.mode: Unsupported value: "c": supported values: "a", "b"',
  ],
  'int or string is no boolean': [
    { name: 'ab', port: true },
    'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"',
  ],
  'a format is checked': [
    { name: 'ab', address: '1.2.3' },
    'spec.address: Invalid value: "1.2.3": spec.address in body must be of type ipv4: "1.2.3"',
  ],
  'a time is checked': [
    { name: 'ab', when: 'yesterday' },
    'spec.when: Invalid value: "yesterday": spec.when in body must be of type date-time: "yesterday"',
  ],
  'a list can be too long': [{ name: 'ab', list: [{}, {}, {}] }, 'spec.list: Too many: 3: must have at most 2 items'],
  'a list can be too short': [
    { name: 'ab', list: [] },
    'spec.list: Invalid value: 0: spec.list in body should have at least 1 items',
  ],
  'an item is named by its index': [
    { name: 'ab', list: [{}, { mac: 'zz' }] },
    `spec.list[1].mac: Invalid value: "zz": spec.list[1].mac in body should match '^fa'`,
  ],
  'keys tell items apart': [
    { name: 'ab', keyed: [{ k: 'x' }, { k: 'x' }] },
    'spec.keyed[1]: Duplicate value: {"k":"x"}',
  ],
  'values of a map are checked': [
    { name: 'ab', words: { a: 1 } },
    'spec.words.a: Invalid value: "integer": spec.words.a in body must be of type string: "integer"',
  ],
}

for (const [name, [spec, said]] of Object.entries(wrong)) {
  test(name, () => {
    const errors = validate({ spec }, schema)
    assert.deepEqual(
      errors.map(({ field, message }) => `${field}: ${message}`),
      [said],
    )
  })
}

test('what is right is silent', () => {
  const spec = { name: 'ab', mtu: 68, ratio: 0.5, port: 'http', note: null, free: { x: [1] }, words: { a: 'b' } }
  assert.deepEqual(validate({ spec }, schema), [])
  assert.deepEqual(validate({ spec: { name: 'ab', port: 80, when: '2026-01-01T00:00:00Z' } }, schema), [])
})

test('an update is not blamed for what it leaves alone', () => {
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

test('defaults are filled in, in lists too, and null counts as absent unless it is a value', () => {
  const value = { spec: { name: 'ab', mode: null, note: null, on: null, list: [{ mac: 'fa' }] } }
  applyDefaults(value, schema)
  assert.deepEqual(value, { spec: { name: 'ab', mode: 'a', note: null, list: [{ mac: 'fa', on: true }] } })
})

test('unknown fields are taken away and named', () => {
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
