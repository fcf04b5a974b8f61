/** The stream of node configs: all of them first, or only their version, then every change. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { eventually } from '../../test/support/eventually.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { aNodeOf, aViola, type Viola } from '../../test/support/viola.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { violaNode, violaPath } from '../contract/viola.ts'

const namespace = 'multinic-system'
const provider = 'watched-provider'
let biz: TargetCluster
let viola: Viola
let url: string

before(async () => {
  biz = await startTargetCluster()
  viola = await aViola({ KUBECONFIG: biz.api.kubeconfig, VIOLA_PROVIDER_NAME: 'Seoul 1' })
  url = await viola.app.listen({ port: 0, host: '127.0.0.1' })
  await viola.post([aNodeOf('streamed')], { provider })
  await viola.post([aNodeOf('unwatched')])
})
after(async () => {
  await viola.close()
  await biz.close()
})

const report = (name: string, state: 'Configured' | 'Failed') =>
  biz.kube.patchStatus(nodeConfigs, { namespace, name }, { state })

async function watch(query = '') {
  const headers = { 'x-provider-id': provider, accept: 'text/event-stream' }
  const { body, statusCode } = await request(`${url}${violaPath}${query}`, { headers })
  assert.equal(statusCode, 200)
  let received = ''
  const ended = (async () => {
    for await (const piece of body) received += piece
  })()
  const events = () =>
    [...received.matchAll(/event: (\w+)\ndata: (.*)\n\n/g)].map(([, event, text]) => {
      const data = JSON.parse(text ?? '')
      if (event === 'synced') return `${event} ${data.resourceVersion}`
      const node = violaNode.parse(data)
      return `${event} ${node.nodeName} ${node.status?.state ?? ''}`.trim()
    })
  return { events, ended, received: () => received }
}

test('with since, a watch starts with the version of the list, and then sends only changes', async () => {
  const version = async () => (await viola.list('', { provider })).json.resourceVersion
  const before = await version()
  for (const query of ['?since=', `?since=${before}`, '?since=other&nodeName=streamed']) {
    const { events } = await watch(query)
    await eventually(() => assert.deepEqual(events(), [`synced ${before}`]))
  }
  const { events } = await watch('?since=')
  await report('unwatched', 'Configured')
  await viola.post([aNodeOf('new')], { provider })
  await eventually(() => assert.deepEqual(events(), [`synced ${before}`, 'added new']))
  await viola.remove('new', { provider })
  await eventually(() => assert.equal(events().at(-1), 'deleted new'))
  assert.equal(await version(), before)
})

test('a watch sends existing node configs and every change, and ends when the server stops', async () => {
  const { events, ended, received } = await watch()
  await eventually(() => assert.deepEqual(events(), ['added streamed']))
  assert.match(received(), /"providerName":"Seoul 1"/)
  await report('streamed', 'Configured')
  await eventually(() => assert.deepEqual(events(), ['added streamed', 'updated streamed Configured']))
  await viola.remove('streamed', { provider })
  await eventually(() => assert.equal(events().at(-1), 'deleted streamed Configured'))
  await viola.close()
  await ended
})
