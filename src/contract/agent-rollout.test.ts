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

test('only a waiting node says why, and a rollout that nobody waits for says nothing', () => {
  const counts = { nodes: 1, updated: 0, running: 0, waiting: 0, failed: 0, leftOut: 0 }
  const { agentRollout } = waiting('Paused')
  assert.deepEqual(agentRolloutProgress([{ state: 'Failed', agentRollout }], request), { ...counts, leftOut: 1 })
  assert.deepEqual(agentRolloutProgress([{ state: 'Configured', agentRollout: updated }], request), {
    ...counts,
    updated: 1,
  })
  const silent: RolloutNode = { state: 'Configured', agentRollout: { request, state: 'Waiting', reason: 'Paused' } }
  assert.deepEqual(agentRolloutProgress([{ state: 'Configured' }, silent], request), {
    ...{ ...counts, nodes: 2, waiting: 2, reason: 'Paused' },
  })
})

test('a node that was updated and lost its state is running again', () => {
  assert.equal(agentRolloutProgress([{ agentRollout: updated }], request).running, 1)
})

test('a rollout that stopped says so first', () => {
  const nodes = ['RolloutWaiting', 'Paused', 'RolloutStopped'].map(waiting)
  assert.equal(agentRolloutProgress(nodes, request).reason, 'RolloutStopped')
})
