/**
 * Which events wake which configs when many configs name one node, with real caches over HTTP.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { firstApply } from '../../test/support/first-apply.ts'
import { type NodeConfig, nodeConfigs } from '../contract/node-config.ts'
import { jobs, pods } from '../kube/resources.ts'
import type { JobObject } from '../kube/types.ts'
import { silent } from '../telemetry/log.ts'
import { createCaches, finishOf } from './caches.ts'
import { controllerConfig } from './config.ts'
import { wakeOnEvents } from './event-sources.ts'
import { agentJob } from './job.ts'

const many = 40
const names = Array.from({ length: many }, (_, index) => `c${`${index}`.padStart(2, '0')}`)
const [first = '', second = '', third = ''] = names

const end = new AbortController()
let cluster: ControllerCluster
let caches: ReturnType<typeof createCaches>
let woken: string[] = []
let machine = ''

before(async () => {
  cluster = await startControllerCluster()
  caches = createCaches(cluster.kube, cluster.namespace, silent)
  await Promise.all(Object.values(caches).map(cache => cache.start(end.signal)))
  machine = await cluster.addNode('shared')
  wakeOnEvents(caches, key => woken.push(key.replace(`${cluster.namespace}/`, '')))
})

after(async () => {
  end.abort()
  await cluster.close()
})

/** The keys that an action wakes, until the caches show its effect. */
async function keysWokenBy(act: () => Promise<unknown>, isCached: () => boolean): Promise<string[]> {
  woken = []
  await act()
  await eventually(() => assert.ok(isCached()))
  return [...new Set(woken)].toSorted()
}

const keyOf = (name: string) => ({ namespace: cluster.namespace, name })
const cached = (name: string) => caches.configs.get(keyOf(name))

/** The Job that the controller would create. */
function jobFor(config: NodeConfig, nodeName: string): JobObject {
  const node = caches.nodes.get(nodeName)
  assert.ok(node)
  return agentJob(firstApply(config, node), controllerConfig({ AGENT_IMAGE: 'multinic-agent:test' }).agent)
}

const duplicateStatus = {
  state: 'Pending' as const,
  conditions: [{ type: 'Ready', status: 'False' as const, reason: 'DuplicateNode' }],
}

test('each of many configs for one node wakes itself, not the others', async () => {
  await keysWokenBy(
    async () => {
      for (const name of names) await cluster.addConfig(name, machine, { nodeName: 'shared' })
    },
    () => caches.configs.list().length === many,
  )
  assert.equal(woken.length, many)
})

test('a starting controller wakes each of them a few times at most', () => {
  const keys: string[] = []
  wakeOnEvents(caches, key => keys.push(key))()
  assert.equal(new Set(keys).size, many)
  // For the config itself, the oldest one, the Node and the namespace.
  assert.ok(keys.length <= 4 * many, `${keys.length}`)
})

test('a starting controller wakes settled configs with low priority, whatever other objects they have', async () => {
  const config = await cluster.addConfig('settled', await cluster.addNode('settled'))
  await cluster.kube.create(jobs, jobFor(config, 'settled'))
  const status = { state: 'Configured' as const, observedGeneration: config.metadata.generation }
  await cluster.kube.patchStatus(nodeConfigs, keyOf('settled'), status)
  await eventually(() => {
    assert.equal(cached('settled')?.status?.state, 'Configured')
    assert.equal(caches.pods.list().length, 1)
  })
  const priorities: Record<string, Set<string | undefined>> = {}
  wakeOnEvents(caches, (key, priority) => {
    const of = priorities[key] ?? new Set()
    priorities[key] = of.add(priority)
  })()
  assert.deepEqual([...(priorities[`${cluster.namespace}/settled`] ?? [])], ['recheck'])
  assert.ok(priorities[`${cluster.namespace}/${first}`]?.has('new'))
  await cluster.finishPod(await cluster.endAgent('settled'))
  await cluster.kube.delete(jobs, keyOf(jobFor(config, 'settled').metadata.name), { propagation: 'Background' })
  await eventually(() => assert.deepEqual([caches.jobs.list(), caches.pods.list()], [[], []]))
})

test('an agent on the node wakes its own config, and no config that yields to an older one', async () => {
  const others = names.slice(1)
  for (const name of others) await cluster.kube.patchStatus(nodeConfigs, keyOf(name), duplicateStatus)
  await eventually(() => assert.ok(others.every(name => cached(name)?.status)))

  const config = await cluster.configOf(first)
  assert.ok(config)
  const job = jobFor(config, 'shared')
  const afterCreation = await keysWokenBy(
    () => cluster.kube.create(jobs, job),
    () => caches.pods.list().length === 1 && caches.jobs.list().length === 1,
  )
  assert.deepEqual(afterCreation, [first])

  const afterEnd = await keysWokenBy(
    async () => cluster.finishPod(await cluster.endAgent('shared')),
    () => caches.pods.list()[0]?.status?.phase === 'Succeeded' && caches.jobs.list().every(finishOf),
  )
  assert.deepEqual(afterEnd, [first])

  // A config took over and its status still says DuplicateNode: its own agent wakes it nevertheless.
  const [pod] = caches.pods.list()
  const [cachedJob] = caches.jobs.list()
  assert.ok(pod && cachedJob)
  await cluster.kube.patch(jobs, keyOf(cachedJob.metadata.name), {
    metadata: { annotations: { 'multinic.io/config': third } },
  })
  await eventually(() => assert.equal(caches.jobs.list()[0]?.metadata.annotations?.['multinic.io/config'], third))
  const afterDeletion = await keysWokenBy(
    () => cluster.kube.delete(pods, keyOf(pod.metadata.name)),
    () => caches.pods.list().length === 0,
  )
  assert.deepEqual(afterDeletion, [first, third])
})

test('deleting a config in the middle wakes no other one, deleting the oldest one wakes all', async () => {
  const remove = (name: string) =>
    keysWokenBy(
      () => cluster.kube.delete(nodeConfigs, keyOf(name)),
      () => cached(name) === undefined,
    )
  assert.deepEqual(await remove(second), [second])
  assert.deepEqual(await remove(first), [first, ...names.slice(2)])
})

test('correcting a config to another machine wakes the next config for the node', async () => {
  const other = await cluster.addNode('elsewhere')
  for (const name of ['e1', 'e2']) await cluster.addConfig(name, other, { nodeName: name })
  await eventually(() => assert.ok(cached('e1') && cached('e2')))
  const spec = { instanceId: '6f1c2a10-0001-4aaa-8bbb-999999999999' }
  const corrected = await keysWokenBy(
    () => cluster.kube.patch(nodeConfigs, keyOf('e1'), { spec }),
    () => cached('e1')?.spec.instanceId === spec.instanceId,
  )
  assert.deepEqual(corrected, ['e1', 'e2'])
})
