/**
 * Many configs deleted at once: their cleanups take slots, and wait for them as long as it takes.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { nodeConfigs } from '../contract/node-config.ts'

const names = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6']
let cluster: ControllerCluster
let controller: Awaited<ReturnType<ControllerCluster['startController']>>

before(async () => {
  cluster = await startControllerCluster()
  controller = await cluster.startController({ MAX_UNAVAILABLE: '2' })
  for (const name of names) await cluster.addConfig(name, await cluster.addNode(name))
  await eventually(async () => assert.equal((await cluster.waitingPods()).length, names.length))
  for (const name of names) await cluster.finishPod(await cluster.endAgent(name))
  for (const name of names) await cluster.expectConfigured(name)
})

after(async () => {
  await controller.stop()
  await cluster.close()
})

test('no more nodes are cleaned up at once than the limit', async () => {
  const { kube, namespace } = cluster
  await Promise.all(names.map(name => kube.delete(nodeConfigs, { namespace, name })))
  for (let left = names.length; left > 0; left--) {
    const [pod] = await eventually(async () => {
      const open = await cluster.waitingPods()
      assert.equal(open.length, Math.min(2, left))
      const { items } = await kube.list(nodeConfigs, { namespace })
      const reasons = items.map(({ status }) => status?.conditions?.find(({ type }) => type === 'Ready')?.reason)
      assert.equal(reasons.filter(reason => reason === 'RolloutWaiting').length, Math.max(0, left - 2))
      return open
    })
    assert.ok(pod)
    const { nodeName, mode } = inputOf(pod)
    assert.equal(mode, 'cleanup')
    await cluster.finishPod(await cluster.endAgent(nodeName, { verdict: 'Removed', interfaces: [] }))
    await eventually(async () => assert.equal(await cluster.configOf(nodeName), undefined))
  }
})
