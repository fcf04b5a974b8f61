/**
 * Somebody edits the status of a config: one field, or a whole one that fits.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type InterfaceStatus, type NodeConfigStatus, nodeConfigs } from '../contract/node-config.ts'
import { namespaces } from '../kube/resources.ts'

let cluster: ControllerCluster
let controller: Awaited<ReturnType<ControllerCluster['startController']>>

before(async () => {
  cluster = await startControllerCluster()
  controller = await cluster.startController({ DRIFT_INTERVAL: 'off' })
  await cluster.addConfig('w1', await cluster.addNode('w1'), { nics: 2 })
  await cluster.finishPod(await cluster.endAgent('w1'))
  await eventually(async () => assert.equal((await statusOf('w1')).state, 'Configured'))
})

after(async () => {
  await controller.stop()
  await cluster.close()
})

async function statusOf(name: string): Promise<NodeConfigStatus> {
  return (await cluster.configOf(name))?.status ?? {}
}
const edit = (name: string, patch: object) =>
  cluster.kube.patchStatus(nodeConfigs, { namespace: cluster.namespace, name }, patch)

type Edit = (status: NodeConfigStatus) => Record<string, unknown>
const condition = (type: string, change: object): Edit => {
  return ({ conditions = [] }) => ({
    conditions: conditions.map(one => (one.type === type ? { ...one, ...change } : one)),
  })
}
const nic = (change: InterfaceStatus): Edit => {
  return ({ interfaceStatuses: [first, ...others] = [] }) => ({
    interfaceStatuses: [{ ...first, ...change }, ...others],
  })
}
const at = '2020-01-01T00:00:00Z'
const invented = { status: 'True', reason: 'SecondaryInternalIP', message: '', lastTransitionTime: at } as const
const failed: Edit = ({ conditions = [], interfaceStatuses = [] }) => ({
  ...{ state: 'Failed', nics: '0/2', failedAttempts: 3, nextAttempt: '2099-01-01T00:00:00Z' },
  conditions: conditions.map(one => ({
    ...{ ...one, reason: 'ApplyFailed' },
    status: one.type === 'Ready' ? 'False' : 'True',
  })),
  interfaceStatuses: interfaceStatuses.map(one => ({ ...one, status: 'Failed', reason: 'LinkDown' })),
})

const edits: Record<string, Edit> = {
  observedGeneration: () => ({ observedGeneration: 7 }),
  observedSpecHash: () => ({ observedSpecHash: 'other' }),
  lastProcessed: () => ({ lastProcessed: at }),
  lastJobName: () => ({ lastJobName: 'other' }),
  state: () => ({ state: 'Pending' }),
  nics: () => ({ nics: '0/2' }),
  bootID: () => ({ bootID: 'other' }),
  agentHash: () => ({ agentHash: 'other' }),
  nodeAddresses: () => ({ nodeAddresses: ['192.0.2.1'] }),
  checkIntervalSeconds: () => ({ checkIntervalSeconds: 5 }),
  nextAttempt: () => ({ nextAttempt: '2099-01-01T00:00:00Z' }),
  agentRollout: () => ({ agentRollout: { request: 'x', state: 'Waiting' } }),
  failedAttempts: () => ({ failedAttempts: 77 }),
  'the reason of Ready': condition('Ready', { reason: 'Fine' }),
  'the time of a condition': condition('Ready', { lastTransitionTime: at }),
  'the generation of a condition': condition('Ready', { observedGeneration: 7 }),
  'Progressing beside Ready': condition('Progressing', { status: 'True' }),
  'a missing condition': ({ conditions = [] }) => ({ conditions: conditions.slice(0, 1) }),
  'an unknown condition': ({ conditions = [] }) => ({ conditions: [...conditions, { type: 'Fine', ...invented }] }),
  'an invented warning': ({ conditions = [] }) => ({ conditions: [...conditions, { type: 'Warning', ...invented }] }),
  'the name of an interface': nic({ name: 'multinic7' }),
  'the MAC address of an interface': nic({ macAddress: 'fa:16:3e:00:00:77' }),
  'the port of an interface': nic({ portId: 'other' }),
  'the hash of an interface': nic({ specHash: 'other' }),
  'lastConfigured of an interface': nic({ lastConfigured: at }),
  'what was observed': nic({ observed: { name: 'multinic0', mtu: 9000, addresses: ['192.0.2.9/24'], link: 'down' } }),
  'the reason and the message of an interface': nic({ reason: 'Fine', message: 'fine' }),
  'an invented interface': ({ interfaceStatuses = [] }) => ({
    interfaceStatuses: [...interfaceStatuses, { id: 7, macAddress: 'fa:16:3e:00:00:77', status: 'Configured' }],
  }),
  'no interface': () => ({ interfaceStatuses: [], nics: '0/2' }),
  'a failure in which all fits': failed,
}

for (const [what, change] of Object.entries(edits))
  test(`an edit is put right without an agent: ${what}`, async () => {
    const correct = await statusOf('w1')
    await edit('w1', change(correct))
    await eventually(async () => assert.deepEqual(await statusOf('w1'), correct))
    assert.deepEqual(await cluster.waitingPods(), [])
  })

test('a config that never ran does not become Configured by an edit', async () => {
  const pause = (value: string | null) => {
    const annotations = { 'multinic.io/paused': value }
    return cluster.kube.patch(namespaces, { name: cluster.namespace }, { metadata: { annotations } })
  }
  await pause('true')
  await cluster.addConfig('new', await cluster.addNode('new'))
  const line = 'annotation multinic.io/paused is set on namespace multinic-system'
  const { status } = await cluster.expectStatus('new', `Pending 0/1 False Paused: ${line}`)
  const { conditions = [], interfaceStatuses = [] } = await statusOf('w1')
  await edit('new', { state: 'Configured', nics: '1/1', conditions, interfaceStatuses: interfaceStatuses.slice(0, 1) })
  await eventually(async () => assert.deepEqual(await statusOf('new'), status))
  await pause(null)
  await cluster.finishPod(await cluster.endAgent('new'))
  await cluster.expectConfigured('new')
})

test('controller L13: an edit from before the start of the controller is put right by a check of the node', async () => {
  const { lastChecked: _, ...correct } = (await statusOf('w1')).interfaceStatuses?.[0] ?? {}
  await controller.stop()
  await edit('w1', nic({ name: 'multinic7' })(await statusOf('w1')))
  controller = await cluster.startController({ DRIFT_INTERVAL: 'off' })
  const report = { verdict: 'InSync', reason: 'InSync', changed: 0 } as const
  const pod = await cluster.endAgent('w1', report)
  assert.equal(inputOf(pod).mode, 'check')
  await cluster.finishPod(pod)
  await eventually(async () => {
    const { lastChecked: _, ...first } = (await statusOf('w1')).interfaceStatuses?.[0] ?? {}
    assert.deepEqual(first, correct)
  })
})
