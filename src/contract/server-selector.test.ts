import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { matchesPattern, prefixOf } from './server-selector.ts'

const cases: [pattern: string, name: string, matches: boolean][] = [
  ['worker-*', 'worker-1', true],
  ['worker-*', 'worker-', true],
  ['worker-*', 'a-worker-1', false],
  ['*-gpu', 'worker-gpu', true],
  ['*-gpu', 'worker-gpu-1', false],
  ['worker-?', 'worker-1', true],
  ['worker-?', 'worker-12', false],
  ['w*r-*1', 'worker-11', true],
  ['worker.1', 'worker-1', false],
  ['Worker-*', 'worker-1', false],
  ['*', '', true],
  ['?', '', false],
  ['?', '한', true],
  ['노드-?*', '노드-1', true],
  [`${'*'.repeat(128)}x`, 'a'.repeat(255), false],
  ['*a'.repeat(127), `${'a'.repeat(254)}b`, false],
]
for (const [pattern, name, matches] of cases)
  test(`${pattern.slice(0, 20)} ${matches ? 'matches' : 'does not match'} ${name.slice(0, 20)}`, () =>
    assert.equal(matchesPattern(pattern, name), matches))

test('a name without * and ? matches itself only; with a star it matches as the regular expression does', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '-', '.'), maxLength: 6 })
  const glob = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 6 })
  fc.assert(
    fc.property(text, text, glob, (one, other, pattern) => {
      assert.equal(matchesPattern(one, other), one === other)
      const expression = pattern.replaceAll('*', '.*').replaceAll('?', '.')
      assert.equal(matchesPattern(pattern, one), new RegExp(`^${expression}$`).test(one))
      if (matchesPattern(pattern, one)) assert.ok(one.startsWith(prefixOf(pattern)))
    }),
  )
})
