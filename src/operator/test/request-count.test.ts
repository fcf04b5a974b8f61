/** The number of requests to clouds and to Kubernetes, over real HTTP. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { addPort, addServer, addSubnet, type Server, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { projectId, startCloudStub, startViolaStub, subnetIds, vmIdOf } from '../../../test/operator/benchmark-stubs.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'

let environment: OperatorEnvironment
const workers: Server[] = []
const never = { pollFastInterval: '1h', pollSlowInterval: '1h', pollErrorInterval: '1h' }

before(async () => {
  environment = await startOperatorEnvironment()
  const subnet = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  for (const name of ['worker-1', 'worker-2', 'worker-3']) {
    const server = addServer(environment.cloudState, name)
    setPortStatus(environment.cloudState, addPort(environment.cloudState, { server, subnet }).id, 'ACTIVE')
    workers.push(server)
  }
})
after(() => environment.close())

/** The sum of what the pattern captures in the metrics of the operator. */
async function metricSum(pattern: RegExp): Promise<number> {
  const text = await (await request(`${environment.operatorUrl()}/metrics`)).body.text()
  return [...text.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0)
}

function syncs(): Promise<number> {
  return metricSum(/^multinic_operator_sync_seconds_count (\S+)$/gm)
}

/** Waits until no sync is due. */
function syncsAtRest(): Promise<number> {
  return eventually(async () => {
    const seen = await syncs()
    await sleep(1_500)
    assert.equal(await syncs(), seen)
    return seen
  })
}

function violaReads(): Promise<number> {
  return metricSum(/^multinic_client_requests_total\{service="viola",method="GET",.*\} (\S+)$/gm)
}

test('objects of one provider and project share login, token, subnets and networks, and list Viola once', async () => {
  await environment.startOperator()
  for (const [n, worker] of workers.entries())
    await environment.create({ name: `config-${n}`, vmNames: [worker.id], settings: never })
  await eventually(async () => assert.equal((await environment.nodes()).length, 3))
  const { contrabass, keystone, nova, neutron } = environment.cloud.calls()
  assert.deepEqual({ contrabass, keystone, nova }, { contrabass: 1, keystone: 1, nova: 3 })
  // At most one port list for each sync, one call for all subnets and one for all networks.
  const maxListings = (await syncs()) + workers.length
  assert.ok(neutron <= maxListings + 2, `${neutron} calls to Neutron for ${maxListings} syncs`)
  // One stream, and at most one list for each sync: a delivery needs no second one, also if others deliver to the cluster.
  const lists = await violaReads()
  assert.ok(lists <= maxListings + 1, `${lists} lists of Viola for ${maxListings} syncs`)
})

test('one edit causes one sync: the operator’s own writes start none', async () => {
  for (const { spec, metadata } of await environment.nodes())
    await environment.report(spec.nodeName, { observedGeneration: metadata.generation, state: 'Configured' })
  await eventually(async () => {
    for (const n of workers.keys()) assert.equal((await environment.config(`config-${n}`)).status?.nodes?.configured, 1)
  })
  const stable = await syncsAtRest()
  const edit = { spec: { settings: { pollSlowInterval: '2h' } } }
  await environment.kube.patch(openstackConfigs, { namespace, name: 'config-0' }, edit)
  await eventually(async () => assert.equal((await environment.config('config-0')).status?.observedGeneration, 2))
  await eventually(async () => {
    await sleep(500)
    assert.equal(await syncs(), stable + 1)
  })
})

test('a delivery to many nodes needs no list of Viola and no second sync, although Viola reports them before it answers', async () => {
  const { cloudState } = environment
  const subnet = addSubnet(cloudState, { name: 'backup', cidr: '10.20.0.0/24', mtu: 9000 })
  const servers = Array.from({ length: 30 }, (_, n) => addServer(cloudState, `many-${n}`))
  const config = { subnetIDs: [subnet.id], vmNames: servers.map(({ id }) => id), settings: never }
  await environment.create({ name: 'many', ...config })
  await eventually(async () => assert.ok((await environment.config('many')).status?.observedGeneration))
  const before = { syncs: await syncsAtRest(), reads: await violaReads() }
  for (const server of servers) setPortStatus(cloudState, addPort(cloudState, { server, subnet }).id, 'ACTIVE')
  await environment.kube.patch(
    openstackConfigs,
    { namespace, name: 'many' },
    { spec: { settings: { pollSlowInterval: '2h' } } },
  )
  await eventually(async () => assert.equal((await environment.nodes()).length, workers.length + servers.length))
  const after = { syncs: await syncsAtRest(), reads: await violaReads() }
  assert.deepEqual(after, { syncs: before.syncs + 1, reads: before.reads })
})

for (const { vms, calls } of [
  { vms: 1_000, calls: 6 },
  { vms: 2_500, calls: 8 },
])
  test(`a sync of ${vms} VMs with 5 ports each in 5 subnets needs ${calls} calls: one for each further 5,000 ports`, async t => {
    const cloud = await startCloudStub({ key: environment.cloudState.provider.encryptKey, vms, callMs: 0 })
    const viola = await startViolaStub()
    t.after(() => Promise.all([cloud.close(), viola.close()]))
    await environment.create({
      name: `many-${vms}`,
      subnetIDs: subnetIds,
      vmNames: Array.from({ length: vms }, (_, n) => vmIdOf(n)),
      credentials: { openstackProviderID: 'p', k8sProviderID: `biz-${vms}`, projectID: projectId },
      settings: { ...never, contrabassEndpoint: cloud.url, violaEndpoint: viola.url },
    })
    await eventually(() => assert.equal(viola.nodes(), vms), { within: 90_000 })
    assert.equal(cloud.calls(), calls)
  })
