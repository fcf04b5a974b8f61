import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDuration, parseDuration } from './duration.ts'

const cases: Record<string, number | undefined> = {
  '20s': 20_000,
  '1h30m': 5_400_000,
  '500ms': 500,
  '1.5s': 1_500,
  '2h15m30s': 8_130_000,
  '0s': undefined,
  '-1s': undefined,
  '20': undefined,
  '20 s': undefined,
  s: undefined,
  '': undefined,
}
for (const [text, ms] of Object.entries(cases)) {
  test(`"${text}" is ${ms === undefined ? 'no positive duration' : `${ms} ms`}`, () =>
    assert.equal(parseDuration(text), ms))
}

test('an uptime reads as people write it', () => {
  assert.equal(formatDuration(8_130_000), '2h15m30s')
  assert.equal(formatDuration(61_000), '1m1s')
  assert.equal(formatDuration(999), '999ms')
})
