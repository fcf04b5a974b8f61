/** How little the operator asks of a cloud and of Kubernetes, over real HTTP. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { addPort, addServer, addSubnet, type Server, setPortStatus } from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { projectId, standInCloud, standInViola, subnetIds, vmIdOf } from '../../test/operator/benchmark-stubs.ts'
import { type Stage, startStage } from '../../test/operator/environment.ts'
import { eventually } from '../../test/support/eventually.ts'
import { openstackConfigs } from '../contract/openstack-config.ts'

let stage: Stage
const workers: Server[] = []
const never = { pollFastInterval: '1h', pollSlowInterval: '1h', pollErrorInterval: '1h' }

before(async () => {
  stage = await startStage()
  const subnet = addSubnet(stage.world, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  for (const name of ['worker-1', 'worker-2', 'worker-3']) {
    const server = addServer(stage.world, name)
    setPortStatus(stage.world, addPort(stage.world, { server, subnet }).id, 'ACTIVE')
    workers.push(server)
  }
})
after(() => stage.close())

async function syncs(): Promise<number> {
  const text = await (await request(`${stage.operatorUrl()}/metrics`)).body.text()
  return Number(/^multinic_operator_sync_seconds_count (\S+)$/m.exec(text)?.[1] ?? 0)
}

test('objects of one provider and project share login, token, subnets and networks', async () => {
  await stage.startOperator()
  for (const [n, worker] of workers.entries())
    await stage.create({ name: `config-${n}`, vmNames: [worker.id], settings: never })
  await eventually(async () => assert.equal((await stage.nodes()).length, 3))
  const { contrabass, keystone, nova, neutron } = stage.cloud.calls()
  assert.deepEqual({ contrabass, keystone, nova }, { contrabass: 1, keystone: 1, nova: 3 })
  // At most one listing of ports a sync, those under way included; one call for all subnets and one for all networks.
  const mostListings = (await syncs()) + workers.length
  assert.ok(neutron <= mostListings + 2, `${neutron} calls to Neutron for ${mostListings} syncs`)
})

test('one change is one sync: our own writes wake nobody', async () => {
  for (const { spec, metadata } of await stage.nodes())
    await stage.report(spec.nodeName, { observedGeneration: metadata.generation, state: 'Configured' })
  // While nodes are being configured they are looked at every second.
  await eventually(async () => {
    for (const n of workers.keys()) assert.equal((await stage.config(`config-${n}`)).status?.nodes?.configured, 1)
  })
  const settled = await eventually(async () => {
    const seen = await syncs()
    await sleep(1_500)
    assert.equal(await syncs(), seen)
    return seen
  })
  const edit = { spec: { settings: { pollSlowInterval: '2h' } } }
  await stage.kube.patch(openstackConfigs, { namespace, name: 'config-0' }, edit)
  await eventually(async () => assert.equal((await stage.config('config-0')).status?.observedGeneration, 2))
  await eventually(async () => {
    await sleep(500)
    assert.equal(await syncs(), settled + 1)
  })
})

test('a sync of 1,000 VMs with 5 ports each in 5 subnets takes at most 20 calls of the cloud', async t => {
  const cloud = await standInCloud({ key: stage.world.provider.encryptKey, vms: 1_000, callMs: 0 })
  const viola = await standInViola({ configured: true })
  t.after(() => Promise.all([cloud.close(), viola.close()]))
  await stage.create({
    name: 'many',
    subnetIDs: subnetIds,
    vmNames: Array.from({ length: 1_000 }, (_, n) => vmIdOf(n)),
    credentials: { openstackProviderID: 'p', k8sProviderID: 'biz-many', projectID: projectId },
    settings: { ...never, contrabassEndpoint: cloud.url, violaEndpoint: viola.url },
  })
  await eventually(() => assert.equal(viola.nodes(), 1_000), { within: 90_000 })
  assert.ok(cloud.calls() <= 20, `${cloud.calls()} calls`)
})
