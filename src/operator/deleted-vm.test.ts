/** VMs that Nova no longer shows, over real HTTP: when their interfaces go, and when they stay (G2). */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { addPort, addServer, addSubnet, removeServer, type Server, setPortStatus } from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { otherClusterId, type Stage, startStage } from '../../test/operator/environment.ts'
import { eventually } from '../../test/support/eventually.ts'
import { openstackConfigs } from '../contract/openstack-config.ts'
import { events } from '../kube/resources.ts'

let stage: Stage
let worker: Server

beforeEach(async () => {
  stage = await startStage()
  worker = addServer(stage.world, 'worker-1')
  const subnet = addSubnet(stage.world, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  const port = addPort(stage.world, { server: worker, subnet, address: '10.10.0.10' })
  setPortStatus(stage.world, port.id, 'ACTIVE')
  await stage.startOperator()
  await stage.create({})
  await eventually(async () => assert.deepEqual(await stage.told(), delivered), { within: 30_000 })
})
afterEach(() => stage.close())

const delivered = ['worker-1: multinic0=10.10.0.10']

async function degraded(): Promise<string | undefined> {
  return (await stage.config()).status?.conditions?.find(one => one.type === 'Degraded')?.reason
}

async function someSyncs(): Promise<void> {
  const { nova, neutron } = stage.cloud.calls()
  await eventually(
    () => {
      const now = stage.cloud.calls()
      assert.ok(now.nova > nova + 3 && now.neutron > neutron + 10)
    },
    { within: 30_000 },
  )
}

test('the only VM of an object is deleted: Nova remembers that, so its interfaces go', async () => {
  removeServer(stage.world, worker.id)
  await eventually(async () => assert.deepEqual(await stage.told(), []), { within: 30_000 })
})

test('the only VM of an object is not there for this project: nothing is removed, and the user is told', async () => {
  removeServer(stage.world, worker.id)
  stage.world.deletedServers.clear()
  await stage.kube.patch(openstackConfigs, { namespace, name: 'main' }, { metadata: { annotations: forced } })
  await eventually(async () => assert.equal(await degraded(), 'VmNotFound'), { within: 30_000 })
  await someSyncs()
  assert.deepEqual(await stage.told(), delivered)
})

const forced = { 'multinic.io/force-reconcile': 'now' }

test('a VM that is taken out of vmNames loses its interfaces, whatever Nova says', async () => {
  const other = addServer(stage.world, 'worker-2')
  removeServer(stage.world, worker.id)
  stage.world.deletedServers.clear()
  stage.world.faults.failing = ['nova']
  await stage.kube.patch(openstackConfigs, { namespace, name: 'main' }, { spec: { vmNames: [other.id] } })
  await eventually(async () => assert.deepEqual(await stage.told(), []), { within: 30_000 })
})

test('an object that is pointed at another cluster tells what stays at the old one', async () => {
  const to = (k8sProviderID: string) =>
    stage.kube.patch(openstackConfigs, { namespace, name: 'main' }, { spec: { credentials: { k8sProviderID } } })
  await to(otherClusterId)
  await eventually(
    async () => {
      const { leftBehind, conditions } = (await stage.config()).status ?? {}
      assert.deepEqual(
        leftBehind?.map(({ providerId, nodes }) => `${nodes} of ${providerId}`),
        ['1 of biz-1'],
      )
      assert.equal(conditions?.find(one => one.type === 'RemovalPending')?.reason, 'NodesOrphaned')
      const said = (await stage.kube.list(events, { namespace })).items.map(event => event.reason)
      assert.ok(said.includes('NodesOrphaned'))
    },
    { within: 30_000 },
  )
})
