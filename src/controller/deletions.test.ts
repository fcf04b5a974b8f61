/**
 * Many configs deleted at once: their cleanups wait for approval, also with the next leader, and then take slots.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { metricOf } from '../../test/support/exposition.ts'
import type { AgentReport } from '../contract/agent-report.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { readyOf } from '../contract/object.ts'
import { events, namespaces, nodes } from '../kube/resources.ts'

const names = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6']
const limits = { MAX_UNAVAILABLE: '2' }
let cluster: ControllerCluster
let controller: Awaited<ReturnType<ControllerCluster['startController']>>

before(async () => {
  cluster = await startControllerCluster()
  controller = await cluster.startController(limits)
  for (const name of names) await cluster.addConfig(name, await cluster.addNode(name))
  await eventually(async () => assert.equal((await cluster.waitingPods()).length, names.length))
  for (const name of names) await cluster.finishPod(await cluster.endAgent(name))
  for (const name of names) await cluster.expectConfigured(name)
})

after(async () => {
  await controller.stop()
  await cluster.close()
})

const removed: Partial<AgentReport> = { verdict: 'Removed', interfaces: [] }
const remove = (name: string) => cluster.kube.delete(nodeConfigs, { namespace: cluster.namespace, name })
const nodesWith = async (reason: string) => {
  const { items } = await cluster.kube.list(nodeConfigs, { namespace: cluster.namespace })
  return items.filter(config => readyOf(config)?.reason === reason).map(({ metadata }) => metadata.name)
}
const expectHeld = (onHold: string[]) =>
  eventually(async () => {
    assert.deepEqual((await nodesWith('DeletionHeld')).toSorted(), onHold)
    assert.equal(await metricOf(controller.health, 'multinic_deletions_on_hold'), onHold.length)
  })
const cleaned = async () => (await cluster.waitingPods()).map(pod => inputOf(pod).nodeName).toSorted()

test('the cleanups of configs that are deleted at once wait for approval', async () => {
  await Promise.all(names.slice(0, 5).map(remove))
  await expectHeld(names.slice(0, 5))
  assert.deepEqual(await cleaned(), [])
  const { items } = await cluster.kube.list(events, { namespace: cluster.namespace })
  const [event] = items.filter(({ reason }) => reason === 'DeletionHeld')
  assert.equal(event?.type, 'Warning')
  assert.match(event?.message ?? '', /kubectl annotate namespace multinic-system multinic\.io\/approve-deletions=/)
})

test('the next leader holds them, and one that is deleted with them', async () => {
  await controller.stop()
  controller = await cluster.startController(limits)
  await remove('n6')
  await expectHeld(names)
  assert.deepEqual(await cleaned(), [])
})

test('one that is to leave its interfaces goes', async () => {
  const annotations = { 'multinic.io/force-delete': 'true' }
  await cluster.kube.patch(nodeConfigs, { namespace: cluster.namespace, name: 'n6' }, { metadata: { annotations } })
  await eventually(async () => assert.equal(await cluster.configOf('n6'), undefined))
  await expectHeld(names.slice(0, 5))
})

test('after one annotation on the namespace they are cleaned up, no more at once than the limit', async () => {
  await cluster.approveDeletions()
  for (let left = 5; left > 0; left--) {
    const [pod] = await eventually(async () => {
      const open = await cluster.waitingPods()
      assert.equal(open.length, Math.min(2, left))
      assert.equal((await nodesWith('RolloutWaiting')).length, Math.max(0, left - 2))
      return open
    })
    assert.ok(pod)
    const { nodeName, mode } = inputOf(pod)
    assert.equal(mode, 'cleanup')
    await cluster.finishPod(await cluster.endAgent(nodeName, removed))
    await eventually(async () => assert.equal(await cluster.configOf(nodeName), undefined))
  }
  await expectHeld([])
})

test('cleanups that end as fast as a client deletes are many too', async () => {
  await cluster.kube.patch(
    namespaces,
    { name: cluster.namespace },
    { metadata: { annotations: { 'multinic.io/approve-deletions': null } } },
  )
  for (const name of names.slice(0, 3)) {
    await cluster.addConfig(name, (await machineOf(name)) ?? '')
    await cluster.finishPod(await cluster.endAgent(name))
    await cluster.expectConfigured(name)
  }
  for (const name of names.slice(0, 2)) {
    await remove(name)
    await cluster.finishPod(await cluster.endAgent(name, removed))
    await eventually(async () => assert.equal(await cluster.configOf(name), undefined))
  }
  await remove('n3')
  await expectHeld(['n3'])
  assert.deepEqual(await cleaned(), [])
})

async function machineOf(name: string): Promise<string | undefined> {
  return (await cluster.kube.get(nodes, { name }))?.status?.nodeInfo?.systemUUID
}
