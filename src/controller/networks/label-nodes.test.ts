/**
 * Labels and the taint of Nodes, end to end over HTTP (NODE_LABELS).
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, startControllerCluster } from '../../../test/support/controller-cluster.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { interfaceHash } from '../../contract/interface-hash.ts'
import { nodeConfigs } from '../../contract/node-config.ts'
import { nodes } from '../../kube/resources.ts'
import { aNic } from '../controller.fixture.ts'
import { requestedOf } from '../plan/requested.ts'

let cluster: ControllerCluster
let controller: Awaited<ReturnType<ControllerCluster['startController']>>
const settings = { NODE_LABELS: 'true' }

before(async () => {
  cluster = await startControllerCluster()
  controller = await cluster.startController(settings)
})

after(async () => {
  await controller.stop()
  await cluster.close()
})

const notReady = { key: 'multinic.io/not-ready', effect: 'NoSchedule' }
const foreign = { key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute' }

/** `label=value …; taint …` of what is relevant here. */
async function marksOf(name: string): Promise<string> {
  const node = await cluster.kube.get(nodes, { name })
  const labels = Object.entries(node?.metadata.labels ?? {}).map(([label, value]) => `${label}=${value}`)
  const taints = (node?.spec?.taints ?? []).map(({ key }) => key)
  return `${labels.toSorted().join(' ')}; ${taints.join(' ')}`
}

const expectMarks = (name: string, line: string) => eventually(async () => assert.equal(await marksOf(name), line))

/** A Node whose kubelet set the taint. */
async function addTaintedNode(name: string): Promise<string> {
  const machine = await cluster.addNode(name)
  const change = { metadata: { labels: { zone: 'z' } }, spec: { taints: [notReady, foreign] } }
  await cluster.kube.patch(nodes, { name }, change)
  return machine
}

async function configured(name: string, aliases = ['storage', 'backup']): Promise<void> {
  await cluster.addConfig(name, await addTaintedNode(name), { nics: 2, aliases })
  await cluster.finishPod(await cluster.endAgent(name))
  await expectMarks(name, both)
}

const change = (name: string, patch: object) =>
  cluster.kube.patch(nodeConfigs, { namespace: cluster.namespace, name }, patch)
const remove = (name: string) => cluster.kube.delete(nodeConfigs, { namespace: cluster.namespace, name })

const both = 'network.multinic.io/backup=ready network.multinic.io/storage=ready zone=z; node.cilium.io/agent-not-ready'
const none = 'zone=z; node.cilium.io/agent-not-ready'

test('a Node gets the labels and loses the taint when its NICs are proven, and no other label or taint', async () => {
  await cluster.addConfig('w1', await addTaintedNode('w1'), { nics: 2, aliases: ['storage', 'backup'] })
  const failed = aNic(1, { status: 'Failed', reason: 'InterfaceNameInUse', message: 'x' })
  await cluster.finishPod(
    await cluster.endAgent('w1', { verdict: 'Failed', reason: 'ApplyFailed', interfaces: [aNic(0), failed] }),
  )
  await expectMarks(
    'w1',
    'network.multinic.io/storage=ready zone=z; multinic.io/not-ready node.cilium.io/agent-not-ready',
  )
  await change('w1', { metadata: { annotations: { 'multinic.io/retry': 'now' } } })
  await cluster.finishPod(await cluster.endAgent('w1'))
  await expectMarks('w1', both)
})

test('drift removes the label of its network, and never adds the taint', async () => {
  await configured('drifted')
  await change('drifted', { metadata: { annotations: { 'multinic.io/check': 'now' } } })
  const message = 'mtu is 1500, not 1450'
  const interfaces = [aNic(0), aNic(1, { status: 'Failed', reason: 'Drifted', message })]
  await cluster.finishPod(await cluster.endAgent('drifted', { verdict: 'Drifted', message, interfaces }))
  await expectMarks('drifted', 'network.multinic.io/storage=ready zone=z; node.cilium.io/agent-not-ready')
})

test('a reboot removes the labels until an agent verified the NICs again', async () => {
  await configured('rebooted')
  const node = await cluster.kube.get(nodes, { name: 'rebooted' })
  await cluster.setNode('rebooted', { ...node?.status?.nodeInfo, bootID: 'boot-2' })
  await expectMarks('rebooted', none)
  await cluster.finishPod(await cluster.endAgent('rebooted'))
  await expectMarks('rebooted', both)
})

test('a removed NIC takes its label with it, and a renamed alias moves the label', async () => {
  await configured('edited')
  const config = await cluster.configOf('edited')
  const [first] = config?.spec.interfaces ?? []
  await change('edited', { spec: { interfaces: [{ ...first, alias: 'disks' }] } })
  await expectMarks('edited', 'network.multinic.io/disks=ready zone=z; node.cilium.io/agent-not-ready')
  await cluster.finishPod(await cluster.endAgent('edited'))
})

test('a deleted config takes its labels before an agent removes its NICs', async () => {
  await configured('deleted')
  await remove('deleted')
  await expectMarks('deleted', none)
  await cluster.finishPod(await cluster.endAgent('deleted'))
})

test('labels go with a config that was deleted while no controller ran', async () => {
  await configured('orphaned')
  await controller.stop()
  await change('orphaned', { metadata: { finalizers: null } })
  await remove('orphaned')
  controller = await cluster.startController(settings)
  await expectMarks('orphaned', none)
})

test('a label that somebody removed comes back, and one that somebody added goes', async () => {
  await configured('touched')
  const labels = { 'network.multinic.io/storage': null, 'network.multinic.io/other': 'ready' }
  await cluster.kube.patch(nodes, { name: 'touched' }, { metadata: { labels } })
  await expectMarks('touched', both)
})

test('a Node of another machine under the same name keeps its taint and gets no label', async () => {
  await configured('replaced')
  await cluster.kube.delete(nodes, { name: 'replaced' })
  await addTaintedNode('replaced')
  await cluster.kube.patch(nodes, { name: 'replaced' }, { metadata: { labels: { 'network.multinic.io/x': 'ready' } } })
  await expectMarks('replaced', 'zone=z; multinic.io/not-ready node.cilium.io/agent-not-ready')
})

test('of two configs for a Node, only the older one decides about its labels', async () => {
  await configured('shared')
  const { metadata, spec } = (await cluster.configOf('shared')) ?? {}
  const machine = spec?.instanceId ?? ''
  // The name puts the younger one first in the list that a new controller reads, and decides between two of one second.
  const since = Date.parse(metadata?.creationTimestamp ?? '')
  await eventually(async () => assert.ok(Date.now() >= since + 1_000))
  await cluster.addConfig('a-shared', machine, { nodeName: 'shared', aliases: ['other'] })
  const line = 'Pending 0/1 False DuplicateNode: shared is older and names the same node shared'
  const [nic] = requestedOf(await cluster.expectStatus('a-shared', line)).interfaces
  assert.ok(nic)
  const proof = { id: 0, macAddress: nic.macAddress, status: 'Configured', specHash: interfaceHash(nic) }
  const key = { namespace: cluster.namespace, name: 'a-shared' }
  await controller.stop()
  await cluster.kube.patchStatus(nodeConfigs, key, { bootID: 'boot-1', interfaceStatuses: [proof] })
  controller = await cluster.startController(settings)
  await cluster.expectStatus('a-shared', line.replace('0/1', '1/1'))
  await configured('after-shared')
  assert.equal(await marksOf('shared'), both)
  await remove('shared')
  await cluster.finishPod(await cluster.endAgent('shared'))
  await expectMarks('shared', 'network.multinic.io/other=ready zone=z; node.cilium.io/agent-not-ready')
})

test('without the setting, no Node is changed', async () => {
  await controller.stop()
  controller = await cluster.startController()
  await cluster.addConfig('plain', await addTaintedNode('plain'), { aliases: ['storage'] })
  await cluster.finishPod(await cluster.endAgent('plain'))
  await cluster.expectConfigured('plain')
  assert.equal(await marksOf('plain'), 'zone=z; multinic.io/not-ready node.cilium.io/agent-not-ready')
})
