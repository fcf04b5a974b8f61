/** Verdicts of a soak: what is flat, what grows, what repeats. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  complaintOf,
  countComplaints,
  judgeComplaints,
  judgeGrowth,
  openShare,
  type Sample,
  slopeOf,
  tableOf,
} from './verdict.ts'

const tenth = { share: 0.1, slack: 0 }

function samplesOf(values: readonly number[]): Sample[] {
  return values.map((value, index) => ({ at: index * 15, values: { 'operator.mib': value } }))
}
function judge(values: readonly number[], bound = tenth) {
  return judgeGrowth('flat memory', samplesOf(values), 'operator.mib', bound, 'MiB')
}
const steady = Array.from({ length: 120 }, (_, index) => 100 + (index % 7))

test('memory that goes up and down is flat', () => {
  assert.equal(judge(steady).met, true)
})

test('memory that fills its caches in the first third is flat', () => {
  assert.equal(judge(steady.map((value, index) => (index < 40 ? value * (index / 40) : value))).met, true)
})

test('a steady leak is found by the means and by the slope', () => {
  const leaking = steady.map((value, index) => value + index)
  const { met, words, facts } = judge(leaking)
  assert.equal(met, false)
  assert.match(words, /162 MiB in the middle third, 203 in the last.*more than 16\.2 above/)
  assert.ok((facts?.['trend'] ?? 0) > 70)
})

test('a rise of which one fall at the end makes the means equal is found by the slope', () => {
  const rising = Array.from({ length: 90 }, (_, index) => (index < 85 ? 100 + index : 10))
  const { met, words } = judge(rising)
  assert.equal(met, false)
  assert.match(words, /a steady rise of more than 28/)
})

test('one peak tilts nothing', () => {
  const peaked = steady.map((value, index) => (index === 110 ? 300 : value))
  assert.equal(judge(peaked).met, true)
})

test('a step of less than the slack counts for nothing, and one of more does', () => {
  const stepped = Array.from({ length: 30 }, (_, index) => (index < 20 ? 1 : 4))
  assert.equal(judge(stepped, { share: 0.1, slack: 5 }).met, true)
  assert.equal(judge(stepped, { share: 0.1, slack: 2 }).met, false)
})

test('what was never measured is not called flat', () => {
  assert.deepEqual(judge([]).met, false)
  assert.match(judge([1, 2]).words, /2 samples are too few/)
  assert.equal(judgeGrowth('x', samplesOf(steady), 'viola.mib', tenth, 'MiB').met, false)
})

test('a sample without the number is left out: the part was down', () => {
  const samples = samplesOf(steady).map((sample, index) => (index % 10 === 0 ? { at: sample.at, values: {} } : sample))
  assert.equal(judgeGrowth('flat memory', samples, 'operator.mib', tenth, 'MiB').met, true)
})

test('the slope is that of a line, whatever a few points say', () => {
  const line = Array.from({ length: 20 }, (_, at) => ({ at, value: 3 * at }))
  assert.equal(slopeOf(line), 3)
  assert.equal(slopeOf(line.map(point => (point.at === 7 ? { at: 7, value: 1_000 } : point))), 3)
  assert.equal(slopeOf([]), 0)
})

const shadows = [{ from: 1_000, to: 2_000 }]
const said = (time: number, message = 'the sync failed') => ({ part: 'operator', message, time })
const judgeAll = (complaints: ReturnType<typeof said>[]) => judgeComplaints(countComplaints(complaints, shadows))

test('complaints of a fault and after it count for nothing', () => {
  assert.equal(judgeAll([said(1_000), said(1_500), said(2_000)]).met, true)
})

test('a complaint that comes twice while nothing is broken is told, with how often', () => {
  const { met, words } = judgeAll([said(500), said(1_500), said(2_001), said(2_002)])
  assert.equal(met, false)
  assert.equal(words, '4 complaints, 3 of them while nothing was broken; 3 times "operator: the sync failed"')
})

test('one complaint of each kind is no repetition', () => {
  assert.equal(judgeAll([said(500), said(501, 'watch failed')]).met, true)
})

test('of a log only warnings and errors are complaints, by their constant message and reason', () => {
  const line = (facts: object) => JSON.stringify({ time: '2026-01-01T00:00:00.000Z', message: 'it broke', ...facts })
  assert.equal(complaintOf('viola', line({ level: 'info' }), 0), undefined)
  assert.equal(complaintOf('viola', '', 0), undefined)
  assert.deepEqual(complaintOf('viola', line({ level: 'warn', node: 'a' }), 0), {
    ...{ part: 'viola', message: 'it broke', time: Date.parse('2026-01-01') },
  })
  assert.equal(complaintOf('viola', line({ level: 'error', reason: 'Gone' }), 0)?.message, 'it broke (Gone)')
})

test('the last words of a process that dies are a complaint', () => {
  assert.deepEqual(complaintOf('viola', 'FATAL ERROR: heap out of memory', 7), {
    ...{ part: 'viola', message: 'FATAL ERROR: heap out of memory', time: 7 },
  })
})

test('shadows that lie over each other darken a time once', () => {
  const both = [
    { from: 10, to: 30 },
    { from: 20, to: 40 },
    { from: 90, to: Number.POSITIVE_INFINITY },
    { from: 0, to: 5 },
  ]
  assert.equal(openShare(both, 0, 100), 0.55)
  assert.equal(openShare([], 0, 100), 1)
  assert.equal(openShare([{ from: -50, to: 500 }], 0, 100), 0)
})

test('the table has a line for each verdict and shows which is not met', () => {
  const table = tableOf([
    { check: 'flat memory', met: true, words: 'as it was' },
    { check: 'Jobs bounded', met: false, words: 'they grow' },
  ])
  assert.equal(table, 'ok      flat memory   as it was\nFAILED  Jobs bounded  they grow')
})
