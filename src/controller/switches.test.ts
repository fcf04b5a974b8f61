/**
 * Optional behaviour, over HTTP: a paused namespace, drift checks, the condition on Nodes.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { events, namespaces, nodes } from '../kube/resources.ts'
import { silent } from '../telemetry/log.ts'
import { aNic } from './controller.fixture.ts'

let cluster: ControllerCluster

before(async () => {
  cluster = await startControllerCluster()
})

after(() => cluster.close())

const pauseAll = (value: string | null) =>
  cluster.kube.patch(
    namespaces,
    { name: cluster.namespace },
    { metadata: { annotations: { 'multinic.io/paused': value } } },
  )

async function conditionOf(name: string): Promise<string | undefined> {
  const node = await cluster.kube.get(nodes, { name })
  const found = node?.status?.conditions?.find(({ type }) => type === 'MultiNicReady')
  return found && `${found.status} ${found.reason}`
}

test('a paused namespace stops all of its configs until the annotation is removed', async () => {
  const controller = await cluster.startController()
  try {
    await pauseAll('true')
    for (const name of ['paused-1', 'paused-2']) await cluster.addConfig(name, await cluster.addNode(name))
    const line = `Pending 0/1 False Paused: annotation multinic.io/paused is set on namespace ${cluster.namespace}`
    for (const name of ['paused-1', 'paused-2']) await cluster.expectStatus(name, line)
    assert.deepEqual(await cluster.jobsOn('paused-1'), [])
    await pauseAll(null)
    for (const name of ['paused-1', 'paused-2']) {
      await cluster.finishPod(await cluster.endAgent(name))
      await cluster.expectConfigured(name)
    }
  } finally {
    await controller.stop()
  }
})

test('a setting of the Go agent that has no effect starts the controller, and one Event names it', async () => {
  const env = { NETWORK_NOPREFIXROUTE: 'true', POD_NAME: 'multinic-agent-controller-1' }
  const controller = await cluster.startController(env)
  try {
    await eventually(async () => {
      const { items } = await cluster.kube.list(events, { namespace: cluster.namespace })
      const found = items.filter(({ reason }) => reason === 'FieldIgnored')
      assert.deepEqual(
        found.map(({ involvedObject, message }) => [involvedObject.name, message]),
        [[env.POD_NAME, 'NETWORK_NOPREFIXROUTE has no effect: remove it from the settings of the agent']],
      )
    })
  } finally {
    await controller.stop()
  }
})

test('a Node gets the condition of its config beside the conditions of others', async () => {
  const controller = await cluster.startController({ NODE_CONDITION: 'true' })
  try {
    await cluster.addConfig('marked', await cluster.addNode('marked'))
    await cluster.finishPod(await cluster.endAgent('marked'))
    await eventually(async () => assert.equal(await conditionOf('marked'), 'True AllInterfacesConfigured'))
    const node = await cluster.kube.get(nodes, { name: 'marked' })
    assert.ok(node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'))
    await cluster.kube.delete(nodeConfigs, { namespace: cluster.namespace, name: 'marked' })
    await cluster.finishPod(await cluster.endAgent('marked'))
    await eventually(async () => assert.equal(await cluster.configOf('marked'), undefined))
    await eventually(async () => assert.equal(await conditionOf('marked'), undefined))
  } finally {
    await controller.stop()
  }
})

test('settled nodes are checked with a limit, and drift is reported per interface', async () => {
  const names = ['drift-1', 'drift-2', 'drift-3']
  const first = await cluster.startController()
  for (const name of names) {
    await cluster.addConfig(name, await cluster.addNode(name))
    await cluster.finishPod(await cluster.endAgent(name))
    await cluster.expectConfigured(name)
  }
  await first.stop()
  // All of them are due within the first two seconds.
  const env = { DRIFT_INTERVAL: '2s' }
  const controller = await cluster.startController(env, silent, { checkGapMs: 10, maxChecks: 1 })
  try {
    const [pod] = await eventually(async () => {
      const open = (await cluster.waitingPods()).filter(one => inputOf(one).mode === 'check')
      assert.equal(open.length, 1)
      return open
    })
    assert.ok(pod)
    const { nodeName: name } = inputOf(pod)
    await cluster.expectConfigured(name)
    const message = 'mtu is 1500, not 1450'
    const interfaces = [aNic(0, { status: 'Failed', reason: 'Drifted', message })]
    await cluster.endAgent(name, { verdict: 'Drifted', message: `multinic0: ${message}`, interfaces })
    const config = await cluster.expectStatus(name, `Failed 0/1 False Drifted: multinic0: ${message}`)
    const [nic] = config.status?.interfaceStatuses ?? []
    assert.equal(`${nic?.status} ${nic?.reason}: ${nic?.message}`, `Failed Drifted: ${message}`)
    const metrics = await (await fetch(`${controller.health}/metrics`)).text()
    assert.match(metrics, /^multinic_configs_drifted 1$/m)
  } finally {
    await controller.stop()
  }
})
