/**
 * A new agent for settled nodes, over HTTP: never by an upgrade of the controller, in waves on request, and stopped by nodes
 * that fail.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { readyOf } from '../contract/object.ts'
import { namespaces, nodes } from '../kube/resources.ts'

const names = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6']
const limits = { MAX_UNAVAILABLE: '2', FAILURE_BUDGET: '2' }
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

async function restartWith(env: Record<string, string>): Promise<void> {
  await controller.stop()
  controller = await cluster.startController({ ...limits, ...env })
}

const ask = (request: string | null) =>
  cluster.kube.patch(
    namespaces,
    { name: cluster.namespace },
    { metadata: { annotations: { 'multinic.io/rollout-agent': request } } },
  )
const configs = async () => (await cluster.kube.list(nodeConfigs, { namespace: cluster.namespace })).items
const states = async () => (await configs()).map(({ status }) => status?.agentRollout?.state ?? 'none')
const count = async (state: string) => (await states()).filter(one => one === state).length
const waitingNodes = async () => (await cluster.waitingPods()).map(pod => inputOf(pod).nodeName)
const notReady = async () => (await configs()).filter(config => readyOf(config)?.status !== 'True').length

async function finishAll(): Promise<string[]> {
  const order: string[] = []
  while ((await count('Updated')) < names.length) {
    const open = await eventually(async () => {
      const nodes = await waitingNodes()
      assert.ok(nodes.length > 0 || (await count('Updated')) === names.length)
      return nodes
    })
    assert.ok(open.length <= 2, `${open} change at the same time`)
    for (const node of open.slice(0, 1)) {
      await cluster.finishPod(await cluster.endAgent(node))
      await cluster.expectConfigured(node)
      order.push(node)
    }
  }
  return order
}

/** A whole run on another node: meanwhile the controller has seen every config. */
async function expectNoJobs(): Promise<void> {
  await cluster.addConfig('marker', await cluster.addNode('marker'))
  await cluster.finishPod(await cluster.endAgent('marker'))
  await cluster.expectConfigured('marker')
  assert.deepEqual(await waitingNodes(), [])
  assert.equal(await notReady(), 0)
  await cluster.kube.delete(nodeConfigs, { namespace: cluster.namespace, name: 'marker' })
  await cluster.finishPod(await cluster.endAgent('marker', { verdict: 'Removed', interfaces: [] }))
  await eventually(async () => assert.equal((await configs()).length, names.length))
  await cluster.kube.delete(nodes, { name: 'marker' })
}

test('a controller with another agent leaves settled nodes alone', async () => {
  await restartWith({ AGENT_IMAGE: 'multinic-agent:2' })
  await expectNoJobs()
})

test('on request the nodes follow in waves, and those that wait stay Ready', async () => {
  await ask('first')
  await eventually(async () => assert.deepEqual([(await waitingNodes()).length, await count('Waiting')], [2, 4]))
  const waiting = (await configs()).filter(({ status }) => status?.agentRollout?.state === 'Waiting')
  for (const config of waiting) {
    assert.equal(readyOf(config)?.status, 'True')
    assert.match(config.status?.agentRollout?.message ?? '', /other nodes are changing, at most 2 at a time/)
  }
  assert.deepEqual((await finishAll()).toSorted(), names)
  assert.equal(await notReady(), 0)
})

test('a request is followed once: the next agent waits for the next request, and a restart changes nothing', async () => {
  await restartWith({ AGENT_IMAGE: 'multinic-agent:3' })
  await expectNoJobs()
  assert.equal(await count('Updated'), names.length)
})

test('nodes that the current agent configured need no run', async () => {
  await restartWith({ AGENT_IMAGE: 'multinic-agent:2' })
  await ask('again')
  await eventually(async () => {
    const requests = (await configs()).map(({ status }) => status?.agentRollout?.request)
    assert.deepEqual(new Set(requests), new Set(['again']))
  })
  assert.equal(await count('Updated'), names.length)
  assert.deepEqual(await waitingNodes(), [])
})

test('nodes that fail with the new agent stop the rollout, and the others keep the agent that they have', async () => {
  await restartWith({ AGENT_IMAGE: 'multinic-agent:bad' })
  await ask('bad')
  const failing = await eventually(async () => {
    const open = await waitingNodes()
    assert.equal(open.length, 2)
    return open
  })
  const fail = async (node: string) =>
    cluster.finishPod(await cluster.endAgent(node, { verdict: 'Failed', message: 'no', interfaces: [] }))
  for (const node of failing) await fail(node)
  // One slot was free before the second node failed.
  const third = await eventually(async () => {
    const open = (await waitingNodes()).filter(node => !failing.includes(node))
    const reasons = (await configs()).map(({ status }) => status?.agentRollout?.reason)
    const stopped = reasons.filter(reason => reason === 'RolloutStopped').length
    assert.ok(stopped >= names.length - 3, `${stopped} say that the rollout stopped`)
    return open
  })
  assert.ok(third.length <= 1, `${third} are changing`)
  const untouched = (await configs()).filter(({ metadata: { name } }) => ![...failing, ...third].includes(name))
  for (const config of untouched) assert.equal(readyOf(config)?.status, 'True')

  await ask(null)
  await eventually(async () => assert.ok((await count('Waiting')) <= third.length, 'nobody waits any more'))
})
