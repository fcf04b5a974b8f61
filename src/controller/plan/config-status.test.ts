import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfigStatus } from '../../contract/node-config.ts'
import { aConfig } from '../controller.fixture.ts'
import { hasFailedChange, isRebooted, isSettled, yieldsToOlder } from './config-status.ts'
import { failureDelay, podStartDelay } from './delays.ts'
import { aStatus, config, configured, withStatus } from './plan.fixture.ts'

const drifted = aStatus('Failed', 'Drifted', 60)

test('a node counts against the failure budget from its first failure until it is configured', () => {
  const counted = (status: NodeConfigStatus, generation = 3) =>
    hasFailedChange(aConfig({ generation, status: { observedGeneration: generation, ...status } }))
  assert.equal(counted({ state: 'Failed' }), true)
  assert.equal(counted({ state: 'InProgress', failedAttempts: 1 }), true, 'a retry is no recovery')
  assert.equal(counted({ state: 'InProgress', failedAttempts: 0 }), false)
  assert.equal(counted({ state: 'Configured', failedAttempts: 1 }), false)
  assert.equal(counted({ state: 'Failed' }, 1), false, 'a new node never worked')
  assert.equal(counted({ ...drifted }), false, 'somebody else made the change')
  assert.equal(hasFailedChange(aConfig({ status: { state: 'Failed', observedGeneration: 2 } })), false, 'an older spec')
  assert.equal(hasFailedChange(config), false)
})

test('a new config is not settled, and no failed change in its first generation', () => {
  const { status: _, ...fresh } = config
  assert.equal(isSettled(fresh), false)
  assert.equal(hasFailedChange({ ...fresh, metadata: { ...fresh.metadata, generation: 1 } }), false)
})

test('a node that reports no boot was not rebooted', () => {
  assert.equal(isRebooted(aConfig({ status: {} }), { bootID: '' }), false)
  assert.equal(isRebooted(aConfig({ status: {} }), { bootID: 'boot-1' }), true)
})

test('a config yields to an older one until it is deleted', () => {
  const duplicate = aStatus('Pending', 'DuplicateNode', 1)
  assert.equal(yieldsToOlder(withStatus(duplicate).config), true)
  assert.equal(yieldsToOlder(withStatus(duplicate, { deletionTimestamp: '2026-01-01T00:00:00Z' }).config), false)
  assert.equal(yieldsToOlder(withStatus(configured).config), false)
})

test('a failure is retried every ten minutes for a day, then every hour', () =>
  assert.deepEqual([1, 5, 6, 149, 150].map(failureDelay), [10_000, 300_000, 600_000, 600_000, 3_600_000]))

test('a Pod that has not started is looked at every five seconds, and every half minute after a minute', () =>
  assert.deepEqual([0, 4_000, 59_999, 60_000].map(podStartDelay), [5_000, 1_000, 1, 30_000]))
