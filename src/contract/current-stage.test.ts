import assert from 'node:assert/strict'
import { test } from 'node:test'
import { currentStage, type Stage, stages } from './stages.ts'

const timesUntil = (last: Stage) =>
  Object.fromEntries(stages.slice(0, stages.indexOf(last) + 1).map(stage => [stage, '2026-01-01T00:00:00Z']))
const waiting = { matches: false, isDrifted: false }

test('an interface waits at the stage after its last time', () => {
  assert.equal(currentStage({ ...waiting, times: {} }), 'seen')
  for (const [index, stage] of stages.slice(0, -1).entries())
    assert.equal(currentStage({ ...waiting, times: timesUntil(stage) }), stages[index + 1])
})

test('a time that is missing in between does not count', () =>
  assert.equal(currentStage({ ...waiting, times: { job: '2026-01-01T00:00:00Z' } }), 'applied'))

test('an interface that was verified before is not verified again yet', () =>
  assert.equal(
    currentStage({ ...waiting, times: { ...timesUntil('delivered'), verified: '2025-01-01T00:00:00Z' } }),
    'cr',
  ))

test('an interface that differs is at its last stage, and one that is as requested at none', () => {
  assert.equal(currentStage({ matches: false, isDrifted: true, times: timesUntil('delivered') }), 'verified')
  assert.equal(currentStage({ matches: true, isDrifted: true, times: timesUntil('verified') }), undefined)
})
