/**
 * A restore of etcd on a real API server, seen through a load balancer that lets nobody in before the server is ready. Without
 * one, early refusals of the server make a client list.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControlPlane, startControlPlane } from '../../test/rigs/kubernetes/rig.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type FrozenProxy, startFrozenProxy } from '../../test/support/frozen-proxy.ts'
import { silent } from '../telemetry/log.ts'
import { connectKube, type KubeClient } from './client.ts'
import { loadKubeconfig } from './config.ts'
import { createInformer } from './informer.ts'
import { secrets } from './resources.ts'

let cp: ControlPlane
let proxy: FrozenProxy
let kube: KubeClient
let behindProxy: KubeClient

before(async () => {
  cp = await startControlPlane()
  const kubeconfig = await loadKubeconfig(cp.kubeconfig)
  kube = connectKube(kubeconfig)
  proxy = await startFrozenProxy(cp.server)
  behindProxy = connectKube(
    { ...kubeconfig, server: proxy.url.replace('http:', 'https:') },
    { requestTimeoutMs: 2_000 },
  )
})

after(async () => {
  await behindProxy?.close()
  await kube?.close()
  await proxy?.close()
  await cp?.close()
})

const add = (name: string) =>
  kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default' } })

test('an informer that kept running sees the restored objects, and that they were restored', async () => {
  const stop = new AbortController()
  const informer = createInformer(behindProxy, secrets, {
    namespace: 'default',
    log: silent,
    times: { silenceMs: 5_000, staleMs: 60_000 },
  })
  const names = () => informer.list().flatMap(({ metadata: { name } }) => (name.startsWith('of-') ? name : []))
  try {
    await informer.start(stop.signal)
    await add('of-backup')
    await cp.backUp()
    await add('of-today')
    // A server without traffic has so few versions that it soon has more than before the restore.
    await Promise.all(Array.from({ length: 500 }, (_, index) => add(`later-${index}`)))
    await eventually(() => assert.deepEqual(names().toSorted(), ['of-backup', 'of-today']), { within: 60_000 })
    assert.equal(informer.restoredAt(), undefined)
    proxy.freeze()
    await cp.restore()
    proxy.thaw()
    await eventually(() => assert.deepEqual(names(), ['of-backup']), { within: 60_000 })
    assert.ok(informer.restoredAt())
    await add('of-later')
    await eventually(() => assert.ok(names().includes('of-later')), { within: 60_000 })
  } finally {
    stop.abort()
  }
})
