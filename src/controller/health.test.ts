/**
 * What the controller says of itself over HTTP: with a cluster, and before it has seen one.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { json, serve } from '../../test/support/http-stub.ts'
import { silent } from '../telemetry/log.ts'
import { runNodeController } from './main.ts'

async function ask(url: string): Promise<Record<string, unknown>> {
  const answer = await fetch(url)
  return { code: answer.status, ...((await answer.json()) as object) }
}

test('a controller that has not seen its cluster yet answers, is unhealthy, and names what it misses', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'controller-health-'))
  const busy = await serve((_, response) => json(response, 503, { kind: 'Status', message: 'later' }))
  const kubeconfig = join(dir, 'kubeconfig')
  const contexts = [{ name: 'here', context: { cluster: 'c', user: 'u' } }]
  const clusters = [{ name: 'c', cluster: { server: busy.url } }]
  const users = [{ name: 'u', user: { token: 't' } }]
  await writeFile(kubeconfig, JSON.stringify({ 'current-context': 'here', contexts, clusters, users }))
  const stop = new AbortController()
  const listening = Promise.withResolvers<string>()
  const env = { KUBECONFIG: kubeconfig, CONTROLLER_NAMESPACE: 'multinic-system', HEALTH_ADDR: '127.0.0.1:0' }
  const ended = runNodeController({ env, log: silent, signal: stop.signal, onListening: listening.resolve })
  try {
    const url = await listening.promise
    const { code, status, crd_watcher_status: watcher } = await ask(`${url}/healthz`)
    assert.deepEqual({ code, status, watcher }, { code: 503, status: 'unhealthy', watcher: 'stopped' })
    const { code: notReady, missing } = await ask(`${url}/readyz`)
    assert.equal(notReady, 503)
    const kinds = ['configs', 'nodes', 'jobs', 'pods', 'namespaces']
    assert.deepEqual(
      missing,
      kinds.map(kind => `the ${kind} are not listed yet`),
    )
  } finally {
    stop.abort()
    await ended
    await busy.close()
    await rm(dir, { recursive: true })
  }
})

test('a controller that follows its cluster is ready and healthy, and degraded while a node has failed', async () => {
  const cluster = await startControllerCluster()
  const controller = await cluster.startController()
  const health = () => ask(`${controller.health}/healthz`)
  try {
    await eventually(async () => assert.equal((await ask(`${controller.health}/readyz`))['code'], 200))
    assert.equal((await health())['status'], 'healthy')
    await cluster.addConfig('well', await cluster.addNode('well'))
    await cluster.finishPod(await cluster.endAgent('well'))
    await cluster.expectConfigured('well')
    await cluster.addConfig('ill', await cluster.addNode('ill'))
    await cluster.endAgent('ill', { verdict: 'Failed', message: 'no', interfaces: [] })
    const told = await eventually(async () => {
      const body = await health()
      assert.equal(body['status'], 'degraded')
      return body
    })
    assert.equal(told['code'], 200)
    assert.deepEqual(
      Object.keys(told)
        .filter(key => key !== 'code')
        .toSorted(),
      ['active_jobs', 'crd_watcher_status', 'last_crd_processed', 'processed_configs', 'status', 'uptime'],
    )
    assert.match(String(told['last_crd_processed']), /^\d{4}-\d\d-\d\dT/)
    assert.equal(told['processed_configs'], 2)
  } finally {
    await controller.stop()
    await cluster.close()
  }
})
