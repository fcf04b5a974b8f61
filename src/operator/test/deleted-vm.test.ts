/** VMs that Nova no longer finds, over real HTTP: when their interfaces are removed, and when they stay (G2). */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import {
  addPort,
  addServer,
  addSubnet,
  removeServer,
  type Server,
  type Subnet,
  setPortStatus,
} from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import {
  type OperatorEnvironment,
  otherClusterId,
  startOperatorEnvironment,
} from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'
import { events } from '../../kube/resources.ts'

let environment: OperatorEnvironment
let worker: Server

beforeEach(async () => {
  environment = await startOperatorEnvironment()
  worker = addServer(environment.cloudState, 'worker-1')
  const subnet = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  const port = addPort(environment.cloudState, { server: worker, subnet, address: '10.10.0.10' })
  setPortStatus(environment.cloudState, port.id, 'ACTIVE')
  await environment.startOperator()
  await environment.create({})
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), delivered), { within: 30_000 })
})
afterEach(() => environment.close())

const delivered = ['worker-1: multinic0=10.10.0.10']

async function degraded(): Promise<string | undefined> {
  return (await environment.config()).status?.conditions?.find(one => one.type === 'Degraded')?.reason
}

async function waitForSyncs(): Promise<void> {
  const { nova, neutron } = environment.cloud.calls()
  await eventually(
    () => {
      const now = environment.cloud.calls()
      assert.ok(now.nova > nova + 3 && now.neutron > neutron + 10)
    },
    { within: 30_000 },
  )
}

test('the only VM of an object is deleted: Nova has a record of that, so its interfaces are removed', async () => {
  removeServer(environment.cloudState, worker.id)
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), []), { within: 30_000 })
})

test('the only VM of an object is not visible in the project: nothing is removed, and the status shows it', async () => {
  removeServer(environment.cloudState, worker.id)
  environment.cloudState.deletedServers.clear()
  await environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, { metadata: { annotations: forced } })
  await eventually(async () => assert.equal(await degraded(), 'VmNotFound'), { within: 30_000 })
  await waitForSyncs()
  assert.deepEqual(await environment.deliveredTexts(), delivered)
})

test('a VM with many ports is deleted: Nova has a record of that, so the removal needs no approval', async () => {
  const [subnet] = environment.cloudState.subnets.values()
  for (const address of ['10.10.0.11', '10.10.0.12', '10.10.0.13']) {
    const port = addPort(environment.cloudState, { server: worker, subnet: subnet as Subnet, address })
    setPortStatus(environment.cloudState, port.id, 'ACTIVE')
  }
  await eventually(async () => assert.match(String(await environment.deliveredTexts()), /multinic3/), {
    within: 30_000,
  })
  removeServer(environment.cloudState, worker.id)
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), []), { within: 30_000 })
})

/** The name worker-1 means a new server; the old one has another name. */
async function reuseName(): Promise<Server> {
  const edit = (patch: object) => environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, patch)
  await edit({ spec: { vmNames: ['worker-1'] } })
  await eventually(
    async () => {
      const { observedGeneration, conditions } = (await environment.config()).status ?? {}
      assert.equal(observedGeneration, (await environment.config()).metadata.generation)
      assert.equal(conditions?.find(one => one.type === 'Ready')?.status, 'True')
    },
    { within: 30_000 },
  )
  const [subnet] = environment.cloudState.subnets.values()
  worker.name = 'worker-1-old'
  const server = addServer(environment.cloudState, 'worker-1')
  const port = addPort(environment.cloudState, { server, subnet: subnet as Subnet, address: '10.10.0.99' })
  setPortStatus(environment.cloudState, port.id, 'ACTIVE')
  await edit({ metadata: { annotations: forced } })
  return server
}

test('operator 7, 15f: a name that comes to mean another server removes nothing, and says how to approve it', async () => {
  const server = await reuseName()
  await eventually(
    async () => {
      const { conditions } = (await environment.config()).status ?? {}
      const onHold = conditions?.find(one => one.type === 'RemovalHeld')
      assert.equal(onHold?.status, 'True')
      assert.match(onHold?.message ?? '', new RegExp(`worker-1 in vmNames now means server ${server.id}`))
      assert.match(
        onHold?.message ?? '',
        /kubectl -n multinic-system annotate osc main multinic\.io\/approve-removals=/,
      )
      const event = (await environment.kube.list(events, { namespace })).items.find(one => one.reason === 'RemovalHeld')
      assert.match(event?.message ?? '', /annotate osc main multinic\.io\/approve-removals=/)
    },
    { within: 30_000 },
  )
  await waitForSyncs()
  assert.deepEqual(await environment.deliveredTexts(), delivered)
  const approved = { 'multinic.io/approve-removals': 'yes' }
  await environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, { metadata: { annotations: approved } })
  await waitForNewServer()
})

test('operator 7: a name that comes to mean another server follows it once Nova records the deletion of the old one', async () => {
  await reuseName()
  await eventually(async () => assert.equal((await environment.config()).status?.heldRemovals?.length, 1), {
    within: 30_000,
  })
  removeServer(environment.cloudState, worker.id)
  await waitForNewServer()
})

async function waitForNewServer(): Promise<void> {
  await eventually(
    async () => assert.deepEqual(await environment.deliveredTexts(), ['worker-1: multinic0=10.10.0.99']),
    { within: 30_000 },
  )
}

const forced = { 'multinic.io/force-reconcile': 'now' }

test('the interfaces of a VM that is removed from vmNames are removed, even if Nova fails', async () => {
  const other = addServer(environment.cloudState, 'worker-2')
  removeServer(environment.cloudState, worker.id)
  environment.cloudState.deletedServers.clear()
  environment.cloudState.faults.failing = ['nova']
  await environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, { spec: { vmNames: [other.id] } })
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), []), { within: 30_000 })
})

test('after a change of the cluster, the status shows the nodes of the old one', async () => {
  const to = (k8sProviderID: string) =>
    environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, { spec: { credentials: { k8sProviderID } } })
  await to(otherClusterId)
  await eventually(
    async () => {
      const { orphanedNodes, conditions } = (await environment.config()).status ?? {}
      assert.deepEqual(
        orphanedNodes?.map(({ providerId, nodes }) => `${nodes} of ${providerId}`),
        ['1 of biz-1'],
      )
      assert.equal(conditions?.find(one => one.type === 'RemovalPending')?.reason, 'NodesOrphaned')
      const reasons = (await environment.kube.list(events, { namespace })).items.map(event => event.reason)
      assert.ok(reasons.includes('NodesOrphaned'))
    },
    { within: 30_000 },
  )
})
