/**
 * What the controller remembers of its own writes, while its watches miss events.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { type Handler, json, serve } from '../../test/support/http-stub.ts'
import type { NodeConfig } from '../contract/node-config.ts'
import { connectKube } from '../kube/client.ts'
import type { JobObject, KubeObject } from '../kube/types.ts'
import { silent } from '../telemetry/log.ts'
import { createCaches } from './caches.ts'
import { aConfig } from './controller.fixture.ts'
import { createLatestState } from './latest-state.ts'

async function withState(
  use: (context: {
    state: ReturnType<typeof createLatestState>
    items: Map<string, KubeObject[]>
    /** Ends all watches, so that the caches list again. */
    relist(): void
  }) => Promise<void>,
): Promise<void> {
  const items = new Map<string, KubeObject[]>()
  const watches = new Set<ServerResponse>()
  const handler: Handler = ({ path, query }, response) => {
    const listed = items.get(path.split('/').at(-1) ?? '') ?? []
    if (!query.get('watch')) return json(response, 200, { metadata: { resourceVersion: '1' }, items: listed })
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    watches.add(response)
  }
  const server = await serve(handler)
  const kube = connectKube({ server: server.url }, { attempts: 1 })
  const stop = new AbortController()
  const caches = createCaches(kube, 'multinic-system', silent)
  const state = createLatestState(caches)
  const gone = JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } })
  const relist = () => {
    for (const watch of watches) watch.end(`${gone}\n`)
    watches.clear()
  }
  const failed = aConfig({ status: { observedGeneration: 3, state: 'Failed' } })
  items.set('multinicnodeconfigs', [failed])
  try {
    await Promise.all([caches.configs, caches.jobs].map(cache => cache.start(stop.signal)))
    await eventually(() => assert.equal(watches.size, 2))
    await use({ state, items, relist })
  } finally {
    stop.abort()
    await kube.close()
    await server.close()
  }
}

test('controller L11: a Job that came and went while no watch was open is forgotten after a list', async () => {
  await withState(async ({ state, relist }) => {
    const template = { spec: { nodeName: 'w1', containers: [] } }
    const metadata = { name: 'job-1', namespace: 'multinic-system', uid: 'job-1' }
    state.createdJob({ apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { template } } as JobObject)
    assert.equal(state.jobsOn('w1').length, 1)
    relist()
    await eventually(() => assert.equal(state.jobsOn('w1').length, 0))
  })
})

test('after a list, what the server says counts, also if it forgot our writes in a restore', async () => {
  await withState(async ({ state, items, relist }) => {
    const [before] = items.get('multinicnodeconfigs') ?? []
    assert.ok(before)
    const after = aConfig({
      status: { observedGeneration: 3, state: 'Configured' },
      metadata: { resourceVersion: '11' },
    })
    state.wroteConfig(before as NodeConfig, after)
    const key = `${before.metadata.namespace}/${before.metadata.name}`
    assert.equal(state.config(key)?.status?.state, 'Configured')
    relist()
    await eventually(() => assert.equal(state.config(key)?.status?.state, 'Failed'))
  })
})

test('controller L11: a failed config that went while no watch was open leaves the failure budget', async () => {
  await withState(async ({ state, items, relist }) => {
    const [config] = items.get('multinicnodeconfigs') ?? []
    assert.ok(config)
    const written = aConfig({ status: { observedGeneration: 3, state: 'Failed' }, metadata: { resourceVersion: '11' } })
    state.wroteConfig(aConfig(), written)
    assert.equal(state.failedChanges().length, 1)
    items.set('multinicnodeconfigs', [])
    relist()
    await eventually(() => assert.equal(state.failedChanges().length, 0))
  })
})
