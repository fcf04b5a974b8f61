import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../telemetry/metrics.ts'
import { createOperatorMetrics } from './metrics.ts'
import type { SyncResult } from './sync/sync.ts'

test('a replica that is no longer the leader reports nothing about objects', async () => {
  const exposition = createMetrics('operator')
  const metrics = createOperatorMetrics(exposition, () => new Date())
  const verdicts = [{ portId: 'port-1', reason: 'Selected' }]
  const result = { findings: { verdicts, removalsOnHold: ['x'] }, unreadyPorts: ['port-1'], changed: 0 }
  metrics.sync('team/main', result as unknown as SyncResult, 1)
  metrics.collect()
  const series = async () => (await exposition.text()).split('\n').filter(line => line.includes('team/main'))
  assert.equal((await series()).length, 4)
  metrics.forgetAll()
  metrics.collect()
  assert.deepEqual(await series(), [])
})
