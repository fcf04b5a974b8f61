/**
 * A repair of drift and a new agent that take their nodes off the network: they stop at the limit like a new
 * spec, also in the first generation of a config and for the next leader.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { metricOf } from '../../test/support/exposition.ts'
import { configuredNodes } from '../../test/support/lost-nodes.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { namespaces } from '../kube/resources.ts'
import { aNic } from './controller.fixture.ts'

const names = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6']
const settings = { MAX_UNAVAILABLE: '2', FAILURE_BUDGET: '5', DRIFT_POLICY: 'repair', DRIFT_INTERVAL: 'off' }
const newAgent = { ...settings, AGENT_IMAGE: 'multinic-agent:next' }
let cluster: ControllerCluster
let nodes: Awaited<ReturnType<typeof configuredNodes>>
let controller: Awaited<ReturnType<ControllerCluster['startController']>>

before(async () => {
  cluster = await startControllerCluster()
  controller = await cluster.startController(settings)
  nodes = await configuredNodes(cluster, names)
})

after(async () => {
  await controller.stop()
  await cluster.close()
})

/** Two nodes are lost, no other one starts, also with the next leader; after they are back all others follow. */
async function expectLimit(env: Record<string, string>): Promise<void> {
  const lost = await eventually(async () => {
    const started = await nodes.changing()
    assert.equal(started.length, 2)
    return started
  })
  for (const name of lost) await nodes.lose(name)
  const expectStopped = () =>
    eventually(async () => {
      assert.equal(await metricOf(controller.health, 'multinic_rollout_failed'), 2)
      assert.equal(await metricOf(controller.health, 'multinic_rollout_waiting'), names.length - 2)
    })
  await expectStopped()
  assert.deepEqual(await nodes.changing(), lost)
  await controller.stop()
  controller = await cluster.startController(env)
  await expectStopped()
  assert.deepEqual(await nodes.changing(), lost)
  for (const name of lost) await nodes.comeBack(name)
  for (let left = names.length - 2; left > 0; left--) {
    const [name = ''] = await eventually(async () => {
      const started = await nodes.changing()
      assert.equal(started.length, Math.min(2, left))
      return started
    })
    await nodes.comeBack(name)
  }
}

test('a repair of drift', async () => {
  const drifted = { verdict: 'Drifted', reason: 'Drifted', message: 'drift' } as const
  const interfaces = [aNic(0, { status: 'Failed', reason: 'LinkDown' })]
  for (const name of names) {
    const annotations = { 'multinic.io/check': 'now' }
    await cluster.kube.patch(nodeConfigs, { namespace: cluster.namespace, name }, { metadata: { annotations } })
  }
  for (let left = names.length; left > 0; left--) {
    const pod = await eventually(async () => {
      const [found] = (await cluster.waitingPods()).filter(one => inputOf(one).mode === 'check')
      assert.ok(found)
      return found
    })
    await cluster.finishPod(await cluster.endAgent(inputOf(pod).nodeName, { ...drifted, interfaces }))
  }
  await expectLimit(settings)
})

test('a new agent', async () => {
  await controller.stop()
  controller = await cluster.startController(newAgent)
  const annotations = { 'multinic.io/rollout-agent': 'monday' }
  await cluster.kube.patch(namespaces, { name: cluster.namespace }, { metadata: { annotations } })
  await expectLimit(newAgent)
})
