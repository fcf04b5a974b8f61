/** The operator over real HTTP, with the sandbox's Kubernetes API and cloud, and Viola. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { afterEach, beforeEach, test } from 'node:test'
import {
  addPort,
  addServer,
  addSubnet,
  removePort,
  type Server,
  type Subnet,
  setPortStatus,
} from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { metricOf } from '../../../test/support/exposition.ts'
import { nodeConfigs } from '../../contract/node-config.ts'
import { openstackConfigFinalizer, openstackConfigs } from '../../contract/openstack-config.ts'
import { secrets } from '../../kube/resources.ts'

let environment: OperatorEnvironment
let storage: Subnet
let backup: Subnet
let worker: Server

beforeEach(async () => {
  environment = await startOperatorEnvironment()
  storage = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  backup = addSubnet(environment.cloudState, { name: 'backup', cidr: '10.20.0.0/24', mtu: 1450 })
  worker = addServer(environment.cloudState, 'worker-1')
})
afterEach(() => environment.close())

function attach(server: Server, subnet: Subnet, more: { address?: string; macAddress?: string } = {}) {
  const port = addPort(environment.cloudState, { server, subnet, ...more })
  setPortStatus(environment.cloudState, port.id, 'ACTIVE')
  return port
}

async function condition(type: string, name?: string): Promise<string> {
  const found = (await environment.config(name)).status?.conditions?.find(one => one.type === type)
  return `${found?.status} ${found?.reason}`
}

async function waitForDelivered(expected: string[]): Promise<void> {
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), expected))
}

const metric = (name: string) => metricOf(environment.operatorUrl(), `multinic_operator_${name}`)

test('a port is delivered as a node config, and the node’s state reaches the status and the inventory', async () => {
  const port = attach(worker, storage, { address: '10.10.0.10' })
  await environment.startOperator()
  await environment.create({})
  await waitForDelivered(['worker-1: multinic0=10.10.0.10'])
  const [node] = await environment.nodes()
  assert.deepEqual(node?.spec.interfaces, [
    {
      id: 0,
      name: 'multinic0',
      portId: port.id,
      macAddress: port.macAddress,
      address: '10.10.0.10',
      cidr: '10.10.0.0/24',
      mtu: 9000,
      gateway: '10.10.0.1',
      networkId: storage.networkId,
      subnetId: storage.id,
      source: `${namespace}/main`,
      subnetName: 'storage',
      networkName: 'storage-net',
    },
  ])
  assert.equal(node?.spec.instanceName, 'worker-1')
  await eventually(async () => assert.match(await condition('Ready'), /^True (Synced|NoChange)$/))
  await eventually(async () => assert.equal(await condition('NodesReady'), 'False NodesPending'))
  await eventually(async () => assert.ok((await metric('oldest_unready_port_seconds')) > 0))

  const working = { observedGeneration: node?.metadata.generation, lastJobName: 'multinic-agent-1' }
  await environment.report('worker-1', { ...working, state: 'InProgress' })
  await eventually(() => {
    const { stages } = environment.records.findLast(record => record.nodeName === 'worker-1')?.interfaces?.[0] ?? {}
    assert.deepEqual(Object.keys(stages ?? {}).sort(), ['cr', 'delivered', 'job', 'seen'])
  })
  await environment.report('worker-1', {
    ...working,
    state: 'Configured',
    conditions: [{ type: 'Ready', status: 'True', reason: 'AllInterfacesConfigured', message: 'All 1' }],
    interfaceStatuses: [{ id: 0, portId: port.id, macAddress: port.macAddress, status: 'Configured' }],
  })
  await eventually(async () => assert.equal(await condition('NodesReady'), 'True Healthy'))
  await eventually(async () => assert.equal(await metric('oldest_unready_port_seconds'), 0))
  assert.equal(await metric('removals_on_hold'), 0)
  await eventually(async () => {
    const { nodes, ports } = (await environment.config()).status ?? {}
    assert.deepEqual(nodes, { total: 1, configured: 1, failed: 0, pending: 0, ready: '1/1' })
    assert.deepEqual(ports, { total: 1, selected: 1, summary: '1/1' })
    const last = environment.records.filter(record => record.nodeName === 'worker-1').at(-1)
    assert.deepEqual(
      [last?.state, last?.reason, last?.interfaces?.[0]?.status],
      ['Configured', 'AllInterfacesConfigured', 'Configured'],
    )
  })
})

test('a detached port is removed from its node, and the others keep their indexes', async () => {
  attach(worker, storage, { address: '10.10.0.10', macAddress: '02:00:00:00:00:05' })
  const second = attach(worker, storage, { address: '10.10.0.11', macAddress: '02:00:00:00:00:06' })
  await environment.startOperator()
  await environment.create({})
  await waitForDelivered(['worker-1: multinic0=10.10.0.10 multinic1=10.10.0.11'])
  attach(worker, backup, { address: '10.20.0.10', macAddress: '02:00:00:00:00:01' })
  await waitForDelivered(['worker-1: multinic0=10.10.0.10 multinic1=10.10.0.11 multinic2=10.20.0.10'])
  removePort(environment.cloudState, second.id)
  await waitForDelivered(['worker-1: multinic0=10.10.0.10 multinic2=10.20.0.10'])
  attach(worker, storage, { address: '10.10.0.20' })
  await waitForDelivered(['worker-1: multinic0=10.10.0.10 multinic2=10.20.0.10 multinic3=10.10.0.20'])
})

test('a node without interfaces is deleted, and the inventory marks it as removed', async () => {
  const port = attach(worker, storage)
  await environment.startOperator()
  await environment.create({})
  await eventually(async () => assert.equal((await environment.nodes()).length, 1))
  removePort(environment.cloudState, port.id)
  await eventually(async () => assert.equal((await environment.nodes()).length, 0))
  await eventually(() => assert.equal(environment.records.at(-1)?.removed, true))
})

test('a second sync without changes writes nothing to Kubernetes, Viola or the inventory', async () => {
  attach(worker, storage)
  await environment.startOperator()
  await environment.create({ settings: { pollSlowInterval: '1h' } })
  const [node] = await eventually(async () => {
    const nodes = await environment.nodes()
    assert.equal(nodes.length, 1)
    return nodes
  })
  await environment.report('worker-1', { observedGeneration: node?.metadata.generation, state: 'Configured' })
  await eventually(async () => assert.equal(await condition('NodesReady'), 'True Healthy'))
  const syncs = async (count: number) => {
    const { neutron } = environment.cloud.calls()
    await eventually(() => assert.ok(environment.cloud.calls().neutron >= neutron + count))
  }
  // Every write to the cluster, Events included, changes its resource version.
  const version = async () => (await environment.kube.list(openstackConfigs, { namespace })).resourceVersion
  await syncs(3)
  const [records, before, calls] = [environment.records.length, await version(), environment.cloud.calls()]
  await syncs(5)
  assert.equal(await version(), before)
  assert.equal(environment.records.length, records)
  const after = environment.cloud.calls()
  assert.deepEqual([after.keystone, after.nova, after.contrabass], [calls.keystone, calls.nova, calls.contrabass])
})

test('a VM of two objects has the interfaces of both, and each removes only its own', async () => {
  attach(worker, storage, { address: '10.10.0.10' })
  attach(worker, backup, { address: '10.20.0.10' })
  await environment.startOperator()
  await environment.create({ name: 'one', subnetIDs: [storage.id] })
  await waitForDelivered(['worker-1: multinic0=10.10.0.10'])
  await environment.create({ name: 'two', subnetIDs: [backup.id] })
  await waitForDelivered(['worker-1: multinic0=10.10.0.10 multinic1=10.20.0.10'])
  await environment.kube.delete(openstackConfigs, { namespace, name: 'one' })
  await waitForDelivered(['worker-1: multinic1=10.20.0.10'])
  await eventually(async () =>
    assert.equal(await environment.kube.get(openstackConfigs, { namespace, name: 'one' }), undefined),
  )
})

test('a restarted operator with a lost inventory assigns the same indexes', async () => {
  attach(worker, storage, { address: '10.10.0.20', macAddress: '02:00:00:00:00:09' })
  const stop = await environment.startOperator()
  await environment.create({})
  await waitForDelivered(['worker-1: multinic0=10.10.0.20'])
  await stop()
  attach(worker, storage, { address: '10.10.0.10', macAddress: '02:00:00:00:00:01' })
  await environment.startOperator()
  await waitForDelivered(['worker-1: multinic0=10.10.0.20 multinic1=10.10.0.10'])
})

test('a token that lost its role removes nothing', async () => {
  attach(worker, storage, { address: '10.10.0.10' })
  await environment.startOperator()
  await environment.create({})
  await waitForDelivered(['worker-1: multinic0=10.10.0.10'])
  const { neutron } = environment.cloud.calls()
  environment.cloudState.faults.roleLost = true
  await eventually(() => assert.ok(environment.cloud.calls().neutron > neutron + 10))
  assert.deepEqual(await environment.deliveredTexts(), ['worker-1: multinic0=10.10.0.10'])
})

test('a 200 with an invalid, truncated or empty body removes nothing, and the status shows the error', async () => {
  attach(worker, storage, { address: '10.10.0.10' })
  await environment.startOperator()
  await environment.create({})
  await waitForDelivered(['worker-1: multinic0=10.10.0.10'])
  const ready = async () =>
    (await environment.config()).status?.conditions?.find(({ type }) => type === 'Ready')?.reason
  for (const fault of ['garbled', 'truncated', 'empty'] as const) {
    environment.cloudState.faults[fault] = ['neutron', 'nova']
    await eventually(async () => assert.equal(await ready(), 'NeutronPortError', fault))
    assert.deepEqual(await environment.deliveredTexts(), ['worker-1: multinic0=10.10.0.10'])
    environment.cloudState.faults[fault] = []
    await eventually(async () => assert.match((await ready()) ?? '', /^(Synced|NoChange)$/))
  }
  assert.deepEqual(await environment.deliveredTexts(), ['worker-1: multinic0=10.10.0.10'])
})

test('with Retain the interfaces stay when the object is deleted', async () => {
  attach(worker, storage, { address: '10.10.0.10' })
  await environment.startOperator()
  await environment.create({ deletionPolicy: 'Retain' })
  await waitForDelivered(['worker-1: multinic0=10.10.0.10'])
  await environment.kube.delete(openstackConfigs, { namespace, name: 'main' })
  await eventually(async () =>
    assert.equal(await environment.kube.get(openstackConfigs, { namespace, name: 'main' }), undefined),
  )
  assert.deepEqual(await environment.deliveredTexts(), ['worker-1: multinic0=10.10.0.10'])
})

test('a hand edit of a node config is undone, and recorded as a hand edit with its field manager', async () => {
  attach(worker, storage, { address: '10.10.0.10' })
  await environment.startOperator()
  await environment.create({})
  await waitForDelivered(['worker-1: multinic0=10.10.0.10'])
  const [node] = await environment.nodes()
  assert.ok(node)
  const { name, generation } = node.metadata
  await environment.report(name, { observedGeneration: generation ?? 1, state: 'Configured' })
  await eventually(() => assert.equal(environment.records.at(-1)?.state, 'Configured'))
  const spec = { interfaces: node.spec.interfaces.map(nic => ({ ...nic, mtu: 1400 })) }
  const edit = { metadata: { name, namespace }, spec }
  await environment.kube.apply(nodeConfigs, edit, { fieldManager: 'kubectl-edit', force: true })
  await eventually(() =>
    assert.match(
      environment.records.map(({ why }) => why).join(),
      /the node config was edited by hand \(field manager kubectl-edit\), and is delivered again/,
    ),
  )
  await eventually(async () => assert.equal((await environment.nodes())[0]?.spec.interfaces[0]?.mtu, 9000))
})

test('operator 15d: interfaces are removed although the Secret was deleted before its object', async () => {
  const token = (await readFile(environment.caller.tokenFile)).toString('base64')
  const metadata = { name: 'viola-token', namespace }
  await environment.kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata, data: { token } })
  attach(worker, storage, { address: '10.10.0.10' })
  await environment.startOperator()
  await environment.create({ secrets: { violaTokenSecretRef: { name: 'viola-token', key: 'token' } } })
  await waitForDelivered(['worker-1: multinic0=10.10.0.10'])
  await environment.kube.delete(secrets, metadata)
  await eventually(async () => assert.equal(await condition('Ready'), 'False ConfigError'))
  await environment.kube.delete(openstackConfigs, { namespace, name: 'main' })
  await waitForDelivered([])
})

test('the finalizer of an object is restored at once', async () => {
  await environment.startOperator()
  const slow = { pollErrorInterval: '1h', pollFastInterval: '1h', pollSlowInterval: '1h' }
  await environment.create({ settings: slow })
  const finalizers = async () => (await environment.config()).metadata.finalizers ?? []
  await eventually(async () => assert.deepEqual(await finalizers(), [openstackConfigFinalizer]))
  await eventually(async () => assert.ok((await environment.config()).status?.nextSyncAt))
  await environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, { metadata: { finalizers: null } })
  await eventually(async () => assert.deepEqual(await finalizers(), [openstackConfigFinalizer]))
})

test('a port of a cloud whose clock is a day behind is delivered, and one from before the object is not', async () => {
  environment.cloudState.faults.clockAheadSeconds = -24 * 3_600
  const old = attach(worker, backup, { address: '10.20.0.10' })
  old.createdAt = new Date(old.createdAt.getTime() - 3_600_000)
  await environment.startOperator()
  await environment.create({ settings: { openstackPortBaseline: 'creationTime' } })
  attach(worker, storage, { address: '10.10.0.10' })
  await waitForDelivered(['worker-1: multinic0=10.10.0.10'])
  await eventually(async () => assert.deepEqual((await environment.config()).status?.ports?.skipped, { PortTooOld: 1 }))
})

test('a recreated object that is younger than its ports keeps delivered interfaces and their indexes', async () => {
  const hourAgo = new Date(Date.now() - 3_600_000)
  const old = [10, 11].map(n => attach(worker, storage, { address: `10.10.0.${n}`, macAddress: `02:00:00:00:00:${n}` }))
  for (const port of old) port.createdAt = hourAgo
  const stop = await environment.startOperator()
  await environment.create({ settings: { openstackPortBaseline: 'none' } })
  const delivered = 'worker-1: multinic0=10.10.0.10 multinic1=10.10.0.11'
  await waitForDelivered([delivered])
  await stop()
  const at = { namespace, name: 'main' }
  await environment.kube.patch(openstackConfigs, at, { metadata: { finalizers: [] } })
  await environment.kube.delete(openstackConfigs, at)
  const late = attach(worker, storage, { address: '10.10.0.5' })
  late.createdAt = hourAgo
  attach(worker, backup, { address: '10.20.0.10' })
  await environment.create({ settings: { openstackPortBaseline: 'creationTime' } })
  await environment.startOperator()
  await waitForDelivered([`${delivered} multinic2=10.20.0.10`])
  await eventually(async () => assert.deepEqual((await environment.config()).status?.ports?.skipped, { PortTooOld: 1 }))
})
