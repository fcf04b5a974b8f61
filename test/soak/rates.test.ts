/** Growth of counters between samples, also of a restarted process. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRates } from './rates.ts'

test('a counter that was not seen before has not grown', () => {
  assert.equal(createRates().growth('a', 500), 0)
})

test('each counter grows by itself, and from 0 after a restart', () => {
  const { growth } = createRates()
  growth('a', 500)
  growth('b', 10)
  assert.deepEqual([growth('a', 520), growth('b', 10), growth('a', 7), growth('a', 9)], [20, 0, 7, 2])
})

test('the time is that since the last sample', () => {
  let now = 1_000
  const { seconds } = createRates(() => now)
  now = 16_000
  assert.equal(seconds(), 15)
  now = 18_000
  assert.equal(seconds(), 2)
})
