import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { request } from 'undici'
import { eventually } from '../../test/support/eventually.ts'
import { startTargetCluster } from '../../test/support/target-cluster.ts'
import { aNodeOf, aViolaProgram } from '../../test/support/viola.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { type ViolaPostAnswer, violaPath } from '../contract/viola.ts'
import { silent } from '../telemetry/log.ts'
import { runViola } from './main.ts'

test('the program serves until its signal and finishes requests in progress', async () => {
  const biz = await startTargetCluster()
  const stop = new AbortController()
  const env = { KUBECONFIG: biz.api.kubeconfig, LISTEN_ADDR: '127.0.0.1:0', VIOLA_ANONYMOUS_ACCESS: 'true' }
  let running: Promise<void> = Promise.resolve()
  const url = await new Promise<string>((resolve, reject) => {
    running = runViola({ env, log: silent, signal: stop.signal, onListen: resolve })
    running.catch(reject)
  })
  const nodes = Array.from({ length: 50 }, (_, i) => aNodeOf(`n${i}`))
  const posted = request(`${url}${violaPath}`, {
    method: 'POST',
    headers: { 'x-provider-id': 'p1', 'content-type': 'application/json' },
    body: JSON.stringify(nodes),
  })
  await request(`${url}/healthz`).then(answer => answer.body.dump())
  stop.abort()
  const answer = await posted
  assert.equal(answer.statusCode, 200)
  assert.equal(((await answer.body.json()) as { applied: number }).applied, 50)
  await running
  await assert.rejects(request(`${url}/healthz`))
  await biz.close()
})

test('a POST that is repeated after kill -9 reaches the same state', async () => {
  const biz = await startTargetCluster()
  const nodes = Array.from({ length: 300 }, (_, i) => aNodeOf(`n${i}`, 2))
  const env = { KUBECONFIG: biz.api.kubeconfig, LISTEN_ADDR: '127.0.0.1:0', VIOLA_ANONYMOUS_ACCESS: 'true' }
  const started = () => aViolaProgram(env)
  const post = (url: string) =>
    request(`${url}${violaPath}`, {
      method: 'POST',
      headers: { 'x-provider-id': 'p1', 'content-type': 'application/json' },
      body: JSON.stringify(nodes),
    })
  const count = async () => (await biz.kube.list(nodeConfigs)).items.length
  try {
    const first = await started()
    const interrupted = post(first.url).catch(() => {})
    await eventually(async () => assert.ok((await count()) > 20), { every: 2 })
    first.child.kill('SIGKILL')
    await interrupted
    const midway = await count()
    assert.ok(midway < 300, `${midway}`)

    const second = await started()
    const answer = (await (await post(second.url)).body.json()) as ViolaPostAnswer
    assert.equal(answer.applied, 300)
    assert.equal(answer.results.filter(({ action }) => action === 'unchanged').length, midway)
    assert.equal(await count(), 300)
    const ended = once(second.child, 'close')
    second.child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
  } finally {
    await biz.close()
  }
})

test('all invalid settings are reported together', async () => {
  const env = { KUBE_TIMEOUT: 'soon', VIOLA_PARALLEL: '0' }
  const run = runViola({ env, log: silent, signal: AbortSignal.abort() })
  await assert.rejects(run, /KUBE_TIMEOUT: "soon" is not a positive duration[\s\S]*VIOLA_PARALLEL/)
})
