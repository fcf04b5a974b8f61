import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSame } from './same.ts'

const cases: [a: unknown, b: unknown, same: boolean][] = [
  [{ a: 1, b: [1, { c: 'x' }] }, { b: [1, { c: 'x' }], a: 1 }, true],
  [{ a: undefined }, {}, true],
  [{ a: null }, {}, true],
  [{ a: 1 }, { a: '1' }, false],
  [{}, { a: 1 }, false],
  [{ a: 1 }, {}, false],
  [[1], [1, 2], false],
  [[1, 2], [1], false],
  [[], {}, false],
  [undefined, null, true],
  [{ a: { b: false } }, { a: { b: true } }, false],
]

for (const [a, b, same] of cases)
  test(`${JSON.stringify(a)} and ${JSON.stringify(b)} ${same ? 'say the same' : 'differ'}`, () => {
    assert.equal(isSame(a, b), same)
    assert.equal(isSame(b, a), same)
  })
