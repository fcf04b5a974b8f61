/** The operator over real HTTP: sandbox Kubernetes, sandbox cloud, our own Viola. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import {
  addPort,
  addServer,
  addSubnet,
  removePort,
  type Server,
  type Subnet,
  setPortStatus,
} from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { type Stage, startStage } from '../../test/operator/environment.ts'
import { eventually } from '../../test/support/eventually.ts'
import { openstackConfigs } from '../contract/openstack-config.ts'

let stage: Stage
let storage: Subnet
let backup: Subnet
let worker: Server

beforeEach(async () => {
  stage = await startStage()
  storage = addSubnet(stage.world, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  backup = addSubnet(stage.world, { name: 'backup', cidr: '10.20.0.0/24', mtu: 1450 })
  worker = addServer(stage.world, 'worker-1')
})
afterEach(() => stage.close())

function attach(server: Server, subnet: Subnet, more: { address?: string; macAddress?: string } = {}) {
  const port = addPort(stage.world, { server, subnet, ...more })
  setPortStatus(stage.world, port.id, 'ACTIVE')
  return port
}

async function condition(type: string, name?: string): Promise<string> {
  const found = (await stage.config(name)).status?.conditions?.find(one => one.type === type)
  return `${found?.status} ${found?.reason}`
}

async function tells(expected: string[]): Promise<void> {
  await eventually(async () => assert.deepEqual(await stage.told(), expected))
}

test('a port walks from Neutron to a node config, and the node’s word walks back into status and inventory', async () => {
  const port = attach(worker, storage, { address: '10.10.0.10' })
  await stage.startOperator()
  await stage.create({})
  await tells(['worker-1: multinic0=10.10.0.10'])
  const [node] = await stage.nodes()
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
    },
  ])
  await eventually(async () => assert.equal(await condition('Ready'), 'True Synced'))
  await eventually(async () => assert.equal(await condition('NodesReady'), 'False NodesPending'))

  const working = { observedGeneration: node?.metadata.generation, lastJobName: 'multinic-agent-1' }
  await stage.report('worker-1', { ...working, state: 'InProgress' })
  await eventually(() => {
    const { stages } = stage.records.findLast(record => record.nodeName === 'worker-1')?.interfaces?.[0] ?? {}
    assert.deepEqual(Object.keys(stages ?? {}).sort(), ['cr', 'delivered', 'job', 'seen'])
  })
  await stage.report('worker-1', {
    ...working,
    state: 'Configured',
    conditions: [{ type: 'Ready', status: 'True', reason: 'AllInterfacesConfigured', message: 'All 1' }],
    interfaceStatuses: [{ id: 0, portId: port.id, macAddress: port.macAddress, status: 'Configured' }],
  })
  await eventually(async () => assert.equal(await condition('NodesReady'), 'True Healthy'))
  await eventually(async () => {
    const { nodes, ports } = (await stage.config()).status ?? {}
    assert.deepEqual(nodes, { total: 1, configured: 1, failed: 0, pending: 0, ready: '1/1' })
    assert.deepEqual(ports, { total: 1, taken: 1, summary: '1/1' })
    const last = stage.records.filter(record => record.nodeName === 'worker-1').at(-1)
    assert.deepEqual(
      [last?.state, last?.reason, last?.interfaces?.[0]?.status],
      ['Configured', 'AllInterfacesConfigured', 'Configured'],
    )
  })
})

test('a port that is detached is gone from its node, and the others keep their numbers', async () => {
  attach(worker, storage, { address: '10.10.0.10', macAddress: '02:00:00:00:00:05' })
  const second = attach(worker, storage, { address: '10.10.0.11', macAddress: '02:00:00:00:00:06' })
  await stage.startOperator()
  await stage.create({})
  await tells(['worker-1: multinic0=10.10.0.10 multinic1=10.10.0.11'])
  attach(worker, backup, { address: '10.20.0.10', macAddress: '02:00:00:00:00:01' })
  await tells(['worker-1: multinic0=10.10.0.10 multinic1=10.10.0.11 multinic2=10.20.0.10'])
  removePort(stage.world, second.id)
  await tells(['worker-1: multinic0=10.10.0.10 multinic2=10.20.0.10'])
  attach(worker, storage, { address: '10.10.0.20' })
  await tells(['worker-1: multinic0=10.10.0.10 multinic1=10.10.0.20 multinic2=10.20.0.10'])
})

test('a node that has nothing left is deleted, and the inventory ends its record', async () => {
  const port = attach(worker, storage)
  await stage.startOperator()
  await stage.create({})
  await eventually(async () => assert.equal((await stage.nodes()).length, 1))
  removePort(stage.world, port.id)
  await eventually(async () => assert.equal((await stage.nodes()).length, 0))
  await eventually(() => assert.equal(stage.records.at(-1)?.removed, true))
})

test('a second sync with nothing new writes nothing, to Kubernetes, Viola or the inventory', async () => {
  attach(worker, storage)
  await stage.startOperator()
  await stage.create({ settings: { pollSlowInterval: '1h' } })
  const [node] = await eventually(async () => {
    const nodes = await stage.nodes()
    assert.equal(nodes.length, 1)
    return nodes
  })
  await stage.report('worker-1', { observedGeneration: node?.metadata.generation, state: 'Configured' })
  await eventually(async () => assert.equal(await condition('NodesReady'), 'True Healthy'))
  const syncs = async (count: number) => {
    const { neutron } = stage.cloud.calls()
    await eventually(() => assert.ok(stage.cloud.calls().neutron >= neutron + count))
  }
  // Every write to the cluster, Events included, moves its version.
  const version = async () => (await stage.kube.list(openstackConfigs, { namespace })).resourceVersion
  await syncs(3)
  const [records, before, calls] = [stage.records.length, await version(), stage.cloud.calls()]
  await syncs(5)
  assert.equal(await version(), before)
  assert.equal(stage.records.length, records)
  const after = stage.cloud.calls()
  assert.deepEqual([after.keystone, after.nova, after.contrabass], [calls.keystone, calls.nova, calls.contrabass])
})

test('two objects on one VM give the union, and each takes away only its own', async () => {
  attach(worker, storage, { address: '10.10.0.10' })
  attach(worker, backup, { address: '10.20.0.10' })
  await stage.startOperator()
  await stage.create({ name: 'one', subnetIDs: [storage.id] })
  await tells(['worker-1: multinic0=10.10.0.10'])
  await stage.create({ name: 'two', subnetIDs: [backup.id] })
  await tells(['worker-1: multinic0=10.10.0.10 multinic1=10.20.0.10'])
  await stage.kube.delete(openstackConfigs, { namespace, name: 'one' })
  await tells(['worker-1: multinic1=10.20.0.10'])
  await eventually(async () =>
    assert.equal(await stage.kube.get(openstackConfigs, { namespace, name: 'one' }), undefined),
  )
})

test('a restarted operator with a lost inventory gives the same numbers', async () => {
  attach(worker, storage, { address: '10.10.0.20', macAddress: '02:00:00:00:00:09' })
  const stop = await stage.startOperator()
  await stage.create({})
  await tells(['worker-1: multinic0=10.10.0.20'])
  await stop()
  attach(worker, storage, { address: '10.10.0.10', macAddress: '02:00:00:00:00:01' })
  await stage.startOperator()
  await tells(['worker-1: multinic0=10.10.0.20 multinic1=10.10.0.10'])
})

test('a token that lost its role removes nothing', async () => {
  attach(worker, storage, { address: '10.10.0.10' })
  await stage.startOperator()
  await stage.create({})
  await tells(['worker-1: multinic0=10.10.0.10'])
  const { neutron } = stage.cloud.calls()
  stage.world.faults.roleLost = true
  await eventually(() => assert.ok(stage.cloud.calls().neutron > neutron + 10))
  assert.deepEqual(await stage.told(), ['worker-1: multinic0=10.10.0.10'])
})

test('a 200 with garbage, with half of the list or with nothing removes nothing, and is told', async () => {
  attach(worker, storage, { address: '10.10.0.10' })
  await stage.startOperator()
  await stage.create({})
  await tells(['worker-1: multinic0=10.10.0.10'])
  const ready = async () => (await stage.config()).status?.conditions?.find(({ type }) => type === 'Ready')?.reason
  for (const manner of ['garbled', 'truncated', 'empty'] as const) {
    stage.world.faults[manner] = ['neutron', 'nova']
    await eventually(async () => assert.equal(await ready(), 'NeutronPortError', manner))
    assert.deepEqual(await stage.told(), ['worker-1: multinic0=10.10.0.10'])
    stage.world.faults[manner] = []
    await eventually(async () => assert.match((await ready()) ?? '', /^(Synced|NoChange)$/))
  }
  assert.deepEqual(await stage.told(), ['worker-1: multinic0=10.10.0.10'])
})

test('Retain leaves the interfaces on the nodes when the object is deleted', async () => {
  attach(worker, storage, { address: '10.10.0.10' })
  await stage.startOperator()
  await stage.create({ deletionPolicy: 'Retain' })
  await tells(['worker-1: multinic0=10.10.0.10'])
  await stage.kube.delete(openstackConfigs, { namespace, name: 'main' })
  await eventually(async () =>
    assert.equal(await stage.kube.get(openstackConfigs, { namespace, name: 'main' }), undefined),
  )
  assert.deepEqual(await stage.told(), ['worker-1: multinic0=10.10.0.10'])
})

test('an object that is made anew later than its ports loses nothing that was delivered, and keeps the numbers', async () => {
  const hourAgo = new Date(Date.now() - 3_600_000)
  const old = [10, 11].map(n => attach(worker, storage, { address: `10.10.0.${n}`, macAddress: `02:00:00:00:00:${n}` }))
  for (const port of old) port.createdAt = hourAgo
  const stop = await stage.startOperator()
  await stage.create({ settings: { openstackPortBaseline: 'none' } })
  const delivered = 'worker-1: multinic0=10.10.0.10 multinic1=10.10.0.11'
  await tells([delivered])
  await stop()
  const at = { namespace, name: 'main' }
  await stage.kube.patch(openstackConfigs, at, { metadata: { finalizers: [] } })
  await stage.kube.delete(openstackConfigs, at)
  const late = attach(worker, storage, { address: '10.10.0.5' })
  late.createdAt = hourAgo
  attach(worker, backup, { address: '10.20.0.10' })
  await stage.create({ settings: { openstackPortBaseline: 'creationTime' } })
  await stage.startOperator()
  await tells([`${delivered} multinic2=10.20.0.10`])
  await eventually(async () => assert.deepEqual((await stage.config()).status?.ports?.skipped, { BeforeBaseline: 1 }))
})
