/**
 * Which config may change its node now, from what the caches show: slots, queue, failure budget, limit of checks.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { NodeConfig } from '../contract/node-config.ts'
import type { Kube } from '../kube/api.ts'
import type { JobObject, KubeObject, NodeObject, PodObject } from '../kube/types.ts'
import { silent } from '../telemetry/log.ts'
import { createCaches } from './caches.ts'
import { controllerConfig } from './config.ts'
import { aConfig, aNode, start } from './controller.fixture.ts'
import { agentJob } from './job.ts'
import { createLatestState } from './latest-state.ts'
import { requestedOf } from './plan/requested.ts'
import { amountOf, createRollout, type RolloutLimits } from './rollout.ts'

const { agent } = controllerConfig({ AGENT_IMAGE: 'multinic-agent:dev' })
const key = (name: string) => `multinic-system/${name}`

interface Cluster {
  nodes?: readonly NodeObject[]
  configs?: readonly NodeConfig[]
  jobs?: readonly JobObject[]
  pods?: readonly PodObject[]
}

async function rolloutIn(cluster: Cluster, limits: Partial<RolloutLimits> = {}) {
  const objects: Record<string, readonly KubeObject[] | undefined> = {
    ...{ nodes: cluster.nodes ?? [machineOf('w1')], multinicnodeconfigs: cluster.configs },
    ...{ jobs: cluster.jobs, pods: cluster.pods },
  }
  const kube = {
    list: async ({ plural }: { plural: string }) => ({ items: objects[plural] ?? [], resourceVersion: '1' }),
    async *watch(_: unknown, { signal }: { signal: AbortSignal }) {
      await once(signal, 'abort')
      yield* []
    },
  } as unknown as Pick<Kube, 'list' | 'watch'>
  const caches = createCaches(kube, 'multinic-system', silent)
  const stop = new AbortController()
  await Promise.all(Object.values(caches).map(cache => cache.start(stop.signal)))
  stop.abort()
  const latest = createLatestState(caches)
  const defaults = { maxUnavailable: { count: 1 }, failureBudget: { count: 1 }, maxChecks: 10 }
  return { latest, rollout: createRollout(caches, latest, { ...defaults, ...limits }) }
}

function machineOf(name: string, ready = 'True'): NodeObject {
  return {
    ...{ apiVersion: 'v1', kind: 'Node', metadata: { name } },
    status: { conditions: [{ type: 'Ready', status: ready }] },
  }
}

interface JobValues {
  action?: 'apply' | 'check'
  takesSlot?: boolean
  config?: NodeConfig
  age?: number
}

function aJobOn(name: string, values: JobValues = {}): JobObject {
  const { action = 'apply', takesSlot = action === 'apply', config = aConfig({ name }), age = 0 } = values
  const { interfaces, specHash } = requestedOf(config)
  const node = aNode({ name })
  const job = agentJob({ config, node, interfaces, specHash, action, attempt: 0, takesSlot }, agent)
  const creationTimestamp = new Date(start - age).toISOString()
  return { ...job, metadata: { ...job.metadata, uid: `job-on-${name}`, creationTimestamp } }
}

function aPodOf({ metadata: { uid = '', namespace = '' } }: JobObject, state: object): PodObject {
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', spec: { containers: [] } },
    metadata: { name: uid, namespace, uid, ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: uid, uid }] },
    status: { containerStatuses: [{ name: 'agent', state }] },
  } as PodObject
}

/** Whether a node that waits for nothing else may change now. */
const isFree = async (cluster: Cluster, limits?: Partial<RolloutLimits>) =>
  (await rolloutIn(cluster, limits)).rollout.slotFor(key('other'), start).available

const job = aJobOn('w1')
const ended = { pods: [aPodOf(job, { terminated: { exitCode: 0 } })], jobs: [job] }
const recorded = (status: NodeConfig['status'], generation = 3) =>
  aConfig({ name: 'w1', generation, status: { lastJobName: job.metadata.name, ...status } })

function lostConfig(name: string): NodeConfig {
  return aConfig({ name, status: { observedGeneration: 3, state: 'InProgress', failedAttempts: 1 } })
}

const slots: Record<string, [free: boolean, cluster: Cluster, limits?: Partial<RolloutLimits>]> = {
  'a slot is free while no node changes': [true, {}],
  'a change takes a slot': [false, { jobs: [job] }],
  'a change takes a slot while its agent runs, however long': [
    false,
    { jobs: [aJobOn('w1', { age: 90_000 })], pods: [aPodOf(job, { running: {} })] },
  ],
  'a second slot stays free': [true, { jobs: [job] }, { maxUnavailable: { count: 2 } }],
  'a first configuration takes no slot': [true, { jobs: [aJobOn('w1', { takesSlot: false })] }],
  'a check takes no slot': [true, { jobs: [aJobOn('w1', { action: 'check' })] }],
  'a Pod that has not started for almost 90 s keeps the slot': [false, { jobs: [aJobOn('w1', { age: 89_999 })] }],
  'a Pod that has not started for 90 s gives the slot back': [true, { jobs: [aJobOn('w1', { age: 90_000 })] }],
  'a node that became unreachable in its change keeps its slot, whether its agent was seen to start or not': [
    false,
    { jobs: [aJobOn('w1', { age: 600_000 })], nodes: [machineOf('w1', 'Unknown')] },
    { failureBudget: { count: 9 } },
  ],
  'the slot stays with it after its Job is gone': [
    false,
    { configs: [lostConfig('w1')], nodes: [machineOf('w1', 'Unknown')] },
    { failureBudget: { count: 9 } },
  ],
  'a node that is reachable again gives its slot back': [
    true,
    { configs: [lostConfig('w1')] },
    { failureBudget: { count: 9 } },
  ],
  'a node that an agent configured before it became unreachable takes no slot': [
    true,
    { ...ended, nodes: [machineOf('w1', 'Unknown')], configs: [recorded({ state: 'Configured' })] },
  ],
  'a node that left the cluster gives the slot back': [true, { jobs: [job], nodes: [machineOf('w2')] }],
  'an ended change keeps the slot until its result is in the status': [
    false,
    { ...ended, configs: [recorded({ lastJobName: 'an older one', state: 'Configured' })] },
  ],
  'a status that still says InProgress has no result': [
    false,
    { ...ended, configs: [recorded({ state: 'InProgress' })] },
  ],
  'an ended change gives the slot back with its result': [
    true,
    { ...ended, configs: [recorded({ state: 'Configured' })] },
  ],
  'an ended change of a config that is gone gives the slot back': [true, { ...ended, configs: [] }],
  'an ended change of an older spec gives the slot back: its result is never written': [
    true,
    { ...ended, configs: [recorded({ lastJobName: 'an older one' }, 4)] },
  ],
}

for (const [name, [free, cluster, limits]] of Object.entries(slots))
  test(name, async () => assert.equal(await isFree(cluster, limits), free))

test('a node without a slot is told the limit', async () => {
  const { rollout } = await rolloutIn({ jobs: [job] })
  const slot = rollout.slotFor(key('w2'), start)
  assert.deepEqual(slot, { available: false, message: 'other nodes are changing, at most 1 at a time' })
})

test('a decision holds its slot until its Job is in the cache', async () => {
  const { rollout } = await rolloutIn({})
  rollout.reserve(key('w1'), 'check')
  assert.equal(rollout.slotFor(key('w2'), start).available, true, 'a check takes no slot')
  rollout.reserve(key('w1'), 'change')
  assert.equal(rollout.slotFor(key('w2'), start).available, false)
  rollout.release(key('w1'))
  assert.equal(rollout.slotFor(key('w2'), start).available, true)
})

test('nodes get slots in the order in which they began to wait', async () => {
  const { rollout } = await rolloutIn({}, { maxUnavailable: { count: 2 } })
  for (const name of ['a', 'b', 'c', 'a']) rollout.setWaiting(key(name), true)
  const served = () => ['a', 'b', 'c', 'new'].filter(name => rollout.slotFor(key(name), start).available)
  assert.deepEqual(served(), ['a', 'b'])
  assert.deepEqual([rollout.waiting(), rollout.keysToWake(start)], [3, [key('a'), key('b')]])
  rollout.setWaiting(key('a'), false)
  assert.deepEqual(served(), ['b', 'c'])
  assert.equal(rollout.waiting(), 2)
  rollout.setWaiting(key('b'), false)
  rollout.setWaiting(key('c'), false)
  assert.deepEqual(served(), ['a', 'b', 'c', 'new'])
  assert.deepEqual(rollout.keysToWake(start), [])
})

test('nobody is woken while more nodes change than the limit allows', async () => {
  const jobs = ['w1', 'w2', 'w3'].map(name => aJobOn(name))
  const { rollout } = await rolloutIn({ jobs, nodes: ['w1', 'w2', 'w3'].map(name => machineOf(name)) })
  for (const name of ['a', 'b', 'c']) rollout.setWaiting(key(name), true)
  assert.deepEqual(rollout.keysToWake(start), [])
})

const failedConfig = (name: string) =>
  aConfig({ name, status: { observedGeneration: 3, state: 'Failed', failedAttempts: 1 } })

test('a rollout stops when as many nodes failed as the failure budget', async () => {
  const stateOf = async (failed: number) => {
    const configs = Array.from({ length: failed }, (_, index) => failedConfig(`w${index}`))
    const { rollout } = await rolloutIn({ configs }, { failureBudget: { count: Math.max(1, failed) } })
    return [rollout.stopped(start), rollout.slotFor(key('a'), start).message]
  }
  assert.equal((await stateOf(0))[0], false)
  assert.deepEqual(await stateOf(1), [true, '1 node failed after its change, which uses up the failure budget of 1'])
  assert.deepEqual(await stateOf(2), [true, '2 nodes failed after their change, which uses up the failure budget of 2'])
  const within = await rolloutIn({ configs: [failedConfig('w1')] }, { failureBudget: { count: 2 } })
  assert.equal(within.rollout.stopped(start), false)
  assert.equal(within.rollout.slotFor(key('a'), start).available, true)
})

test('a node that became unreachable in its change counts against the failure budget, once', async () => {
  const nodes = [machineOf('w1', 'Unknown'), machineOf('w2', 'Unknown'), machineOf('w3')]
  const [first, second] = [aJobOn('w1'), aJobOn('w2')]
  const limits = { failureBudget: { count: 2 }, maxUnavailable: { count: 3 } }
  const one = await rolloutIn({ nodes, jobs: [first], configs: [lostConfig('w1')] }, limits)
  assert.deepEqual([one.rollout.failed(start), one.rollout.stopped(start)], [1, false])
  const both = await rolloutIn({ nodes, jobs: [first, second], configs: [lostConfig('w1')] }, limits)
  assert.deepEqual([both.rollout.failed(start), both.rollout.stopped(start)], [2, true])
  const { message } = both.rollout.slotFor(key('w3'), start)
  assert.equal(message, '2 nodes failed after their change (2 unreachable), which uses up the failure budget of 2')
})

test('a node that waits is told how many nodes became unreachable', async () => {
  const limits = { failureBudget: { count: 9 } }
  const { rollout } = await rolloutIn({ jobs: [job], nodes: [machineOf('w1', 'Unknown')] }, limits)
  assert.equal(
    rollout.slotFor(key('w2'), start).message,
    'other nodes are changing, at most 1 at a time; 1 of them became unreachable in their change and count until they return',
  )
})

test('everyone who waits is woken once when the rollout stops, and once when it resumes', async () => {
  const { rollout, latest } = await rolloutIn({ configs: [failedConfig('w1')] })
  for (const name of ['a', 'b']) rollout.setWaiting(key(name), true)
  const { available, stopped } = rollout.slotFor(key('a'), start)
  assert.deepEqual([available, stopped], [false, true])
  assert.deepEqual(rollout.keysToWake(start), [key('a'), key('b')])
  assert.deepEqual(rollout.keysToWake(start), [])
  const configured = aConfig({
    ...{ name: 'w1', metadata: { resourceVersion: '11' } },
    status: { observedGeneration: 3, state: 'Configured' },
  })
  latest.wroteConfig(failedConfig('w1'), configured)
  assert.deepEqual(rollout.keysToWake(start), [key('a'), key('b')])
  assert.deepEqual(rollout.keysToWake(start), [key('a')])
})

test('ten checks run at once, however many nodes may change: running and starting ones count', async () => {
  const jobs = Array.from({ length: 9 }, (_, index) => aJobOn(`w${index}`, { action: 'check' }))
  const { rollout } = await rolloutIn({ jobs: [...jobs, aJobOn('w9')] }, { maxUnavailable: { count: 1 } })
  rollout.reserve(key('w10'), 'change')
  assert.equal(rollout.checkLimitReached(), false)
  rollout.reserve(key('w11'), 'check')
  assert.equal(rollout.checkLimitReached(), true)
})

test('without a count, the limits grow with the cluster and never fall below their minimum', async () => {
  const nodes = Array.from({ length: 40 }, (_, index) => machineOf(`w${index}`))
  const jobs = nodes.slice(0, 3).map(({ metadata }) => aJobOn(metadata.name))
  const limits = { maxUnavailable: { percent: 10 }, failureBudget: { percent: 10 } }
  assert.equal(await isFree({ nodes, jobs }, limits), true)
  assert.equal(await isFree({ nodes, jobs: [...jobs, aJobOn('w4')] }, limits), false)
  const [first, second, third] = [failedConfig('w1'), failedConfig('w2'), failedConfig('w3')]
  const isStopped = async (configs: NodeConfig[]) => (await rolloutIn({ configs }, limits)).rollout.stopped(start)
  assert.deepEqual([await isStopped([first, second]), await isStopped([first, second, third])], [false, true])
  assert.equal(await isFree({}, limits), true)
})

test('a percentage is rounded down and never below the minimum; a count is used as it is', () => {
  assert.equal(amountOf({ percent: 10 }, 39, 1), 3)
  assert.equal(amountOf({ percent: 10 }, 5, 1), 1)
  assert.equal(amountOf({ count: 0 }, 39, 3), 0)
})
