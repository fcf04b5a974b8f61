import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { aNodeOf, aViola, type Viola } from '../../test/support/viola.ts'
import { nodeConfigAnnotations, nodeConfigs } from '../contract/node-config.ts'
import { createLog } from '../telemetry/log.ts'

const [first, second] = [
  '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  '00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-00',
]
let biz: TargetCluster
let viola: Viola
const lines: Record<string, unknown>[] = []

before(async () => {
  biz = await startTargetCluster()
  viola = await aViola(
    { KUBECONFIG: biz.api.kubeconfig },
    createLog({}, { write: line => lines.push(JSON.parse(line)) }),
  )
})
after(async () => {
  await viola.close()
  await biz.close()
})

const existing = (name: string) => biz.kube.get(nodeConfigs, { namespace: 'multinic-system', name })
const traceOf = async (name: string) =>
  (await existing(name))?.metadata.annotations?.[nodeConfigAnnotations.traceparent]

test('without a collector the object and the log have the trace context of the caller', async () => {
  await viola.post([aNodeOf('a')], { headers: { traceparent: first } })
  assert.equal(await traceOf('a'), first)
  const created = lines.find(line => line['message'] === 'node configs created')
  assert.equal(created?.['traceId'], '0af7651916cd43dd8448eb211c80319c')
})

test('an unchanged object is not written for a new trace', async () => {
  const before = await existing('a')
  const answer = await viola.post([aNodeOf('a')], { headers: { traceparent: second } })
  assert.equal(answer.json.results[0].action, 'unchanged')
  assert.deepEqual(await existing('a'), before)
})

test('a trace changes neither the hash nor the generation of the object', async () => {
  const before = await existing('a')
  await viola.post([aNodeOf('a', 2)], { headers: { traceparent: second } })
  const [traced, generation] = [await existing('a'), (before?.metadata.generation ?? 0) + 1]
  assert.deepEqual([await traceOf('a'), traced?.metadata.generation], [second, generation])
  await viola.post([aNodeOf('b', 2, { nodeName: 'b', instanceId: 'vm-b' })])
  await viola.post([aNodeOf('b', 2, { nodeName: 'b', instanceId: 'vm-b' })], { headers: { traceparent: first } })
  assert.deepEqual([(await existing('b'))?.metadata.generation, await traceOf('b')], [1, undefined])
})

test('a change without a trace removes the previous annotation', async () => {
  await viola.post([aNodeOf('a', 1)])
  assert.equal(await traceOf('a'), undefined)
})

for (const header of ['', 'x', `${first}-y`, '00-0-0-00', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`])
  test(`an invalid traceparent is ignored: "${header.slice(0, 20)}"`, async () => {
    const name = `odd-${header.length}`
    assert.equal((await viola.post([aNodeOf(name)], { headers: { traceparent: header } })).status, 200)
    assert.equal(await traceOf(name), undefined)
  })
