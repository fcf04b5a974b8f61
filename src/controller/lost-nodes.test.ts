/**
 * A change that takes its nodes off the network: it stops at the limit, also for the next leader, until they are back.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { metricOf } from '../../test/support/exposition.ts'
import { readyOf } from '../contract/object.ts'
import { pods } from '../kube/resources.ts'
import { isCurrent } from './plan/config-status.ts'

const names = Array.from({ length: 12 }, (_, index) => `n${index}`)
const limits = { MAX_UNAVAILABLE: '3', FAILURE_BUDGET: '5' }
const machines = new Map<string, string>()
let cluster: ControllerCluster
let controller: Awaited<ReturnType<ControllerCluster['startController']>>

before(async () => {
  cluster = await startControllerCluster()
  controller = await cluster.startController(limits)
  for (const name of names) {
    machines.set(name, await cluster.addNode(name))
    await cluster.addConfig(name, machines.get(name) ?? '')
  }
  await eventually(async () => assert.equal((await cluster.waitingPods()).length, names.length))
  for (const name of names) await cluster.finishPod(await cluster.endAgent(name))
  for (const name of names) await cluster.expectConfigured(name)
})

after(async () => {
  await controller.stop()
  await cluster.close()
})

const setReady = (name: string, ready: 'True' | 'Unknown') =>
  cluster.setNode(name, { systemUUID: machines.get(name), bootID: 'boot-1', osImage: 'Ubuntu 24.04 LTS' }, ready)
const reasonOf = async (name: string) => {
  const config = await cluster.configOf(name)
  return config && isCurrent(config) ? readyOf(config)?.reason : undefined
}
const nodesWith = async (reason: string) => {
  const reasons = await Promise.all(names.map(reasonOf))
  return names.filter((_, index) => reasons[index] === reason)
}
/** Nodes whose agent has not ended. */
const changing = async () => (await cluster.waitingPods()).map(pod => inputOf(pod).nodeName).toSorted()
const metrics = async () => ({
  failed: await metricOf(controller.health, 'multinic_rollout_failed'),
  stopped: await metricOf(controller.health, 'multinic_rollout_stopped'),
})

/** The agent of a node starts, and its node vanishes. */
async function lose(name: string): Promise<void> {
  const [pod] = (await cluster.podsOn(name)).filter(({ status }) => status?.phase !== 'Succeeded')
  assert.ok(pod, `no agent on ${name}`)
  const agent = { name: 'agent', restartCount: 0, ready: true, image: '', imageID: '', state: { running: {} } }
  const status = { phase: 'Running', containerStatuses: [agent] }
  await cluster.kube.patchStatus(pods, { namespace: cluster.namespace, name: pod.metadata.name }, status)
  await setReady(name, 'Unknown')
}

let lost: string[] = []

test('nodes that vanish in their change keep their slots: no other node changes', async () => {
  for (const name of names) await cluster.changeSpec(name, 'version-2')
  lost = await eventually(async () => {
    const started = await changing()
    assert.equal(started.length, 3)
    return started
  })
  for (const name of lost) await lose(name)
  await eventually(async () => {
    assert.deepEqual((await nodesWith('NodeUnreachable')).toSorted(), lost)
    assert.equal((await nodesWith('RolloutWaiting')).length, names.length - 3)
  })
  assert.deepEqual(await changing(), lost)
  assert.deepEqual(await metrics(), { failed: 3, stopped: 0 })
})

test('the next leader knows them', async () => {
  await controller.stop()
  controller = await cluster.startController(limits)
  await eventually(async () => assert.deepEqual(await metrics(), { failed: 3, stopped: 0 }))
  await cluster.changeSpec('n11', 'version-3')
  await eventually(async () => assert.equal(await reasonOf('n11'), 'RolloutWaiting'))
  assert.deepEqual(await changing(), lost)
})

test('a node that returns makes room for one other', async () => {
  const [first = ''] = lost
  await setReady(first, 'True')
  await cluster.finishPod(await cluster.endAgent(first))
  await cluster.expectConfigured(first)
  const next = await eventually(async () => {
    const open = (await changing()).filter(name => !lost.includes(name))
    assert.equal(open.length, 1)
    return open
  })
  for (const name of next) await lose(name)
  lost = [...lost.slice(1), ...next].toSorted()
  await eventually(async () => assert.deepEqual(await metrics(), { failed: 3, stopped: 0 }))
  assert.deepEqual(await changing(), lost)
})

test('with a smaller failure budget they stop the rollout, and it continues when all are back', async () => {
  await controller.stop()
  controller = await cluster.startController({ MAX_UNAVAILABLE: '6', FAILURE_BUDGET: '3' })
  await eventually(async () => assert.deepEqual(await metrics(), { failed: 3, stopped: 1 }))
  await eventually(async () => assert.equal((await nodesWith('RolloutStopped')).length, names.length - 4))
  assert.deepEqual(await changing(), lost)
  for (const name of lost) {
    await setReady(name, 'True')
    await cluster.finishPod(await cluster.endAgent(name))
    await cluster.expectConfigured(name)
  }
  await eventually(async () => assert.deepEqual(await metrics(), { failed: 0, stopped: 0 }))
  await eventually(async () => assert.equal((await changing()).length, 6))
})
