import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rejectionOf } from '../cluster.fixture.ts'
import type { Schema } from '../kinds/schema.ts'
import { typeSchema } from '../kinds/types.ts'
import { applyJsonPatch, applyStrategicMergePatch } from './patch.ts'

const operations: Record<string, [value: unknown, patch: unknown[], result: unknown]> = {
  'add and replace': [
    { a: 1 },
    [
      { op: 'add', path: '/b', value: 2 },
      { op: 'replace', path: '/a', value: 3 },
    ],
    { a: 3, b: 2 },
  ],
  'insert into a list, and at its end': [
    { l: [1, 3] },
    [
      { op: 'add', path: '/l/1', value: 2 },
      { op: 'add', path: '/l/-', value: 4 },
    ],
    { l: [1, 2, 3, 4] },
  ],
  remove: [
    { a: { b: 1 }, l: [1, 2] },
    [
      { op: 'remove', path: '/a/b' },
      { op: 'remove', path: '/l/0' },
    ],
    { a: {}, l: [2] },
  ],
  'names with slashes': [{ a: { 'x/y': 1 } }, [{ op: 'replace', path: '/a/x~1y', value: 2 }], { a: { 'x/y': 2 } }],
  'move and copy': [
    { a: 1 },
    [
      { op: 'move', from: '/a', path: '/b' },
      { op: 'copy', from: '/b', path: '/c' },
    ],
    { b: 1, c: 1 },
  ],
  'a test that holds': [
    { a: [1] },
    [
      { op: 'test', path: '/a', value: [1] },
      { op: 'remove', path: '/a' },
    ],
    {},
  ],
}

for (const [name, [value, patch, result]] of Object.entries(operations)) {
  test(`JSON patch: ${name}`, () => assert.deepEqual(applyJsonPatch(value, patch), result))
}

test('a JSON patch that does not fit changes nothing and is a 422', () => {
  const value = { a: 1 }
  for (const operation of [
    { op: 'test', path: '/a', value: 2 },
    { op: 'remove', path: '/b' },
    { op: 'replace', path: '/b', value: 1 },
    { op: 'add', path: '/b/c', value: 1 },
  ]) {
    assert.equal(rejectionOf(() => applyJsonPatch(value, [operation])).code, 422)
  }
  assert.equal(rejectionOf(() => applyJsonPatch(value, {})).code, 400)
  assert.deepEqual(value, { a: 1 })
})

const pod: Schema = {
  type: 'object',
  properties: {
    spec: typeSchema('PodSpec'),
    metadata: { properties: { finalizers: { 'x-kubernetes-list-type': 'set' } } },
  },
}
const strategic: Record<string, [value: unknown, patch: unknown, result: unknown]> = {
  'containers are told apart by their names': [
    {
      spec: {
        containers: [
          { name: 'a', image: '1' },
          { name: 'b', image: '1' },
        ],
      },
    },
    { spec: { containers: [{ name: 'b', image: '2' }, { name: 'c' }] } },
    { spec: { containers: [{ name: 'a', image: '1' }, { name: 'b', image: '2' }, { name: 'c' }] } },
  ],
  'an item can be deleted': [
    { spec: { containers: [{ name: 'a' }, { name: 'b' }] } },
    { spec: { containers: [{ name: 'a', $patch: 'delete' }], '$setElementOrder/containers': [{ name: 'b' }] } },
    { spec: { containers: [{ name: 'b' }] } },
  ],
  'tolerations have no key and are replaced': [
    { spec: { tolerations: [{ key: 'a' }] } },
    { spec: { tolerations: [{ key: 'b' }] } },
    { spec: { tolerations: [{ key: 'b' }] } },
  ],
  'a map can be replaced': [{ spec: { a: 1 } }, { spec: { $patch: 'replace', b: 1 } }, { spec: { b: 1 } }],
  'finalizers are added and taken off': [
    { metadata: { finalizers: ['a', 'b'] } },
    { metadata: { finalizers: ['c'], '$deleteFromPrimitiveList/finalizers': ['a'] } },
    { metadata: { finalizers: ['b', 'c'] } },
  ],
}

for (const [name, [value, patch, result]] of Object.entries(strategic)) {
  test(`strategic merge patch: ${name}`, () => assert.deepEqual(applyStrategicMergePatch(value, patch, pod), result))
}
