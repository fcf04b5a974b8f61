import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentRolloutProgress, type RolloutNode } from './agent-rollout.ts'

const request = 'monday'
const updated = { request, state: 'Updated' } as const
const waiting = (reason: string): RolloutNode => ({
  state: 'Configured',
  agentRollout: { request, state: 'Waiting', reason, message: `because of ${reason}` },
})

test('every node is in one place', () => {
  const nodes: RolloutNode[] = [
    { state: 'Configured', agentRollout: updated },
    { state: 'Failed', agentRollout: updated },
    { state: 'Pending', agentRollout: updated },
    { state: 'InProgress', agentRollout: waiting('RolloutWaiting').agentRollout },
    waiting('RolloutWaiting'),
    { state: 'Configured', agentRollout: { ...updated, request: 'sunday' } },
    { state: 'Configured' },
    { state: 'Failed' },
    {},
  ]
  assert.deepEqual(agentRolloutProgress(nodes, request), {
    ...{ nodes: 9, updated: 1, running: 2, waiting: 3, failed: 1, leftOut: 2 },
    reason: 'RolloutWaiting',
    message: 'because of RolloutWaiting',
  })
})

test('a rollout that stopped says so first', () => {
  const nodes = ['RolloutWaiting', 'Paused', 'RolloutStopped'].map(waiting)
  assert.equal(agentRolloutProgress(nodes, request).reason, 'RolloutStopped')
})
