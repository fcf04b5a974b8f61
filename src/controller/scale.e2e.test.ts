/**
 * Many nodes on a real API server: two controllers, one of them killed in the middle of 200 Jobs; a change of 1,000 nodes.
 * The servers come from test/rigs/kubernetes/rig.ts. Nodes have no kubelets: fake agents end the Jobs.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Daemon } from '../../test/rigs/process.ts'
import { inputOf } from '../../test/support/controller-cluster.ts'
import { configuredStatus, forEachParallel, newConfig, readyNode, uuidOf } from '../../test/support/controller-scale.ts'
import { eventually } from '../../test/support/eventually.ts'
import { startFakeAgents } from '../../test/support/fake-agents.ts'
import { type RealController, startRealController } from '../../test/support/real-controller.ts'
import { nodeConfigFinalizer, nodeConfigs } from '../contract/node-config.ts'
import { createInformer } from '../kube/informer.ts'
import { leases, nodes, pods } from '../kube/resources.ts'
import { silent } from '../telemetry/log.ts'
import { isSettled } from './plan/config-status.ts'

const within = 120_000
const namespace = 'multinic-system'
let real: RealController
const replicas = new Map<string, Daemon>()

before(async () => {
  real = await startRealController()
})

after(async () => {
  for (const replica of replicas.values()) await replica.stop('SIGKILL')
  await real?.close()
})

async function leader(): Promise<string> {
  const lease = await real.kube.get(leases, { namespace, name: 'multinic-controller' })
  return (lease?.spec?.holderIdentity ?? '').split('_')[0] ?? ''
}

/** Waits until all configs are settled, with a watch: lists of a thousand objects would load the server. */
async function waitUntilSettled(where: string, count: number): Promise<void> {
  const done = new AbortController()
  const configs = createInformer(real.kube, nodeConfigs, { namespace: where, log: silent })
  await configs.start(done.signal)
  try {
    const settledCount = () => configs.list().filter(isSettled).length
    await eventually(() => assert.equal(settledCount(), count), { within: 4 * within, every: 200 })
  } finally {
    done.abort()
  }
}

const longTimeout = { timeout: 15 * 60_000 }

test('killing the leader in the middle of 200 Jobs neither repeats nor loses one', longTimeout, async t => {
  const { kubeconfig } = await real.install(namespace)
  const env = { KUBECONFIG: kubeconfig, LEADER_ELECT: 'true' }
  for (const name of ['one', 'two']) replicas.set(name, real.startProcess(name, { ...env, POD_NAME: name }))
  await eventually(async () => assert.ok(replicas.has(await leader())), { within })

  const fakeAgents = await startFakeAgents(real.kube, namespace, { perSecond: 40 })
  const names = Array.from({ length: 200 }, (_, index) => `n${index}`)
  const creating = forEachParallel(names, async (name, index) => {
    await real.kube.create(nodes, readyNode(name, uuidOf(1, index)))
    await real.kube.create(nodeConfigs, newConfig(name, uuidOf(1, index), namespace))
  })
  await eventually(() => assert.ok(fakeAgents.seen().length >= names.length / 2), { within })
  const killed = await leader()
  await replicas.get(killed)?.stop('SIGKILL')
  t.diagnostic(`killed ${killed} after ${fakeAgents.seen().length} Jobs`)
  await creating

  await waitUntilSettled(namespace, names.length)
  const configured = fakeAgents.seen().map(pod => inputOf(pod).nodeName)
  await fakeAgents.stop()
  assert.deepEqual(configured.toSorted(), names.toSorted())
})

test(
  'a change of 1,000 nodes respects the rollout limit, and a new node does not wait for it',
  longTimeout,
  async t => {
    const harness = await real.install('rollout')
    const names = Array.from({ length: 1_000 }, (_, index) => `w${index}`)
    await forEachParallel(names, async (name, index) => {
      await real.kube.create(nodes, readyNode(name, uuidOf(2, index)))
      const { metadata, ...config } = newConfig(name, uuidOf(2, index), 'rollout')
      const finalizers = [nodeConfigFinalizer]
      const created = await real.kube.create(nodeConfigs, { ...config, metadata: { ...metadata, finalizers } })
      await real.kube.patchStatus(nodeConfigs, { namespace: 'rollout', name }, configuredStatus(created))
    })
    const stop = new AbortController()
    const agents = createInformer(real.kube, pods, { namespace: 'rollout', log: silent })
    const running = new Set<string>()
    let maxRunning = 0
    agents.on(({ type, object }) => {
      const { name } = object.metadata
      const ended = object.status?.containerStatuses?.some(({ state }) => state?.terminated)
      if (type === 'deleted' || ended) running.delete(name)
      else if (!name.includes('newcomer')) running.add(name)
      maxRunning = Math.max(maxRunning, running.size)
    })
    await agents.start(stop.signal)
    const controller = await harness.startController({ MAX_UNAVAILABLE: '50' })
    const change = (some: string[]) => forEachParallel(some, name => harness.changeSpec(name, 'changed'))
    await change(names.slice(0, 60))
    await eventually(() => assert.equal(running.size, 50), { within, every: 100 })
    const fakeAgents = await startFakeAgents(real.kube, 'rollout')
    try {
      await change(names.slice(60))
      await eventually(() => assert.ok(fakeAgents.seen().length >= 200), { within, every: 100 })
      await real.kube.create(nodes, readyNode('newcomer', uuidOf(3, 0)))
      await real.kube.create(nodeConfigs, newConfig('newcomer', uuidOf(3, 0), 'rollout'))
      await harness.expectConfigured('newcomer')
      const before = fakeAgents.seen().length
      assert.ok(before < names.length, `${before} Jobs were created before the new node was Configured`)
      t.diagnostic(`the new node was Configured after ${before} Jobs`)
      await waitUntilSettled('rollout', names.length + 1)
      const configured = fakeAgents.seen().map(pod => inputOf(pod).nodeName)
      assert.deepEqual(configured.toSorted(), [...names, 'newcomer'].toSorted(), 'each node changed once')
      assert.equal(maxRunning, 50)
    } finally {
      stop.abort()
      await fakeAgents.stop()
      await controller.stop()
    }
  },
)
