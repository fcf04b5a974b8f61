import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxVisibleRows, visibleRange } from './visible-rows.ts'

test('only the rows in the viewport and some around it are rendered', () => {
  assert.deepEqual(visibleRange(1_000, 25, 0, 500), { first: 0, last: 26 })
  assert.deepEqual(visibleRange(1_000, 25, 10_000, 500), { first: 394, last: 426 })
  assert.deepEqual(visibleRange(3, 25, 0, 500), { first: 0, last: 3 })
})

test('a visible range never has more rows than the pool, so that no two rows share an element', () => {
  for (const scrollTop of [0, 13, 99, 100, 1_234, 12_345]) {
    const { first, last } = visibleRange(1_000, 25, scrollTop, 500)
    assert.ok(last - first <= maxVisibleRows(25, 500), `${last - first} rows at ${scrollTop}`)
  }
})
