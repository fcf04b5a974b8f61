/**
 * A change of many nodes over HTTP: the limit, the order, the failure budget, and what does not wait for it.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { metricOf } from '../../test/support/exposition.ts'
import { nodeConfigs } from '../contract/node-config.ts'

const names = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6']
let cluster: ControllerCluster
let controller: Awaited<ReturnType<ControllerCluster['startController']>>
let version = 0

before(async () => {
  cluster = await startControllerCluster()
  controller = await cluster.startController({ MAX_UNAVAILABLE: '2', FAILURE_BUDGET: '2' })
  for (const name of names) await cluster.addConfig(name, await cluster.addNode(name))
  await eventually(async () => assert.equal((await cluster.waitingPods()).length, names.length))
  for (const name of names) await cluster.finishPod(await cluster.endAgent(name))
  for (const name of names) await cluster.expectConfigured(name)
})

after(async () => {
  await controller.stop()
  await cluster.close()
})

beforeEach(async () => {
  version++
  for (const name of names) await cluster.changeSpec(name, `version-${version}`)
})

const reasons = async () => {
  const { items } = await cluster.kube.list(nodeConfigs, { namespace: cluster.namespace })
  const current = items.filter(({ metadata }) => names.includes(metadata.name))
  return current.map(({ metadata, status }) =>
    status?.observedGeneration === metadata.generation
      ? status?.conditions?.find(({ type }) => type === 'Ready')?.reason
      : undefined,
  )
}
const count = async (reason: string) => (await reasons()).filter(one => one === reason).length

async function rolloutMetrics() {
  const value = (name: string) => metricOf(controller.health, `multinic_rollout_${name}`)
  return { failed: await value('failed'), stopped: await value('stopped') }
}

test('no more nodes than the limit change at the same time, in the order of their changes', async () => {
  const done: string[] = []
  const started = new Set<string>()
  while (done.length < names.length) {
    const waiting = await eventually(async () => {
      const open = await cluster.waitingPods()
      const left = names.length - done.length
      assert.equal(open.length, Math.min(2, left))
      assert.equal(await count('RolloutWaiting'), Math.max(0, left - 2))
      return open
    })
    for (const one of waiting) started.add(inputOf(one).nodeName)
    const [pod] = waiting
    const node = pod ? inputOf(pod).nodeName : ''
    await cluster.finishPod(await cluster.endAgent(node))
    await cluster.expectConfigured(node)
    done.push(node)
  }
  assert.deepEqual([...started], names)
})

test('a new node does not wait for the rollout', async () => {
  await eventually(async () => assert.equal(await count('RolloutWaiting'), 4))
  await cluster.addConfig('new', await cluster.addNode('new'))
  await cluster.finishPod(await cluster.endAgent('new'))
  await cluster.expectConfigured('new')
  for (const _ of names) {
    const [pod] = await eventually(async () => {
      const open = await cluster.waitingPods()
      assert.ok(open.length > 0)
      return open
    })
    if (pod) await cluster.finishPod(await cluster.endAgent(inputOf(pod).nodeName))
  }
  for (const name of names) await cluster.expectConfigured(name)
})

test('a rollout stops when its failure budget is used up, and resumes when the nodes recover', async () => {
  const waitingNodes = async () => (await cluster.waitingPods()).map(pod => inputOf(pod).nodeName)
  const failing = await eventually(async () => {
    const open = await waitingNodes()
    assert.equal(open.length, 2)
    return open
  })
  const others = async () => (await waitingNodes()).filter(node => !failing.includes(node))
  /** Their retries fail too. */
  const failAgain = async () => {
    for (const node of (await waitingNodes()).filter(one => failing.includes(one)))
      await cluster.finishPod(await cluster.endAgent(node, { verdict: 'Failed', message: 'no', interfaces: [] }))
  }
  // The slot of the first node was free before the second one failed.
  await eventually(async () => {
    await failAgain()
    const changing = (await others()).length
    assert.ok(changing <= 1, `${changing} are changing`)
    assert.equal(await count('RolloutStopped'), 4 - changing)
    assert.equal(await count('ApplyFailed'), 2)
  })
  for (const node of await others()) await cluster.finishPod(await cluster.endAgent(node))
  await eventually(async () => assert.ok((await count('RolloutStopped')) >= 3))
  assert.deepEqual(await rolloutMetrics(), { failed: 2, stopped: 1 })

  const key = (name: string) => ({ namespace: cluster.namespace, name })
  const retry = (node: string) =>
    cluster.kube.patch(nodeConfigs, key(node), { metadata: { annotations: { 'multinic.io/retry': 'now' } } })
  for (const node of failing) await retry(node)
  await eventually(async () => assert.equal(await count('Applying'), 2))
  assert.deepEqual(await rolloutMetrics(), { failed: 2, stopped: 1 }, 'a retry in progress is not a recovery')
  assert.deepEqual(await others(), [])

  for (const node of failing) {
    await cluster.endAgent(node)
    await cluster.expectConfigured(node)
  }
  await eventually(async () => assert.equal((await cluster.waitingPods()).length, 2))
  assert.deepEqual(await rolloutMetrics(), { failed: 0, stopped: 0 })
})
