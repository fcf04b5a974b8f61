/**
 * The whole controller against an API server with a real Job controller behind HTTP; a player stands in for the kubelet.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { eventually } from '../../test/eventually.ts'
import { type AgentInput, agentInputVariable } from '../contract/agent-input.ts'
import type { AgentReport } from '../contract/agent-report.ts'
import { crdOf, kinds } from '../contract/crd.ts'
import { type NodeConfig, nodeConfigFinalizer, nodeConfigs } from '../contract/node-config.ts'
import { connectKube, type KubeClient } from '../kube/client.ts'
import { loadKubeconfig } from '../kube/config.ts'
import { crds, events, jobs, namespaces, nodes, pods } from '../kube/resources.ts'
import type { KubeObject, NodeObject, PodObject } from '../kube/types.ts'
import { silent } from '../log.ts'
import { type KubeApi, startKubeApi } from '../sandbox/kube/server.ts'
import { aConfig, aNic } from './given.ts'
import { runNodeController } from './main.ts'

const namespace = 'multinic-system'
let dir: string
let api: KubeApi
let kube: KubeClient
let running: { stop: () => Promise<void>; health: string }

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'controller-'))
  api = await startKubeApi({ name: 'biz', dir, log: silent })
  kube = connectKube(await loadKubeconfig(api.kubeconfig))
  for (const kind of kinds) await kube.create(crds, crdOf(kind) as KubeObject)
  await create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }).catch(() => {})
  running = await startController()
})

after(async () => {
  await running.stop()
  await kube.close()
  await api.close()
  await rm(dir, { recursive: true, force: true })
})

async function startController(env: Record<string, string> = {}) {
  const stop = new AbortController()
  let tell: (address: string) => void = () => {}
  const listening = new Promise<string>(resolve => {
    tell = resolve
  })
  const ended = runNodeController({
    env: { KUBECONFIG: api.kubeconfig, HEALTH_ADDR: '127.0.0.1:0', AGENT_IMAGE: 'multinic-agent:test', ...env },
    log: silent,
    signal: stop.signal,
    onListening: tell,
  })
  const health = await listening
  return {
    health,
    async stop() {
      stop.abort()
      await ended
    },
  }
}

async function create<T extends KubeObject>(resource: Parameters<typeof kube.create<T>>[0], object: T): Promise<T> {
  return kube.create(resource, object)
}

let machines = 0
async function addNode(name: string): Promise<string> {
  const systemUUID = `6f1c2a10-0001-4aaa-8bbb-${(++machines).toString().padStart(12, '0')}`
  const node: NodeObject = { apiVersion: 'v1', kind: 'Node', metadata: { name } }
  await create(nodes, node)
  await kube.patchStatus(
    nodes,
    { name },
    {
      nodeInfo: { systemUUID: systemUUID.toUpperCase(), bootID: 'boot-1', osImage: 'Ubuntu 24.04 LTS' },
      conditions: [{ type: 'Ready', status: 'True' }],
      addresses: [{ type: 'InternalIP', address: '10.0.0.11' }],
    },
  )
  return systemUUID
}

async function addConfig(name: string, instanceId: string, nics = 1): Promise<NodeConfig> {
  const { apiVersion, kind, spec } = aConfig({ name, instanceId, nics })
  return create(nodeConfigs, { apiVersion, kind, metadata: { name, namespace }, spec })
}

const configOf = (name: string) => kube.get(nodeConfigs, { namespace, name })
const jobsFor = async (node: string) =>
  (await kube.list(jobs, { namespace })).items.filter(job => job.spec.template.spec.nodeName === node)
const podsOn = async (node: string) =>
  (await kube.list(pods, { namespace })).items.filter(pod => pod.spec.nodeName === node)

function inputOf(pod: PodObject): AgentInput {
  const variable = pod.spec.containers[0]?.env?.find(({ name }) => name === agentInputVariable)
  return JSON.parse(variable?.value ?? '{}') as AgentInput
}

/** Ends the agent's container on a node, as a kubelet shows it first: terminated, the Pod still Running. */
async function endAgent(node: string, given: Partial<AgentReport> = {}, exitCode = 0): Promise<PodObject> {
  const pod = await eventually(async () => {
    const open = (await podsOn(node)).find(({ status }) => !status?.containerStatuses?.[0]?.state?.terminated)
    assert.ok(open, `no agent waits on ${node}`)
    return open
  })
  const input = inputOf(pod)
  const report: AgentReport = {
    version: 1,
    node: input.nodeName,
    mode: input.mode,
    generation: input.generation,
    specHash: input.specHash,
    verdict: input.mode === 'cleanup' ? 'Removed' : 'Configured',
    reason: 'Configured',
    message: '',
    interfaces: input.mode === 'cleanup' ? [] : input.interfaces.map(({ id = 0 }) => aNic(id)),
    changed: 3,
    removed: [],
    undone: [],
    timings: {},
    ...given,
  }
  const terminated = { exitCode, message: JSON.stringify(report), finishedAt: new Date().toISOString() }
  await setPod(pod, 'Running', terminated)
  return pod
}

async function setPod(pod: PodObject, phase: string, terminated: object): Promise<void> {
  const { name } = pod.metadata
  await kube.patchStatus(
    pods,
    { namespace, name },
    {
      phase,
      containerStatuses: [
        { name: 'agent', restartCount: 0, ready: false, image: '', imageID: '', state: { terminated } },
      ],
    },
  )
}

async function finishPod(pod: PodObject): Promise<void> {
  const now = await kube.get(pods, { namespace, name: pod.metadata.name })
  const terminated = now?.status?.containerStatuses?.[0]?.state?.terminated
  if (now && terminated) await setPod(now, 'Succeeded', terminated)
}

async function expectStatus(name: string, line: string): Promise<NodeConfig> {
  return eventually(async () => {
    const config = await configOf(name)
    const ready = config?.status?.conditions?.find(({ type }) => type === 'Ready')
    assert.equal(
      `${config?.status?.state} ${config?.status?.nics} ${ready?.status} ${ready?.reason}: ${ready?.message}`,
      line,
    )
    assert.ok(config)
    return config
  })
}

test('a config walks to Configured before its Job is Complete, and is then left alone', async () => {
  const uuid = await addNode('walk')
  await addConfig('walk', uuid, 2)
  const pod = await endAgent('walk')
  const config = await expectStatus(
    'walk',
    'Configured 2/2 True AllInterfacesConfigured: All 2 interfaces configured successfully',
  )
  assert.deepEqual(config.metadata.finalizers, [nodeConfigFinalizer])
  assert.equal(config.status?.interfaceStatuses?.[1]?.observed?.mtu, 1450)
  assert.equal(config.status?.lastJobName, (await jobsFor('walk'))[0]?.metadata.name)

  await finishPod(pod)
  await eventually(async () => assert.equal((await jobsFor('walk'))[0]?.status?.succeeded, 1))
  const later = await configOf('walk')
  assert.equal(later?.metadata.resourceVersion, config.metadata.resourceVersion)
  assert.equal((await jobsFor('walk')).length, 1)
})

test('a config without its node waits, and goes on when the node joins', async () => {
  await addConfig('late', '')
  await expectStatus('late', 'Pending 0/1 False NodeMissing: node late is not in this cluster')
  assert.equal((await configOf('late'))?.metadata.finalizers, undefined)
  await addNode('late')
  await endAgent('late')
  await expectStatus('late', 'Configured 1/1 True AllInterfacesConfigured: 1 interface configured successfully')
})

test('a deleted config goes after its interfaces', async () => {
  await addConfig('gone', await addNode('gone'))
  await finishPod(await endAgent('gone'))
  await expectStatus('gone', 'Configured 1/1 True AllInterfacesConfigured: 1 interface configured successfully')
  await kube.delete(nodeConfigs, { namespace, name: 'gone' })
  const cleanup = await endAgent('gone')
  assert.equal(inputOf(cleanup).mode, 'cleanup')
  await eventually(async () => assert.equal(await configOf('gone'), undefined))
  await eventually(async () => {
    const told = (await kube.list(events, { namespace })).items.filter(event => event.involvedObject.name === 'gone')
    assert.ok(told.some(({ reason }) => reason === 'Removed'))
  })
})

test('a deleted config of a node that is gone does not wait', async () => {
  await addConfig('lost', await addNode('lost'))
  await finishPod(await endAgent('lost'))
  await expectStatus('lost', 'Configured 1/1 True AllInterfacesConfigured: 1 interface configured successfully')
  await kube.delete(nodes, { name: 'lost' })
  await kube.delete(nodeConfigs, { namespace, name: 'lost' })
  await eventually(async () => assert.equal(await configOf('lost'), undefined))
})

test('a new spec waits for the agent of the old one, and an old report never counts for it', async () => {
  await addConfig('busy', await addNode('busy'))
  await eventually(async () => assert.equal((await podsOn('busy')).length, 1))
  await kube.patch(nodeConfigs, { namespace, name: 'busy' }, { spec: { specHash: 'another' } })
  await expectStatus(
    'busy',
    `Pending 0/1 False Superseded: ${(await jobsFor('busy'))[0]?.metadata.name} must end before the next agent starts`,
  )
  const first = await endAgent('busy')
  const second = await endAgent('busy')
  assert.equal(inputOf(first).generation, 1)
  assert.equal(inputOf(second).generation, 2)
  const config = await expectStatus(
    'busy',
    'Configured 1/1 True AllInterfacesConfigured: 1 interface configured successfully',
  )
  assert.equal(config.status?.observedGeneration, 2)
})

test('a NIC that is not there yet is looked for again soon', async () => {
  await addConfig('early', await addNode('early'))
  const message = 'multinic0 is not in the guest yet'
  const nic = aNic(0, { status: 'Pending', reason: 'NicMissing' })
  await finishPod(await endAgent('early', { verdict: 'Pending', reason: 'NicMissing', message, interfaces: [nic] }))
  await expectStatus('early', `Pending 0/1 False NicMissing: ${message}`)
  await endAgent('early')
  await expectStatus('early', 'Configured 1/1 True AllInterfacesConfigured: 1 interface configured successfully')
  assert.equal((await jobsFor('early')).length, 1)
})

test('a failure is told in the words of the agent, and waits', async () => {
  await addConfig('bad', await addNode('bad'), 2)
  const failing = aNic(1, { status: 'Failed', reason: 'NameTaken', message: 'eth9 has the name' })
  await endAgent('bad', { verdict: 'Failed', message: 'multinic1: eth9 has the name', interfaces: [aNic(0), failing] })
  const config = await expectStatus(
    'bad',
    'Failed 1/2 False ApplyFailed: multinic1: eth9 has the name; it is tried again after 10s',
  )
  assert.equal(config.status?.failedAttempts, 1)
  assert.deepEqual(
    config.status?.interfaceStatuses?.map(({ name, status, reason }) => [name, status, reason]),
    [
      ['multinic0', 'Configured', 'Configured'],
      ['multinic1', 'Failed', 'NameTaken'],
    ],
  )
  await kube.patch(
    nodeConfigs,
    { namespace, name: 'bad' },
    { metadata: { annotations: { 'multinic.io/retry': 'now' } } },
  )
  await endAgent('bad')
  const healed = await expectStatus(
    'bad',
    'Configured 2/2 True AllInterfacesConfigured: All 2 interfaces configured successfully',
  )
  assert.equal(healed.metadata.annotations?.['multinic.io/retry'], undefined)
})

test('a restart of the controller finds everything done and writes nothing', async () => {
  const before = await kube.list(nodeConfigs, { namespace })
  await running.stop()
  running = await startController({ LEADER_ELECT: 'true' })
  await eventually(async () => {
    const answer = await fetch(`${running.health}/healthz`)
    const body = (await answer.json()) as Record<string, unknown>
    assert.equal(body['crd_watcher_status'], 'running')
    assert.equal(body['processed_configs'], before.items.length)
  })
  await addConfig('fresh', await addNode('fresh'))
  await endAgent('fresh')
  await expectStatus('fresh', 'Configured 1/1 True AllInterfacesConfigured: 1 interface configured successfully')
  for (const { metadata } of before.items)
    assert.equal((await configOf(metadata.name))?.metadata.resourceVersion, metadata.resourceVersion, metadata.name)
})
