/** Verdicts of a soak: flat and growing values, repeated warnings. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  countWarnings,
  judgeGrowth,
  judgeMaximum,
  judgeRatio,
  judgeSteps,
  judgeWarnings,
  type Sample,
  slopeOf,
  tableOf,
  undisturbedShare,
  warningOf,
} from './verdict.ts'

const tenth = { share: 0.1, slack: 0 }

function samplesOf(values: readonly number[]): Sample[] {
  return values.map((value, index) => ({ at: index * 15, values: { 'operator.mib': value } }))
}
function judge(values: readonly number[], bound = tenth) {
  return judgeGrowth('flat memory', samplesOf(values), 'operator.mib', bound, 'MiB')
}
const steady = Array.from({ length: 120 }, (_, index) => 100 + (index % 7))

test('memory that varies without trend is flat', () => {
  assert.equal(judge(steady).met, true)
})

test('memory that grows only in the first third is flat', () => {
  assert.equal(judge(steady.map((value, index) => (index < 40 ? value * (index / 40) : value))).met, true)
})

test('a steady leak fails by the means and by the trend', () => {
  const leaking = steady.map((value, index) => value + index)
  const { met, text, figures } = judge(leaking)
  assert.equal(met, false)
  assert.match(text, /162 MiB in the middle third, 203 in the last.*more than 16\.2 above/)
  assert.ok((figures?.['trend'] ?? 0) > 70)
})

test('a rise with a drop at the end, which makes the means equal, fails by the trend', () => {
  const rising = Array.from({ length: 90 }, (_, index) => (index < 85 ? 100 + index : 10))
  const { met, text } = judge(rising)
  assert.equal(met, false)
  assert.match(text, /a steady rise of more than 28/)
})

test('a single peak does not fail the check', () => {
  const peaked = steady.map((value, index) => (index === 110 ? 300 : value))
  assert.equal(judge(peaked).met, true)
})

test('a step below the slack passes, a larger one fails', () => {
  const stepped = Array.from({ length: 30 }, (_, index) => (index < 20 ? 1 : 4))
  assert.equal(judge(stepped, { share: 0.1, slack: 5 }).met, true)
  assert.equal(judge(stepped, { share: 0.1, slack: 2 }).met, false)
})

test('missing or too few samples fail the check', () => {
  assert.deepEqual(judge([]).met, false)
  assert.match(judge([1, 2]).text, /2 samples are too few/)
  assert.equal(judgeGrowth('x', samplesOf(steady), 'viola.mib', tenth, 'MiB').met, false)
})

test('a sample without the value is ignored, because the component was down', () => {
  const samples = samplesOf(steady).map((sample, index) => (index % 10 === 0 ? { at: sample.at, values: {} } : sample))
  assert.equal(judgeGrowth('flat memory', samples, 'operator.mib', tenth, 'MiB').met, true)
})

test('a single value above a maximum fails, with the value', () => {
  const judgeMost = (limit: number) => judgeMaximum('x', samplesOf([3, 7, 5]), 'operator.mib', { limit, unit: 'MiB' })
  assert.equal(judgeMost(7).met, true)
  assert.deepEqual([judgeMost(6).met, judgeMost(6).text], [false, 'at most 7 MiB: more than 6'])
  assert.equal(judgeMaximum('x', samplesOf([1]), 'viola.mib', { limit: 9, unit: 'MiB' }).met, false)
})

test('the ratio is that of the growth, not of the values', () => {
  const samples = [
    { at: 0, values: { rows: 1_000, deliveries: 10 } },
    { at: 15, values: {} },
    { at: 30, values: { rows: 1_100, deliveries: 20 } },
  ]
  const judgeRows = (limit: number, to = 'deliveries') =>
    judgeRatio('x', samples, { of: 'rows', to, limit, unit: 'rows' })
  assert.equal(judgeRows(10).met, true)
  assert.deepEqual([judgeRows(9).met, judgeRows(9).text], [false, '10 rows: more than 9'])
  assert.deepEqual([judgeRows(10, 'x').met, judgeRows(10, 'x').text], [false, 'x did not grow'])
})

test('the slope is that of the line, whatever a few outliers are', () => {
  const line = Array.from({ length: 20 }, (_, at) => ({ at, value: 3 * at }))
  assert.equal(slopeOf(line), 3)
  assert.equal(slopeOf(line.map(point => (point.at === 7 ? { at: 7, value: 1_000 } : point))), 3)
  assert.equal(slopeOf([]), 0)
})

const faultWindows = [{ from: 1_000, to: 2_000 }]
const aWarning = (time: number, message = 'sync failed') => ({ component: 'operator', message, time })
const judgeAll = (warnings: ReturnType<typeof aWarning>[]) => judgeWarnings(countWarnings(warnings, faultWindows))

test('warnings during and after a fault do not count', () => {
  assert.equal(judgeAll([aWarning(1_000), aWarning(1_500), aWarning(2_000)]).met, true)
})

test('a warning that repeats without a fault fails, with its count', () => {
  const { met, text } = judgeAll([aWarning(500), aWarning(1_500), aWarning(2_001), aWarning(2_002)])
  assert.equal(met, false)
  assert.equal(text, '4 warnings, 3 of them without a fault; 3 times "operator: sync failed"')
})

test('a single warning of each kind passes', () => {
  assert.equal(judgeAll([aWarning(500), aWarning(501, 'watch failed')]).met, true)
})

test('log lines of level warn and error count, by their constant message and reason', () => {
  const line = (fields: object) =>
    JSON.stringify({ time: '2026-01-01T00:00:00.000Z', message: 'sync failed', ...fields })
  assert.equal(warningOf('viola', line({ level: 'info' }), 0), undefined)
  assert.equal(warningOf('viola', '', 0), undefined)
  assert.deepEqual(warningOf('viola', line({ level: 'warn', node: 'a' }), 0), {
    ...{ component: 'viola', message: 'sync failed', time: Date.parse('2026-01-01') },
  })
  assert.equal(warningOf('viola', line({ level: 'error', reason: 'Gone' }), 0)?.message, 'sync failed (Gone)')
})

test('output that is not a log line counts as a warning', () => {
  assert.deepEqual(warningOf('viola', 'FATAL ERROR: heap out of memory', 7), {
    ...{ component: 'viola', message: 'FATAL ERROR: heap out of memory', time: 7 },
  })
})

const leaders = (...values: (number | undefined)[]) =>
  judgeSteps(
    'leader stays',
    values.map((value, index) => ({ at: index, values: value === undefined ? {} : { transitions: value } })),
    'transitions',
    { faultWindows: [{ from: 101_200, to: 102_000 }], startedAt: 100_000 },
  )

test('a leader that changes in a fault window is explained, also if a sample is missing', () => {
  assert.equal(leaders(1, 1, 2, 2, 2).met, true)
  assert.equal(leaders(1, undefined, undefined, undefined, 2).met, true)
})

test('a leader that changes without a fault fails, with its time', () => {
  const { met, text } = leaders(1, 1, 2, 2, 3)
  assert.deepEqual([met, text], [false, '2 changes, 1 of them without a fault; before second 4'])
  assert.equal(leaders(1, 2, 2, 2, 2).met, false)
  assert.equal(leaders().met, false)
})

test('overlapping fault windows count once', () => {
  const overlapping = [
    { from: 10, to: 30 },
    { from: 20, to: 40 },
    { from: 90, to: Number.POSITIVE_INFINITY },
    { from: 0, to: 5 },
  ]
  assert.equal(undisturbedShare(overlapping, 0, 100), 0.55)
  assert.equal(undisturbedShare([], 0, 100), 1)
  assert.equal(undisturbedShare([{ from: -50, to: 500 }], 0, 100), 0)
})

test('the table has a line for each verdict and marks the failed ones', () => {
  const table = tableOf([
    { check: 'flat memory', met: true, text: 'unchanged' },
    { check: 'Jobs bounded', met: false, text: 'growing' },
  ])
  assert.equal(table, 'ok      flat memory   unchanged\nFAILED  Jobs bounded  growing')
})
