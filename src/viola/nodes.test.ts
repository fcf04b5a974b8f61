/** The Nodes of a cluster over the Viola API: list, watch, and what happens without the right to read them. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { request } from 'undici'
import { eventually } from '../../test/support/eventually.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { aViola, type Viola } from '../../test/support/viola.ts'
import { violaNodesAnswer, violaNodesPath } from '../contract/viola.ts'
import { nodes } from '../kube/resources.ts'

let biz: TargetCluster
let viola: Viola

before(async () => {
  biz = await startTargetCluster()
  viola = await aViola({ KUBECONFIG: biz.api.kubeconfig })
})
after(async () => {
  await viola.close()
  await biz.close()
})
afterEach(async () => {
  for (const { metadata } of (await biz.kube.list(nodes)).items) await biz.kube.delete(nodes, { name: metadata.name })
})

async function join(name: string, systemUUID: string): Promise<void> {
  await biz.kube.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name } })
  await biz.kube.patchStatus(nodes, { name }, { nodeInfo: { systemUUID } })
}

const list = (from = viola, headers: Record<string, string> = {}) => from.ask('GET', violaNodesPath, { headers })
const namesIn = (body: unknown) => violaNodesAnswer.parse(body).items.map(({ name, systemUUID }) => [name, systemUUID])

test('the list has every Node with its machine, and is a 304 until a machine changes', async () => {
  const [first, second] = [randomUUID(), randomUUID()]
  await join('worker-2', second)
  await join('worker-1', first.toUpperCase())
  await join('worker-3', 'Not Settable')
  const expected = [
    ['worker-1', first.toUpperCase()],
    ['worker-2', second],
    ['worker-3', 'Not Settable'],
  ]
  await eventually(async () => assert.deepEqual(namesIn((await list()).json), expected))
  const known = { 'if-none-match': String((await list()).headers['etag']) }
  assert.equal((await list(viola, known)).status, 304)
  // As a kubelet does every few minutes.
  await biz.kube.patchStatus(nodes, { name: 'worker-2' }, { conditions: [{ type: 'Ready', status: 'True' }] })
  await biz.kube.delete(nodes, { name: 'worker-3' })
  await eventually(async () => assert.deepEqual(namesIn((await list()).json), expected.slice(0, 2)))
  assert.equal((await list(viola, known)).status, 200)
})

test('a watch sends the version now and after each change of a machine, and ends when the server stops', async () => {
  const other = await aViola({ KUBECONFIG: biz.api.kubeconfig })
  const url = await other.app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { 'x-provider-id': 'p1', accept: 'text/event-stream' }
  const { body, statusCode } = await request(`${url}${violaNodesPath}`, { headers })
  assert.equal(statusCode, 200)
  let received = ''
  const ended = (async () => {
    for await (const piece of body) received += piece
  })()
  const versions = () =>
    [...received.matchAll(/event: version\ndata: (.*)\n\n/g)].map(([, data]) => JSON.parse(data ?? '').resourceVersion)
  await eventually(() => assert.equal(versions().length, 1))
  await join('worker-1', randomUUID())
  await eventually(async () => assert.equal(versions().at(-1), (await list(other)).json.resourceVersion))
  const before = versions().length
  await biz.kube.patchStatus(nodes, { name: 'worker-1' }, { conditions: [{ type: 'Ready', status: 'True' }] })
  await biz.kube.delete(nodes, { name: 'worker-1' })
  await eventually(() => assert.equal(versions().length, before + 1))
  // Without Nodes it is the version of the beginning, which does not depend on the replica.
  assert.equal(versions().at(-1), versions()[0])
  await other.close()
  await ended
})

test('an unknown provider is a 404, and a caller without a token a 401', async () => {
  const strict = await aViola({ KUBECONFIG: biz.api.kubeconfig, VIOLA_ANONYMOUS_ACCESS: 'false' })
  try {
    assert.equal((await list(strict)).status, 401)
    assert.equal((await strict.ask('GET', `${violaNodesPath}?watch=true`)).status, 401)
    assert.equal((await viola.ask('GET', violaNodesPath, { provider: '' })).status, 400)
    assert.equal((await viola.ask('POST', violaNodesPath)).status, 405)
  } finally {
    await strict.close()
  }
})
