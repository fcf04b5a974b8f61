import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { json, refuse, serve } from '../../test/support/http-stub.ts'
import { openstackConfigs } from '../contract/openstack-config.ts'
import { connectKube } from '../kube/client.ts'
import { createInformer } from '../kube/informer.ts'
import { silent } from '../telemetry/log.ts'
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
