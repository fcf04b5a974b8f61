import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { json, refuse, serve } from '../../../test/support/http-stub.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'
import { connectKube } from '../../kube/client.ts'
import { runController } from '../../kube/controller.ts'
import { createInformer } from '../../kube/informer.ts'
import { silent } from '../../telemetry/log.ts'
import { createConfigWatch } from './config-watch.ts'

test('controller M6: an operator that cannot read the OpenstackConfigs any more is not ready', async () => {
  const watches = new Set<ServerResponse>()
  let denied = false
  const server = await serve(({ query }, response) => {
    if (denied) return refuse(response, 404, 'NotFound')
    if (!query.get('watch')) return json(response, 200, { metadata: { resourceVersion: '1' }, items: [] })
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    watches.add(response)
  })
  const kube = connectKube({ server: server.url }, { attempts: 1 })
  const stop = new AbortController()
  const watch = createConfigWatch([createInformer(kube, openstackConfigs, { log: silent })])
  try {
    assert.deepEqual(watch.missing(), ['the OpenstackConfigs are not listed yet'])
    await watch.start(stop.signal)
    assert.deepEqual(watch.missing(), [])
    denied = true
    await eventually(() => {
      for (const response of watches) response.end()
      assert.match(watch.missing().join(), /^the OpenstackConfigs are not readable: /)
    })
  } finally {
    stop.abort()
    await kube.close()
    await server.close()
  }
})

test('after a restore of the API server every object is synced from fresh reads, also one that did not change', async () => {
  const watches = new Set<ServerResponse>()
  const { apiVersion, kind } = { apiVersion: 'multinic.example.com/v1alpha1', kind: 'OpenstackConfig' }
  const metadata = { name: 'main', namespace: 'ns', uid: 'u', generation: 1, resourceVersion: '7' }
  let version = 100
  const server = await serve(({ query }, response) => {
    if (!query.get('watch')) {
      const items = [{ apiVersion, kind, metadata, spec: {} }]
      return json(response, 200, { metadata: { resourceVersion: `${version}` }, items })
    }
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    watches.add(response)
  })
  const kube = connectKube({ server: server.url }, { attempts: 1 })
  const stop = new AbortController()
  const watch = createConfigWatch([createInformer(kube, openstackConfigs, { log: silent })])
  const woken: string[] = []
  const controller = runController({
    ...{ name: 'test', workers: 1, log: silent, signal: stop.signal },
    reconcile: async key => void woken.push(`${key} ${watch.takeForced(key)}`),
  })
  try {
    await watch.start(stop.signal)
    const following = watch.follow(controller)
    await eventually(() => assert.deepEqual(woken, ['ns/main false']))
    version = 50
    const gone = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } }
    for (const response of watches) response.end(`${JSON.stringify(gone)}\n`)
    await eventually(() => assert.deepEqual(woken, ['ns/main false', 'ns/main true']))
    stop.abort()
    await following
  } finally {
    stop.abort()
    await kube.close()
    await server.close()
  }
})
