import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aConfig, start } from '../controller.fixture.ts'
import { type Deletion, isOneOfMany, unapprovedDeletion } from './deletion-hold.ts'
import { aStatus } from './plan.fixture.ts'

const at = (...secondsAgo: number[]): Deletion[] =>
  secondsAgo.map(seconds => ({ deletedAt: start - seconds * 1_000, onHold: false }))
const many = (count: number) => at(...Array.from({ length: count }, () => 0))
const onHold: Deletion = { deletedAt: start, onHold: true }

const cases: Record<string, [deletions: Deletion[], configs: number, expected: boolean]> = {
  'two of two': [many(2), 2, false],
  'three of three': [many(3), 3, true],
  'three of fifteen, a fifth': [many(3), 15, false],
  'four of fifteen': [many(4), 15, true],
  'a thousand of five thousand': [many(1_000), 5_000, false],
  'one more': [many(1_001), 5_000, true],
  'three in ten minutes': [at(0, 300, 600), 3, true],
  'three in more than ten minutes': [at(0, 300, 601), 3, false],
  'three around this one': [at(-600, 0, 600), 3, true],
  'one beside one that is held': [[...at(0), onHold], 100, true],
  'one an hour after one that is held': [[...at(0), { ...onHold, deletedAt: start - 3_600_000 }], 100, false],
}
for (const [name, [deletions, configs, expected]] of Object.entries(cases))
  test(`${name}: ${expected ? 'held' : 'not held'}`, () =>
    assert.equal(isOneOfMany(start, deletions, configs), expected))

const deleted = (annotations: Record<string, string> = {}) =>
  aConfig({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', annotations } })

test('a deletion counts until somebody approves it, or asks to leave the interfaces', () => {
  const counted = { deletedAt: start, onHold: false }
  assert.deepEqual(unapprovedDeletion(deleted(), undefined), counted)
  assert.deepEqual(unapprovedDeletion(deleted({ 'multinic.io/approve-deletions': 'true' }), 'true'), counted)
  assert.equal(unapprovedDeletion(deleted({ 'multinic.io/force-delete': 'true' }), undefined), undefined)
  assert.equal(
    unapprovedDeletion(deleted({ 'multinic.io/approve-deletions': `${start / 1_000}` }), undefined),
    undefined,
  )
  assert.equal(unapprovedDeletion(deleted(), `${start / 1_000}`), undefined)
  assert.equal(unapprovedDeletion(aConfig(), undefined), undefined)
  assert.equal(unapprovedDeletion({ ...deleted(), kind: 'MultiNicBizConfig' }, undefined), undefined)
  const status = aStatus('Pending', 'DeletionHeld', 60)
  assert.deepEqual(unapprovedDeletion({ ...deleted(), status }, undefined), { deletedAt: start, onHold: true })
})
