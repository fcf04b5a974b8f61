import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sandboxNamespace } from '../../sandbox/lifecycle/components.ts'
import { openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { type OpenstackConfig, openstackConfigs } from '../../src/contract/openstack-config.ts'
import { KubeError } from '../../src/kube/errors.ts'
import { eventually } from '../support/eventually.ts'
import { startTestSandbox, type TestSandbox } from './sandbox.fixture.ts'

let system: TestSandbox

before(async () => {
  system = await startTestSandbox({ nodes: 1 })
})
after(() => system.stop())

const post = (body: unknown, headers: Record<string, string> = {}) =>
  system.call(`${system.sandbox.urls['viola']}/v1/k8s/multinic/node-configs`, {
    method: 'POST',
    body,
    headers: { 'x-provider-id': system.sandbox.clusterId, ...headers },
  })

const refusedConfigs: Record<string, [change: (config: OpenstackConfig) => void, message: RegExp]> = {
  'without a VM': [config => Object.assign(config.spec, { vmNames: [] }), /spec\.vmNames/],
  'without a subnet': [
    config => Object.assign(config.spec, { subnetIDs: [] }),
    /either subnets, or one of subnetIDs, subnetID and subnetName/,
  ],
  'with an invalid duration': [
    config => Object.assign(config.spec, { settings: { pollFastInterval: 'soon' } }),
    /spec\.settings\.pollFastInterval/,
  ],
  'with an invalid project ID': [
    config => Object.assign(config.spec.credentials ?? {}, { projectID: 'mine' }),
    /spec\.credentials\.projectID/,
  ],
}
for (const [name, [change, message]] of Object.entries(refusedConfigs))
  test(`an OpenstackConfig ${name} is refused with the name of the field`, async () => {
    const { cloudState, management, clusterId } = system.sandbox
    const input = {
      name: 'bad',
      vmNames: [...cloudState.servers.keys()],
      subnetIDs: [...cloudState.subnets.keys()],
      clusterId,
    }
    const config = openstackConfigFor(cloudState, input)
    change(config)
    await assert.rejects(management.kube.create(openstackConfigs, config), error => {
      assert.ok(error instanceof KubeError)
      assert.equal(error.status, 422)
      assert.match(error.message, message)
      return true
    })
  })

const nic = { id: 0, name: 'multinic0', macAddress: 'fa:16:3e:00:00:01', address: '10.10.0.9', cidr: '10.10.0.0/24' }
const refusedNics: Record<string, [interfaces: object[], message: RegExp]> = {
  'an invalid MAC address': [[{ ...nic, macAddress: 'mine' }], /spec\.interfaces\[0\]\.macAddress/],
  'a name that does not match its id': [[{ ...nic, id: 3 }], /name must be multinic followed by the id/],
  'two interfaces with the same id': [[nic, { ...nic, macAddress: 'fa:16:3e:00:00:02' }], /id must be unique/],
  'an MTU out of range': [[{ ...nic, mtu: 10 }], /spec\.interfaces\[0\]\.mtu/],
}
for (const [name, [interfaces, message]] of Object.entries(refusedNics))
  test(`a MultiNicNodeConfig with ${name} is refused with the name of the field`, async () => {
    const config = {
      apiVersion: 'multinic.io/v1',
      kind: 'MultiNicNodeConfig',
      metadata: { name: 'bad', namespace: sandboxNamespace },
      spec: { nodeName: 'bad', interfaces: interfaces as (typeof nic)[] },
    }
    await assert.rejects(system.sandbox.biz.kube.create(nodeConfigs, config), error => {
      assert.ok(error instanceof KubeError)
      assert.equal(error.status, 422)
      assert.match(error.message, message)
      return true
    })
  })

test('a POST with errors returns 400 with every field and applies nothing', async () => {
  const { status, body } = await post([
    { nodeName: 'worker-1', interfaces: [{ ...nic, macAddress: 'mine', mtu: 1 }] },
    { nodeName: '', interfaces: [nic] },
    { nodeName: 'worker-9', interfaces: [nic] },
  ])
  assert.equal(status, 400)
  const paths = (body as { errors: { path: string }[] }).errors.map(error => error.path).sort()
  assert.deepEqual(paths, ['[0].interfaces[0].macAddress', '[0].interfaces[0].mtu', '[1].nodeName'])
  assert.equal(
    await system.sandbox.biz.kube.get(nodeConfigs, { namespace: sandboxNamespace, name: 'worker-9' }),
    undefined,
  )
})

test('a POST for an unknown provider returns 404', async () => {
  assert.equal((await post([{ nodeName: 'worker-1', interfaces: [nic] }], { 'x-provider-id': 'unknown' })).status, 404)
})

test('a config for a missing node waits with a reason and does not block other nodes', async () => {
  const answer = await post([{ nodeName: 'worker-9', interfaces: [nic] }])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  await eventually(
    async () => {
      const { status } = await system.nodeConfig('worker-9')
      const ready = status?.conditions?.find(condition => condition.type === 'Ready')
      assert.deepEqual([status?.state, ready?.status, ready?.reason], ['Pending', 'False', 'NodeNotFound'])
    },
    { within: 20_000 },
  )
  system.attach({ vm: 'worker-1', subnet: 'storage' })
  await system.waitUntilReady()
  const health = await system.call(`${system.sandbox.urls['controller']}/healthz`)
  assert.equal((health.body as { status: string }).status, 'healthy')

  const path = `${system.sandbox.urls['viola']}/v1/k8s/multinic/node-configs/worker-9`
  const deleted = await system.call(path, { method: 'DELETE', headers: { 'x-provider-id': system.sandbox.clusterId } })
  assert.ok(deleted.status < 300, `${deleted.status}`)
  await eventually(async () =>
    assert.equal(
      await system.sandbox.biz.kube.get(nodeConfigs, { namespace: sandboxNamespace, name: 'worker-9' }),
      undefined,
    ),
  )
})
