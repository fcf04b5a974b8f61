import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDuration, parseDuration } from './duration.ts'

const cases: Record<string, number | undefined> = {
  '20s': 20_000,
  '1h30m': 5_400_000,
  '500ms': 500,
  '1.5s': 1_500,
  '2ns': 0.000002,
  '1us': 0.001,
  '1µs': 0.001,
  '10m': 600_000,
  '12h': 43_200_000,
  '1h1h': 7_200_000,
  '0s1ms': 1,
  '2h15m30s': 8_130_000,
  '0s': undefined,
  '-1s': undefined,
  '20': undefined,
  '20 s': undefined,
  '1.s': undefined,
  '.5s': undefined,
  '1.2.3s': undefined,
  '20s ': undefined,
  x20s: undefined,
  '1d': undefined,
  s: undefined,
  '': undefined,
}
for (const [text, ms] of Object.entries(cases)) {
  test(`"${text}" is ${ms === undefined ? 'no positive duration' : `${ms} ms`}`, () =>
    assert.equal(parseDuration(text), ms))
}

test('a duration beyond all numbers is none', () => {
  assert.equal(parseDuration(`${'9'.repeat(400)}s`), undefined)
})

const uptimes: Record<number, string> = {
  0: '0ms',
  0.4: '0ms',
  999: '999ms',
  1000: '1s',
  59999: '59s',
  60000: '1m0s',
  61000: '1m1s',
  3599999: '59m59s',
  3600000: '1h0m0s',
  8130000: '2h15m30s',
  360000000: '100h0m0s',
}
for (const [ms, text] of Object.entries(uptimes))
  test(`${ms} ms reads as ${text}`, () => assert.equal(formatDuration(Number(ms)), text))
