import assert from 'node:assert/strict'
import { test } from 'node:test'
import { json, serve } from '../../../test/support/http-stub.ts'
import { connectKube } from '../../kube/client.ts'
import { readinessOf } from './readiness.ts'

test('a component that is not ready says what it lacks', async t => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'inventory-1', namespace: 'ns' },
    spec: { containers: [] },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] },
  }
  const api = await serve(({ path }, response) => {
    if (!path.includes('/proxy/readyz')) json(response, 200, { metadata: {}, items: [pod] })
    else json(response, 503, { ready: false, missing: ['database: disk I/O error'], warnings: [] })
  })
  t.after(() => api.close())
  const kube = connectKube({ server: api.url }, { attempts: 1 })
  t.after(() => kube.close())
  const workload = {
    name: 'inventory',
    component: 'inventory',
    desired: 1,
    ready: 0,
    readyzAt: { port: 18081, tls: false },
  }
  assert.deepEqual(await readinessOf(kube, 'ns', [workload]), [
    { name: 'inventory', missing: ['database: disk I/O error'], warnings: [] },
  ])
})
