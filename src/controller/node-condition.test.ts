import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aConfig, start } from './controller.fixture.ts'
import { nextNodeConditions, nodeCondition } from './node-condition.ts'

const told = (status: 'True' | 'False', reason: string, metadata = {}) =>
  aConfig({
    metadata,
    status: {
      conditions: [{ type: 'Ready', status, reason, message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    },
  })
const shown = {
  type: nodeCondition,
  status: 'True',
  reason: 'AllInterfacesConfigured',
  message: 'm',
  lastTransitionTime: '2025-06-01T00:00:00Z',
}
const now = new Date(start)

test('a Node says what its config says', () => {
  assert.deepEqual(nextNodeConditions(undefined, told('True', 'AllInterfacesConfigured'), now), [
    { ...shown, lastTransitionTime: '2026-01-01T00:00:00Z' },
  ])
})

test('what a Node says already is not written again', () =>
  assert.equal(nextNodeConditions(shown, told('True', 'AllInterfacesConfigured'), now), undefined))

test('the time of a transition moves with the status only', () => {
  const since = (status: 'True' | 'False') =>
    nextNodeConditions(shown, told(status, 'Other'), now)?.[0]?.lastTransitionTime
  assert.equal(since('True'), shown.lastTransitionTime)
  assert.equal(since('False'), '2026-01-01T00:00:00Z')
})

test('the condition goes with the config', () => {
  const going = told('True', 'AllInterfacesConfigured', { deletionTimestamp: '2026-01-01T00:00:00Z' })
  assert.deepEqual(nextNodeConditions(shown, going, now), [])
  assert.equal(nextNodeConditions(undefined, going, now), undefined)
})

test('the younger of two configs does not speak for the node', () =>
  assert.equal(nextNodeConditions(shown, told('False', 'DuplicateNode'), now), undefined))
