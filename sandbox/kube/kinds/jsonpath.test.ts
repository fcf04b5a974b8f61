import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonPath } from './jsonpath.ts'

const conditions = [
  { type: 'Ready', reason: 'Done' },
  { type: 'Degraded', reason: 'Fine' },
]

for (const [path, value] of [
  ['.spec.size', 3],
  ['.spec.nothing.more', undefined],
  ['.status.conditions[?(@.type=="Ready")].reason', 'Done'],
  [".status.conditions[?(@.type=='Degraded')].reason", 'Fine'],
  ['.status.conditions[?(@.type=="None")].reason', undefined],
] as const)
  test(`${path} is ${value}`, () => assert.equal(jsonPath(path)({ spec: { size: 3 }, status: { conditions } }), value))

test('an invalid path is an error with its position', () => {
  assert.throws(() => jsonPath('.spec[?(@.x'), /syntax error at position 5/)
})
