/**
 * Labels and the taint of Nodes on a real API server, with the admission policy for NODE_LABELS: what the controller changes
 * beside other writers, and what somebody with its token cannot.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { permissionOf, root } from '../../../test/support/audited-cluster.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { type RealController, startRealController } from '../../../test/support/real-controller.ts'
import { connectKube, type KubeClient } from '../../kube/client.ts'
import { loadKubeconfig } from '../../kube/config.ts'
import { isNotFound } from '../../kube/errors.ts'
import { nodes } from '../../kube/resources.ts'
import { taintRemoval } from './node-labels.ts'

const notReady = { key: 'multinic.io/not-ready', effect: 'NoSchedule' }
const foreign = { key: 'example.com/foreign', effect: 'NoSchedule', value: 'x' }

let real: RealController
let harness: Awaited<ReturnType<RealController['install']>>
/** With the token of the controller. */
let kube: KubeClient

before(async () => {
  real = await startRealController({ options: ['controller_node_labels.yaml'] })
  harness = await real.install('multinic-system')
  await harness.addNode('attacked')
  const labels = { 'network.multinic.io/old': 'ready', zone: 'z' }
  const annotations = { here: 'x' }
  await real.kube.patch(
    nodes,
    { name: 'attacked' },
    { metadata: { labels, annotations }, spec: { taints: [notReady, foreign] } },
  )
  await real.cp.exec('kubectl', ['apply', '-f', join(root, 'config/admission/node-labels.yaml')])
  kube = connectKube(await loadKubeconfig(harness.kubeconfig))
  // The API server compiles a new policy in the background.
  await eventually(async () => assert.notEqual(await tryPatch({ metadata: { labels: { x: 'y' } } }), ''), {
    within: 60_000,
    every: 250,
  })
})

after(async () => {
  await kube?.close()
  await real?.close()
})

/** The refusal of the API server, or an empty text. */
async function tryPatch(change: object): Promise<string> {
  try {
    await kube.patch(nodes, { name: 'attacked' }, change, { dryRun: true })
    return ''
  } catch (error) {
    return String(error)
  }
}

const denied: Record<string, object> = {
  'a label': { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } },
  'the value of a label': { metadata: { labels: { zone: 'y' } } },
  'a label away': { metadata: { labels: { zone: null } } },
  'another value of its own labels': { metadata: { labels: { 'network.multinic.io/old': 'x' } } },
  'a label with a similar prefix': { metadata: { labels: { 'network.multinic.io.example.com/x': 'ready' } } },
  'an annotation': { metadata: { annotations: { x: 'y' } } },
  'a finalizer': { metadata: { finalizers: ['example.com/x'] } },
  'an owner': { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' }] } },
  'whether Pods may be scheduled': { spec: { unschedulable: true } },
  'the ID of its provider': { spec: { providerID: 'x' } },
  'the networks of its Pods': { spec: { podCIDR: '10.9.0.0/24', podCIDRs: ['10.9.0.0/24'] } },
  'taints of others': { spec: { taints: [notReady] } },
  'taints of others together with its own': { spec: { taints: [] } },
  'a new taint': { spec: { taints: [notReady, foreign, { key: 'x', effect: 'NoExecute' }] } },
  'a taint in place of its own': { spec: { taints: [{ key: 'x', effect: 'NoExecute' }, foreign] } },
}
for (const [name, change] of Object.entries(denied))
  test(`the token of a controller with NODE_LABELS cannot change of a Node: ${name}`, async () => {
    assert.match(await tryPatch(change), /the controller may only change labels network.multinic.io\/… of a Node/)
  })

test('the token of a controller with NODE_LABELS can change its labels and remove its taint', async () => {
  const labels = { 'network.multinic.io/old': null, 'network.multinic.io/new': 'ready' }
  assert.equal(await tryPatch({ metadata: { labels } }), '')
  assert.equal(await tryPatch({ spec: { taints: [foreign] } }), '')
})

test('a taint that another controller moved meanwhile stays, and no other taint is removed', async () => {
  const seen = await real.kube.get(nodes, { name: 'attacked' })
  assert.ok(seen)
  const removal = taintRemoval(seen) ?? []
  await real.kube.patch(nodes, { name: 'attacked' }, { spec: { taints: [foreign, notReady] } })
  await assert.rejects(kube.patch(nodes, { name: 'attacked' }, removal), { status: 422 })
  const taints = async () => (await real.kube.get(nodes, { name: 'attacked' }))?.spec?.taints?.map(({ key }) => key)
  assert.deepEqual(await taints(), ['example.com/foreign', 'multinic.io/not-ready'])
  const again = await real.kube.get(nodes, { name: 'attacked' })
  assert.ok(again)
  await kube.patch(nodes, { name: 'attacked' }, taintRemoval(again) ?? [])
  assert.deepEqual(await taints(), ['example.com/foreign'])
})

test('labels for a Node do not reach a younger Node of the same name', async () => {
  await harness.addNode('renewed')
  const seen = await real.kube.get(nodes, { name: 'renewed' })
  await real.kube.delete(nodes, { name: 'renewed' })
  await harness.addNode('renewed')
  const change = { metadata: { uid: seen?.metadata.uid, labels: { 'network.multinic.io/x': 'ready' } } }
  await assert.rejects(kube.patch(nodes, { name: 'renewed' }, change), error => !isNotFound(error))
})

test('a Node that is up to date gets no request, also from a new controller', async () => {
  const patchesOf = async (node: string) =>
    (await real.requestsOf(harness.namespace)).filter(one => permissionOf(one) === 'patch nodes' && one.name === node)
  const labelled = async (name: string) => {
    await harness.addConfig(name, await harness.addNode(name), { aliases: ['storage'] })
    await harness.finishPod(await harness.endAgent(name))
    await eventually(async () => {
      const { labels } = (await real.kube.get(nodes, { name }))?.metadata ?? {}
      assert.equal(labels?.['network.multinic.io/storage'], 'ready')
    }, harness.waits)
  }
  for (const name of ['quiet-1', 'quiet-2']) {
    const controller = await harness.startController({ NODE_LABELS: 'true' })
    await labelled(name)
    await controller.stop()
    // The server writes its audit log after the answer.
    await eventually(async () => assert.ok((await patchesOf(name)).length > 0), harness.waits)
  }
  for (const name of ['quiet-1', 'quiet-2']) assert.equal((await patchesOf(name)).length, 1, name)
})

test('a controller labels a Node and removes the taint while another writer changes both', async () => {
  const controller = await harness.startController({ NODE_LABELS: 'true' })
  try {
    const instanceId = await harness.addNode('busy')
    await real.kube.patch(nodes, { name: 'busy' }, { spec: { taints: [notReady] } })
    await harness.addConfig('busy', instanceId, { aliases: ['storage'] })
    await harness.finishPod(await harness.endAgent('busy'))
    for (let round = 0; round < 20; round++) {
      const taint = { ...foreign, value: String(round) }
      const own = (await real.kube.get(nodes, { name: 'busy' }))?.spec?.taints?.filter(
        ({ key }) => key === notReady.key,
      )
      const taints = round % 2 ? [taint, ...(own ?? [])] : [...(own ?? []), taint]
      const change = { metadata: { labels: { round: String(round) } }, spec: { taints } }
      await real.kube.patch(nodes, { name: 'busy' }, change)
    }
    await eventually(async () => {
      const { metadata, spec } = (await real.kube.get(nodes, { name: 'busy' })) ?? {}
      assert.equal(metadata?.labels?.['network.multinic.io/storage'], 'ready')
      assert.equal(metadata?.labels?.['round'], '19')
      assert.deepEqual(spec?.taints, [{ ...foreign, value: '19' }])
    }, harness.waits)
  } finally {
    await controller.stop()
  }
})
