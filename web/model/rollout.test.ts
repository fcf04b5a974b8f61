import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RolloutNode } from '../../src/contract/agent-rollout.ts'
import { openRolloutOf } from './rollout.ts'

const node = (request: string, state: 'Waiting' | 'Updated'): RolloutNode => ({
  state: 'Configured',
  agentRollout: { request, state },
})

test('a rollout is shown while a node waits, by its newest request', () => {
  const old = '2026-01-01T00:00:00.000Z'
  const now = '2026-02-01T00:00:00.000Z'
  assert.equal(openRolloutOf([{ state: 'Configured' }, node(now, 'Updated')]), undefined)
  const open = openRolloutOf([node(now, 'Updated'), node(old, 'Waiting'), node(now, 'Waiting'), node(old, 'Updated')])
  assert.deepEqual([open?.updated, open?.waiting, open?.nodes], [1, 3, 4])
})
