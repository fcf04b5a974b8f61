import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differences, shapeOf } from './shape.ts'

test('a shape names every field at every depth, and no value', () => {
  assert.deepEqual(shapeOf({ b: [{ x: 1 }, { x: 2 }], a: { s: 'secret', n: null, y: true }, e: [] }), {
    a: { n: 'null', s: 'string', y: 'boolean' },
    b: [{ x: 'number' }],
    e: [],
  })
})

test('entries of a list that differ are merged as one of several', () => {
  assert.deepEqual(shapeOf([{ ip: 'x' }, { ip: null, more: 1 }]), [
    { ip: { 'one of': ['null', 'string'] }, more: { 'one of': ['absent', 'number'] } },
  ])
})

const kept = shapeOf({
  ports: [
    { id: 'x', gateway: null },
    { id: 'y', gateway: 'z' },
  ],
  total: 2,
})
const cases: Record<string, [found: unknown, expected: string[]]> = {
  'the same shape matches': [{ ports: [{ id: 'q', gateway: 'w' }], total: 5 }, []],
  'an empty list matches': [{ ports: [], total: 0 }, []],
  'a missing field is found': [
    { ports: [{ id: 'q' }], total: 1 },
    ['the answer.ports[].gateway: is "absent", not "null"'],
  ],
  'an additional field is found': [{ ports: [], total: 1, more: 1 }, ['the answer.more: is "number", not "absent"']],
  'another type is found': [{ ports: [], total: '1' }, ['the answer.total: is "string", not "number"']],
}
for (const [name, [found, expected]] of Object.entries(cases))
  test(name, () => assert.deepEqual(differences(shapeOf(found), kept), expected))
