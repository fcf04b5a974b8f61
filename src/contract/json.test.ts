import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { applyMergePatch, equalJson, mergePatch } from './json.ts'

const pairs: [a: unknown, b: unknown, equal: boolean][] = [
  [{ a: 1, b: [1, { c: 'x' }] }, { b: [1, { c: 'x' }], a: 1 }, true],
  [{ a: undefined }, {}, true],
  [{ a: undefined }, { b: undefined }, true],
  [{ a: null }, {}, false],
  [{ a: 1 }, { a: '1' }, false],
  [{}, { a: 1 }, false],
  [{ a: undefined }, { a: 1 }, false],
  [{}, { toString: 'x' }, false],
  [[1], [1, 2], false],
  [[], {}, false],
  [undefined, null, false],
  [new Map([['a', { b: 1 }]]), new Map([['a', { b: 1 }]]), true],
  [new Map([['a', { b: 1 }]]), new Map([['a', { b: 2 }]]), false],
  [{ a: new Set(['b']) }, { a: new Set(['c']) }, false],
  [new Map(), {}, false],
  [{ a: { b: false } }, { a: { b: true } }, false],
]

for (const [a, b, equal] of pairs)
  test(`${inspect(a)} and ${inspect(b)} are ${equal ? 'equal' : 'different'}`, () => {
    assert.equal(equalJson(a, b), equal)
    assert.equal(equalJson(b, a), equal)
  })

const patches: Record<string, [from: object, to: object, patch: object]> = {
  'a changed field': [{ a: 1, b: 2 }, { a: 1, b: 3 }, { b: 3 }],
  'a removed field becomes null': [{ a: 1, b: 2 }, { a: 1 }, { b: null }],
  'an undefined field counts as removed': [{ a: 1 }, { a: undefined }, { a: null }],
  'a nested object is patched key by key': [{ a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, { a: { c: 3 } }],
  'a list is replaced as a whole': [{ a: [1, 2] }, { a: [1] }, { a: [1] }],
  'key order does not matter': [{ a: [{ b: 1, c: 2 }] }, { a: [{ c: 2, b: 1 }] }, {}],
}

for (const [name, [from, to, patch]] of Object.entries(patches))
  test(`merge patch: ${name}`, () => assert.deepEqual(mergePatch(from, to), patch))

const applied: Record<string, [target: unknown, patch: unknown, result: unknown]> = {
  'a field is set and the others stay': [{ a: 1, b: { c: 1 } }, { b: { d: 2 } }, { a: 1, b: { c: 1, d: 2 } }],
  'null removes a field': [{ a: 1, b: 2 }, { a: null }, { b: 2 }],
  'a list is replaced as a whole': [{ a: [1, 2] }, { a: [3] }, { a: [3] }],
  'an object replaces a scalar': [{ a: 1 }, { a: { b: 2 } }, { a: { b: 2 } }],
  'nulls in a new object are dropped': [{}, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
}

for (const [name, [target, patch, result]] of Object.entries(applied))
  test(`apply a merge patch: ${name}`, () => assert.deepEqual(applyMergePatch(target, patch), result))

/** A merge patch cannot set a null. */
const withoutNulls = fc.letrec(tie => ({
  value: fc.oneof({ depthSize: 'small' }, fc.boolean(), fc.integer(), fc.string(), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 3 }),
  object: fc.dictionary(fc.oneof(fc.constantFrom('a', 'b', '__proto__', 'constructor'), fc.string()), tie('value'), {
    maxKeys: 4,
  }),
})).object as fc.Arbitrary<Record<string, unknown>>

test('a merge patch turns the first document into the second and leaves both unchanged', () => {
  fc.assert(
    fc.property(withoutNulls, withoutNulls, (from, to) => {
      const texts = [JSON.stringify(from), JSON.stringify(to)]
      const patch = mergePatch(from, to)
      const result = applyMergePatch(from, patch)
      assert.ok(equalJson(result, to), JSON.stringify({ patch, result }))
      assert.deepEqual([JSON.stringify(from), JSON.stringify(to)], texts)
      assert.equal(Object.keys(patch).length === 0, equalJson(from, to))
    }),
  )
})

test('lists that differ in one of several items are not equal', () => {
  assert.equal(equalJson([1, 2, { a: [3] }], [1, 2, { a: [3] }]), true)
  for (const other of [
    [1, 2, { a: [4] }],
    [0, 2, { a: [3] }],
    [2, 1, { a: [3] }],
  ])
    assert.equal(equalJson([1, 2, { a: [3] }], other), false)
})
