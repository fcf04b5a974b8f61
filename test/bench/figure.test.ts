import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exponentOf } from './figure.ts'

const sizes = [1_000, 5_000, 20_000]

for (const [kind, grow, exponent] of [
  ['constant', () => 6, 0],
  ['proportional', (size: number) => 3 * size, 1],
  ['quadratic', (size: number) => size ** 2 / 7, 2],
] as const)
  test(`${kind} growth has the exponent ${exponent}`, () => {
    const found = exponentOf(sizes.map(size => [size, grow(size)]))
    assert.ok(Math.abs(found - exponent) < 1e-9, String(found))
  })

test('the exponent of measured values is that of the line closest to all of them', () => {
  const found = exponentOf([
    [1, 1],
    [10, 20],
    [100, 100],
  ])
  assert.ok(Math.abs(found - 1) < 1e-9, String(found))
})
