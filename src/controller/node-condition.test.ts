import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aConfig, start } from './controller.fixture.ts'
import { nextNodeConditions, nodeCondition } from './node-condition.ts'

const configWith = (status: 'True' | 'False', reason: string, metadata = {}) =>
  aConfig({
    metadata,
    status: {
      conditions: [{ type: 'Ready', status, reason, message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    },
  })
const current = {
  type: nodeCondition,
  status: 'True',
  reason: 'AllInterfacesConfigured',
  message: 'm',
  lastTransitionTime: '2025-06-01T00:00:00Z',
}
const now = new Date(start)

test('a Node gets the Ready condition of its config', () => {
  assert.deepEqual(nextNodeConditions(undefined, configWith('True', 'AllInterfacesConfigured'), now), [
    { ...current, lastTransitionTime: '2026-01-01T00:00:00Z' },
  ])
})

test('a condition that is up to date is not written again', () =>
  assert.equal(nextNodeConditions(current, configWith('True', 'AllInterfacesConfigured'), now), undefined))

test('only a change of the status moves the transition time', () => {
  const since = (status: 'True' | 'False') =>
    nextNodeConditions(current, configWith(status, 'Other'), now)?.[0]?.lastTransitionTime
  assert.equal(since('True'), current.lastTransitionTime)
  assert.equal(since('False'), '2026-01-01T00:00:00Z')
})

test('the condition is removed with the config', () => {
  const deleted = configWith('True', 'AllInterfacesConfigured', { deletionTimestamp: '2026-01-01T00:00:00Z' })
  assert.deepEqual(nextNodeConditions(current, deleted, now), [])
  assert.equal(nextNodeConditions(undefined, deleted, now), undefined)
})

test('the younger of two configs does not set the condition', () =>
  assert.equal(nextNodeConditions(current, configWith('False', 'DuplicateNode'), now), undefined))
