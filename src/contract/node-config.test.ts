import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentRolloutOf } from './node-config.ts'

test('a request to run the agent again is the value of the annotation, as long as the status stores it', () => {
  const requestOf = (annotations?: Record<string, string>) =>
    agentRolloutOf({ metadata: { name: 'multinic-system', ...(annotations && { annotations }) } })
  assert.equal(requestOf({ 'multinic.io/rollout-agent': 'monday' }), 'monday')
  assert.equal(requestOf({ 'multinic.io/rollout-agent': 'x'.repeat(65) }), 'x'.repeat(64))
  assert.equal(requestOf({ 'multinic.io/rollout-agent': '' }), undefined)
  assert.equal(requestOf({ 'multinic.io/paused': 'true' }), undefined)
  assert.equal(requestOf(), undefined)
})
