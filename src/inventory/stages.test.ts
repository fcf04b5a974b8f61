import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeStages, type StageRecord } from './stages.ts'

/** Seconds after midnight. */
const at = (second: number, ms = '000') => `2026-01-01T00:00:${String(second).padStart(2, '0')}.${ms}Z`
const now = at(50)
const delivered: StageRecord = { stages: { seen: at(1), delivered: at(2), cr: at(3) } }
const complete: StageRecord = {
  stages: { seen: at(1), delivered: at(2), cr: at(3), job: at(4), applied: at(5), verified: at(6) },
}

const cases: Record<string, [known: StageRecord, given: StageRecord['stages'], expected: StageRecord]> = {
  'the first write stores all stages': [{}, delivered.stages, delivered],
  'a stage is added after those that are known': [delivered, { job: at(4), applied: at(5), verified: at(6) }, complete],
  'experience H5: a restarted operator that delivers the node again changes no stage': [
    complete,
    { delivered: at(40), cr: at(40), job: at(41), applied: at(42), verified: at(42) },
    complete,
  ],
  'experience H5: a restarted operator that no longer knows the earlier stages keeps them': [
    complete,
    { job: at(41) },
    complete,
  ],
  'a stage is not added before one that is known': [
    { stages: { delivered: at(2), applied: at(5) } },
    { seen: at(1), job: at(4), verified: at(6) },
    { stages: { delivered: at(2), applied: at(5), verified: at(6) } },
  ],
  'a stage before the previous one is clamped and marked': [
    delivered,
    { job: at(1) },
    { stages: { ...delivered.stages, job: at(3) }, clamped: ['job'] },
  ],
  'a stage in the future is clamped and marked': [
    delivered,
    { applied: '2027-01-01T00:00:00Z' },
    { stages: { ...delivered.stages, applied: now }, clamped: ['applied'] },
  ],
  'a mark stays': [{ ...complete, clamped: ['job'] }, { verified: at(9) }, { ...complete, clamped: ['job'] }],
  'the resolution of Kubernetes times is no different clock': [
    { stages: { cr: at(3, '900') } },
    { applied: at(3) },
    { stages: { cr: at(3, '900'), applied: at(3, '900') } },
  ],
  'no stage at all': [{}, {}, {}],
}
for (const [name, [known, given, expected]] of Object.entries(cases))
  test(name, () => assert.deepEqual(mergeStages(known, given, now), expected))
