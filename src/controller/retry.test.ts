/**
 * Jobs that cannot start, retries and checks on request, over HTTP.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { namespaces, nodes, pods } from '../kube/resources.ts'
import type { ContainerState } from '../kube/types.ts'
import { aNic } from './controller.fixture.ts'

let cluster: ControllerCluster

before(async () => {
  cluster = await startControllerCluster()
})
after(() => cluster.close())

const annotate = (name: string, annotations: Record<string, string>) =>
  cluster.kube.patch(nodeConfigs, { namespace: cluster.namespace, name }, { metadata: { annotations } })

async function openPod(node: string) {
  return eventually(async () => (await cluster.podsOn(node))[0] ?? assert.fail(`no Pod on ${node}`))
}

/** The container of the agent as a kubelet shows it. */
async function setContainer(node: string, state: ContainerState, lastState?: ContainerState): Promise<void> {
  const { metadata } = await openPod(node)
  const agent = { name: 'agent', restartCount: lastState ? 3 : 0, ready: false, image: '', imageID: '', state }
  const status = { phase: 'Running', containerStatuses: [{ ...agent, ...(lastState && { lastState }) }] }
  await cluster.kube.patchStatus(pods, { namespace: cluster.namespace, name: metadata.name }, status)
}

/** Without a kubelet, the Pod of a deleted Job stays too. */
async function endAgents(node: string, count: number): Promise<void> {
  await eventually(async () => assert.equal((await cluster.podsOn(node)).length, count))
  for (let index = 0; index < count; index++) await cluster.endAgent(node)
}

async function expectReason(name: string, line: string) {
  return eventually(async () => {
    const { state, conditions } = (await cluster.configOf(name))?.status ?? {}
    const ready = conditions?.find(({ type }) => type === 'Ready')
    assert.equal(`${state} ${ready?.reason}: ${ready?.message}`, line)
  })
}

const imageOf = async (node: string) =>
  (await cluster.jobsOn(node)).map(job => job.spec.template.spec.containers[0]?.image)

test('controller M5: a corrected image is used at once', async () => {
  const first = await cluster.startController({ AGENT_IMAGE: 'wrong:1' })
  await cluster.addConfig('image', await cluster.addNode('image'))
  await setContainer('image', { waiting: { reason: 'ImagePullBackOff', message: 'wrong:1 not found' } })
  await expectReason('image', 'InProgress ImagePullFailed: ImagePullBackOff: wrong:1 not found')
  await first.stop()
  const second = await cluster.startController({ AGENT_IMAGE: 'right:1' })
  try {
    await eventually(async () => assert.deepEqual(await imageOf('image'), ['right:1']))
    await endAgents('image', 2)
    await cluster.expectConfigured('image')
  } finally {
    await second.stop()
  }
})

test('a corrected right is used at once', async () => {
  const controller = await cluster.startController()
  try {
    await cluster.addConfig('right', await cluster.addNode('right'))
    await setContainer('right', { waiting: { reason: 'CreateContainerConfigError', message: 'forbidden' } })
    await expectReason('right', 'InProgress MountFailed: CreateContainerConfigError: forbidden')
    const [job] = await cluster.jobsOn('right')
    const labels = { 'pod-security.kubernetes.io/enforce': 'privileged' }
    await cluster.kube.patch(namespaces, { name: cluster.namespace }, { metadata: { labels } })
    await eventually(async () => {
      const [now, ...others] = await cluster.jobsOn('right')
      assert.deepEqual(others, [])
      assert.ok(now && now.metadata.uid !== job?.metadata.uid)
    })
    await endAgents('right', 2)
    await cluster.expectConfigured('right')
  } finally {
    await controller.stop()
  }
})

test('controller M8: an agent that crashes or runs out of memory is in the status', async () => {
  const controller = await cluster.startController()
  try {
    await cluster.addConfig('crash', await cluster.addNode('crash'))
    const backOff = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s restarting failed container' } }
    await setContainer('crash', { terminated: { exitCode: 137, reason: 'Error' } })
    const [job] = await cluster.jobsOn('crash')
    const killed = `${job?.metadata.name} ended with exit code 137, and is started again`
    await expectReason('crash', `InProgress Applying: ${killed}`)
    await setContainer('crash', backOff, { terminated: { exitCode: 2, reason: 'Error', message: 'bad settings' } })
    await expectReason('crash', 'InProgress AgentCrashed: the agent crashes (exit code 2): bad settings')
    await setContainer('crash', backOff, { terminated: { exitCode: 137, reason: 'OOMKilled' } })
    await expectReason('crash', 'InProgress AgentOutOfMemory: the agent was killed (OOMKilled, exit code 137)')
    await cluster.endAgent('crash')
    await cluster.expectConfigured('crash')
  } finally {
    await controller.stop()
  }
})

test('a failure says when the controller retries, and a refusal that it waits', async () => {
  const controller = await cluster.startController()
  try {
    await cluster.addConfig('later', await cluster.addNode('later'))
    const failed = [aNic(0, { status: 'Failed', reason: 'PersistFailed', message: 'read-only file system' })]
    await cluster.endAgent('later', { verdict: 'Failed', reason: 'PersistFailed', message: 'no', interfaces: failed })
    const { status = {} } = await cluster.expectStatus('later', 'Failed 0/1 False ApplyFailed: no')
    assert.equal(Date.parse(status.nextAttempt ?? '') - Date.parse(status.lastProcessed ?? ''), 10_000)
    await annotate('later', { 'multinic.io/retry': 'multinic0' })
    const refused = [aNic(0, { status: 'Failed', reason: 'CarriesDefaultRoute', message: 'default route' })]
    await cluster.endAgent('later', {
      verdict: 'Failed',
      reason: 'CarriesDefaultRoute',
      message: 'no',
      interfaces: refused,
    })
    const waits = 'waiting for a change of the spec, the Node or the agent, or for annotation multinic.io/retry'
    const after = await cluster.expectStatus('later', `Failed 0/1 False ApplyFailed: no; ${waits}`)
    assert.equal(after.status?.nextAttempt, undefined)
    await cluster.kube.patch(nodes, { name: 'later' }, { metadata: { labels: { 'multinic.io/takeover': 'dynamic' } } })
    await cluster.endAgent('later')
    await cluster.expectConfigured('later')
  } finally {
    await controller.stop()
  }
})

test('a check on request runs at once and changes nothing but the time of the observation', async () => {
  const controller = await cluster.startController({ DRIFT_INTERVAL: 'off' })
  try {
    await cluster.addConfig('looked', await cluster.addNode('looked'))
    await cluster.finishPod(await cluster.endAgent('looked'))
    const { status: before } = await cluster.expectConfigured('looked')
    await annotate('looked', { 'multinic.io/check': 'now' })
    const pod = await cluster.endAgent('looked', { verdict: 'InSync', reason: 'InSync', changed: 0 })
    assert.equal(inputOf(pod).mode, 'check')
    await eventually(async () => {
      const config = await cluster.configOf('looked')
      assert.notEqual(config?.status?.lastJobName, before?.lastJobName)
      assert.equal(config?.metadata.annotations?.['multinic.io/check'], undefined)
    })
    const { status: now } = await cluster.expectConfigured('looked')
    assert.equal(now?.interfaceStatuses?.[0]?.lastConfigured, before?.interfaceStatuses?.[0]?.lastConfigured)
  } finally {
    await controller.stop()
  }
})
