/**
 * Many nodes on a real API server: two controllers, one of them killed in the middle of 200 Jobs; a change of 1,000 nodes.
 * The real parts are of test/rigs/kubernetes/rig.ts. Nodes have no kubelets: a player ends the Jobs.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Daemon } from '../../test/rigs/process.ts'
import { allAgents } from '../../test/support/agent-player.ts'
import { inputOf } from '../../test/support/controller-cluster.ts'
import { each, newConfig, readyNode, settledStatus, uuidOf } from '../../test/support/controller-scale.ts'
import { eventually } from '../../test/support/eventually.ts'
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

/** All of them are as they are wanted now. Followed, not asked for: a list of a thousand is work for the server. */
async function allSettle(where: string, count: number): Promise<void> {
  const enough = new AbortController()
  const configs = createInformer(real.kube, nodeConfigs, { namespace: where, log: silent })
  await configs.start(enough.signal)
  try {
    const settled = () => configs.list().filter(isSettled).length
    await eventually(() => assert.equal(settled(), count), { within: 4 * within, every: 200 })
  } finally {
    enough.abort()
  }
}

const patient = { timeout: 15 * 60_000 }

test('killing the leader in the middle of 200 Jobs neither repeats nor loses one', patient, async t => {
  const { kubeconfig } = await real.install(namespace)
  const env = { KUBECONFIG: kubeconfig, LEADER_ELECT: 'true' }
  for (const name of ['one', 'two']) replicas.set(name, real.startProcess(name, { ...env, POD_NAME: name }))
  await eventually(async () => assert.ok(replicas.has(await leader())), { within })

  const player = await allAgents(real.kube, namespace, { perSecond: 40 })
  const names = Array.from({ length: 200 }, (_, index) => `n${index}`)
  const making = each(names, async (name, index) => {
    await real.kube.create(nodes, readyNode(name, uuidOf(1, index)))
    await real.kube.create(nodeConfigs, newConfig(name, uuidOf(1, index), namespace))
  })
  await eventually(() => assert.ok(player.seen().length >= names.length / 2), { within })
  const killed = await leader()
  await replicas.get(killed)?.stop('SIGKILL')
  t.diagnostic(`${killed} was killed with ${player.seen().length} Jobs made`)
  await making

  await allSettle(namespace, names.length)
  const worked = player.seen().map(pod => inputOf(pod).nodeName)
  await player.stop()
  assert.deepEqual(worked.toSorted(), names.toSorted())
})

test('a change of 1,000 nodes respects the rollout limit, and a new node does not wait for it', patient, async t => {
  const wave = await real.install('wave')
  const names = Array.from({ length: 1_000 }, (_, index) => `w${index}`)
  await each(names, async (name, index) => {
    await real.kube.create(nodes, readyNode(name, uuidOf(2, index)))
    const { metadata, ...config } = newConfig(name, uuidOf(2, index), 'wave')
    const finalizers = [nodeConfigFinalizer]
    const made = await real.kube.create(nodeConfigs, { ...config, metadata: { ...metadata, finalizers } })
    await real.kube.patchStatus(nodeConfigs, { namespace: 'wave', name }, settledStatus(made))
  })
  const over = new AbortController()
  const agents = createInformer(real.kube, pods, { namespace: 'wave', log: silent })
  const open = new Set<string>()
  let most = 0
  agents.on(({ type, object }) => {
    const { name } = object.metadata
    const ended = object.status?.containerStatuses?.some(({ state }) => state?.terminated)
    if (type === 'deleted' || ended) open.delete(name)
    else if (!name.includes('newcomer')) open.add(name)
    most = Math.max(most, open.size)
  })
  await agents.start(over.signal)
  const controller = await wave.startController({ MAX_UNAVAILABLE: '50' })
  const change = (some: string[]) => each(some, name => wave.changeSpec(name, 'changed'))
  await change(names.slice(0, 60))
  await eventually(() => assert.equal(open.size, 50), { within, every: 100 })
  const player = await allAgents(real.kube, 'wave')
  try {
    await change(names.slice(60))
    await eventually(() => assert.ok(player.seen().length >= 200), { within, every: 100 })
    await real.kube.create(nodes, readyNode('newcomer', uuidOf(3, 0)))
    await real.kube.create(nodeConfigs, newConfig('newcomer', uuidOf(3, 0), 'wave'))
    await wave.expectConfigured('newcomer')
    const before = player.seen().length
    assert.ok(before < names.length, `${before} Jobs were made before the new node was Configured`)
    t.diagnostic(`the new node was Configured when ${before} Jobs had been made`)
    await allSettle('wave', names.length + 1)
    const worked = player.seen().map(pod => inputOf(pod).nodeName)
    assert.deepEqual(worked.toSorted(), [...names, 'newcomer'].toSorted(), 'each node changed once')
    assert.equal(most, 50)
  } finally {
    over.abort()
    await player.stop()
    await controller.stop()
  }
})
