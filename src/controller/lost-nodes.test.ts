/**
 * A change that takes its nodes off the network: it stops at the limit, also for the next leader, until they are back.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { metricOf } from '../../test/support/exposition.ts'
import { configuredNodes } from '../../test/support/lost-nodes.ts'
import { readyOf } from '../contract/object.ts'
import { isCurrent } from './plan/config-status.ts'

const names = Array.from({ length: 12 }, (_, index) => `n${index}`)
const limits = { MAX_UNAVAILABLE: '3', FAILURE_BUDGET: '5' }
let cluster: ControllerCluster
let nodes: Awaited<ReturnType<typeof configuredNodes>>
let controller: Awaited<ReturnType<ControllerCluster['startController']>>

before(async () => {
  cluster = await startControllerCluster()
  controller = await cluster.startController(limits)
  nodes = await configuredNodes(cluster, names)
})

after(async () => {
  await controller.stop()
  await cluster.close()
})

const reasonOf = async (name: string) => {
  const config = await cluster.configOf(name)
  return config && isCurrent(config) ? readyOf(config)?.reason : undefined
}
const nodesWith = async (reason: string) => {
  const reasons = await Promise.all(names.map(reasonOf))
  return names.filter((_, index) => reasons[index] === reason)
}
const changing = () => nodes.changing()
const metrics = async () => ({
  failed: await metricOf(controller.health, 'multinic_rollout_failed'),
  stopped: await metricOf(controller.health, 'multinic_rollout_stopped'),
})

let lost: string[] = []

test('nodes that vanish in their change keep their slots: no other node changes', async () => {
  for (const name of names) await cluster.changeSpec(name, 'version-2')
  lost = await eventually(async () => {
    const started = await changing()
    assert.equal(started.length, 3)
    return started
  })
  for (const name of lost) await nodes.lose(name)
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
  await nodes.comeBack(first)
  const next = await eventually(async () => {
    const open = (await changing()).filter(name => !lost.includes(name))
    assert.equal(open.length, 1)
    return open
  })
  for (const name of next) await nodes.lose(name)
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
  for (const name of lost) await nodes.comeBack(name)
  await eventually(async () => assert.deepEqual(await metrics(), { failed: 0, stopped: 0 }))
  await eventually(async () => assert.equal((await changing()).length, 6))
})
