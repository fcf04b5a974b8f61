/**
 * The health endpoints of the controller, with a cluster and before it has reached one.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { metricOf } from '../../test/support/exposition.ts'
import { type Handler, json, refuse, serve } from '../../test/support/http-stub.ts'
import { silent } from '../telemetry/log.ts'
import { aConfig } from './controller.fixture.ts'
import { runNodeController } from './main.ts'

async function ask(url: string): Promise<Record<string, unknown>> {
  const answer = await fetch(url)
  return { code: answer.status, ...((await answer.json()) as object) }
}

/** A controller whose API server the test plays. */
async function withController(handler: Handler, use: (url: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'controller-health-'))
  const server = await serve(handler)
  const kubeconfig = join(dir, 'kubeconfig')
  const contexts = [{ name: 'here', context: { cluster: 'c', user: 'u' } }]
  const clusters = [{ name: 'c', cluster: { server: server.url } }]
  const users = [{ name: 'u', user: { token: 't' } }]
  await writeFile(kubeconfig, JSON.stringify({ 'current-context': 'here', contexts, clusters, users }))
  const stop = new AbortController()
  const listening = Promise.withResolvers<string>()
  const env = { KUBECONFIG: kubeconfig, CONTROLLER_NAMESPACE: 'multinic-system', HEALTH_ADDR: '127.0.0.1:0' }
  const ended = runNodeController({ env, log: silent, signal: stop.signal, onListening: listening.resolve })
  try {
    await use(await listening.promise)
  } finally {
    stop.abort()
    await ended
    await server.close()
    await rm(dir, { recursive: true })
  }
}

const kinds = ['configs', 'nodes', 'jobs', 'pods', 'namespaces']

test('a controller that has not reached its cluster is unhealthy and names what is missing', async () => {
  const unavailable: Handler = (_, response) => json(response, 503, { kind: 'Status', message: 'later' })
  await withController(unavailable, async url => {
    const { code, status, crd_watcher_status: watcher } = await ask(`${url}/healthz`)
    assert.deepEqual({ code, status, watcher }, { code: 503, status: 'unhealthy', watcher: 'stopped' })
    const { code: notReady, missing } = await ask(`${url}/readyz`)
    assert.equal(notReady, 503)
    assert.deepEqual(
      missing,
      kinds.map(kind => `${kind}: not listed yet`),
    )
    assert.equal(await metricOf(url, 'multinic_watches_stale'), kinds.length)
    assert.equal(await metricOf(url, 'multinic_leader'), 0)
  })
})

test('controller M6: a controller whose rights are gone is not ready, and says which', async () => {
  const watches = new Set<ServerResponse>()
  let denied = false
  const handler: Handler = ({ path, query }, response) => {
    if (denied && path.includes('multinicnodeconfigs')) return refuse(response, 403, 'Forbidden')
    if (!query.get('watch')) return json(response, 200, { metadata: { resourceVersion: '1' }, items: [] })
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    watches.add(response)
  }
  await withController(handler, async url => {
    await eventually(async () => assert.equal((await ask(`${url}/readyz`))['code'], 200))
    denied = true
    for (const watch of watches) watch.end()
    await eventually(async () => {
      const { code, missing } = await ask(`${url}/readyz`)
      assert.equal(code, 503)
      assert.match(String(missing), /^configs: not readable: /)
    })
    assert.equal((await ask(`${url}/healthz`))['crd_watcher_status'], 'stopped')
  })
})

test('a controller whose writes are refused is not ready, until one succeeds', async () => {
  let denied = true
  const config = aConfig({ name: 'w1' })
  const handler: Handler = ({ method, path, query, body }, response) => {
    const isLease = path.includes('/leases')
    if (method === 'GET' && isLease) return refuse(response, 404, 'NotFound')
    if (isLease) return json(response, 200, { ...(body as object) })
    if (method !== 'GET' && denied) return refuse(response, 403, 'Forbidden')
    if (method !== 'GET') return json(response, 200, { ...config, ...(body as object) })
    const items = path.endsWith('/multinicnodeconfigs') ? [config] : []
    if (!query.get('watch')) return json(response, 200, { metadata: { resourceVersion: '1' }, items })
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
  }
  await withController(handler, async url => {
    await eventually(async () => {
      const { code, missing } = await ask(`${url}/readyz`)
      assert.equal(code, 503)
      assert.match(String(missing), /^writes are refused: cannot write the status of w1: /)
    })
    denied = false
    await eventually(async () => assert.equal((await ask(`${url}/readyz`))['code'], 200))
  })
})

test('a controller with synced caches is healthy, and degraded while a node is Failed', async () => {
  const cluster = await startControllerCluster()
  const controller = await cluster.startController()
  const health = () => ask(`${controller.health}/healthz`)
  try {
    await eventually(async () => assert.equal((await ask(`${controller.health}/readyz`))['code'], 200))
    assert.equal((await health())['status'], 'healthy')
    assert.equal(await metricOf(controller.health, 'multinic_watches_stale'), 0)
    await eventually(async () => assert.equal(await metricOf(controller.health, 'multinic_leader'), 1))
    await cluster.addConfig('good', await cluster.addNode('good'))
    await cluster.finishPod(await cluster.endAgent('good'))
    await cluster.expectConfigured('good')
    await cluster.addConfig('bad', await cluster.addNode('bad'))
    await cluster.endAgent('bad', { verdict: 'Failed', message: 'no', interfaces: [] })
    const degraded = await eventually(async () => {
      const body = await health()
      assert.equal(body['status'], 'degraded')
      return body
    })
    assert.equal(degraded['code'], 200)
    assert.deepEqual(
      Object.keys(degraded)
        .filter(key => key !== 'code')
        .toSorted(),
      ['active_jobs', 'crd_watcher_status', 'last_crd_processed', 'processed_configs', 'status', 'uptime'],
    )
    assert.match(String(degraded['last_crd_processed']), /^\d{4}-\d\d-\d\dT/)
    assert.equal(degraded['processed_configs'], 2)
  } finally {
    await controller.stop()
    await cluster.close()
  }
})
