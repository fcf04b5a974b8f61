/** A cloud that hangs, many syncs and long outages, over real HTTP. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { afterEach, beforeEach, test } from 'node:test'
import { encrypted } from '../../../sandbox/cloud/contrabass.ts'
import { addPort, addServer, addSubnet, type Server, type Subnet, setPortStatus } from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { startStubServer } from '../../../test/openstack/stub-server.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { metricOf } from '../../../test/support/exposition.ts'
import { openstackConfigAnnotations, openstackConfigs } from '../../contract/openstack-config.ts'
import { createLog } from '../../telemetry/log.ts'

let environment: OperatorEnvironment
let storage: Subnet
/** The backoff after each failed sync, in ms. */
let backoffs: number[]

beforeEach(async () => {
  backoffs = []
  environment = await startOperatorEnvironment(createLog({}, { write: recordBackoff }))
  storage = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/16', mtu: 9000 })
})
afterEach(() => environment.close())

function recordBackoff(line: string): void {
  const { message, retryAfterMs } = JSON.parse(line)
  if (message === 'sync failed') backoffs.push(retryAfterMs)
}

function workerWithPort(name: string): Server {
  const server = addServer(environment.cloudState, name)
  setPortStatus(environment.cloudState, addPort(environment.cloudState, { server, subnet: storage }).id, 'ACTIVE')
  return server
}

const syncs = () => metricOf(environment.operatorUrl(), 'multinic_operator_sync_seconds_count')

test('a cloud that hangs, with as many objects as workers, does not block the other clouds', async () => {
  const { user, provider } = environment.cloudState
  const attributes = { adminId: user.name, adminPw: encrypted(user.password, provider.encryptKey), domain: user.domain }
  await using contrabass = await startStubServer(({ path }) =>
    path.endsWith('/provider-0')
      ? { status: 200, hang: true }
      : { status: 200, body: { data: { url: environment.cloud.urls.keystone, attributes } } },
  )
  const hanging = () => contrabass.requests.filter(({ path }) => path.endsWith('/provider-0')).length
  const slow = { pollFastInterval: '1h', pollSlowInterval: '1h' }
  const settings = { ...slow, contrabassEndpoint: contrabass.url, contrabassTimeout: '10m' }
  const create = async (n: number) => {
    const server = workerWithPort(`worker-${n}`)
    const { projectID, k8sProviderID } = { projectID: environment.cloudState.project.id, k8sProviderID: 'biz-1' }
    const credentials = { openstackProviderID: `provider-${n % 3}`, projectID, k8sProviderID }
    await environment.create({ name: `config-${n}`, vmNames: [server.id], credentials, settings })
  }
  await environment.startOperator({}, { workers: 4 })
  for (let n = 0; n < 12; n += 3) await create(n)
  await eventually(() => assert.equal(hanging(), 1))
  for (let n = 0; n < 12; n++) if (n % 3 > 0) await create(n)
  await eventually(async () => assert.equal((await environment.nodes()).length, 8), { within: 60_000 })
  assert.equal(hanging(), 1)
})

test('an inventory that does not answer does not hold up the other objects of a cloud', async () => {
  await using inventory = await startStubServer(() => ({ status: 200, hang: true }))
  const isRecording = () => inventory.requests.some(({ method }) => method !== 'GET')
  // Then one object at a time uses the cloud.
  await environment.startOperator({ INVENTORY_URL: inventory.url }, { workers: 5 })
  for (const name of ['worker-1', 'worker-2', 'worker-3'])
    await environment.create({ name, vmNames: [workerWithPort(name).id] })
  await eventually(async () => assert.equal((await environment.nodes()).length, 3))
  assert.ok(isRecording())
})

test('syncs leak no file descriptors', async () => {
  const worker = workerWithPort('worker-1')
  await environment.startOperator()
  const every = '1ms'
  await environment.create({ settings: { pollFastInterval: every, pollSlowInterval: every, pollErrorInterval: every } })
  const open = async () => (await readdir('/proc/self/fd')).length
  const after = (count: number) =>
    eventually(async () => assert.ok((await syncs()) >= count), { within: 60_000, every: 100 })
  await after(20)
  const before = await open()
  await after(50)
  // Also with broken connections and new logins.
  environment.cloud.revokeTokens()
  environment.cloudState.faults.failing = ['neutron']
  await after((await syncs()) + 2)
  environment.cloudState.faults.failing = []
  setPortStatus(
    environment.cloudState,
    addPort(environment.cloudState, { server: worker, subnet: storage }).id,
    'ACTIVE',
  )
  await after((await syncs()) + 30)
  const left = await eventually(async () => {
    const now = await open()
    assert.ok(now <= before + 5, `${before} descriptors grew to ${now}`)
    return now
  })
  assert.ok(left > 0)
})

test('after a long outage an edit or the annotation resets the backoff', async () => {
  workerWithPort('worker-1')
  await environment.startOperator()
  await environment.create({ subnetIDs: ['nowhere'], settings: { pollErrorInterval: '100ms' } })
  // The backoff is at least 640 ms after the fourth failure, and at most 120 ms after the first.
  const backedOff = () => eventually(() => assert.ok((backoffs.at(-1) ?? 0) >= 640))
  const resets = async (patch: object) => {
    const before = backoffs.length
    await environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, patch)
    await eventually(() => assert.ok(backoffs.slice(before).some(ms => ms <= 120)))
  }
  await backedOff()
  await resets({ metadata: { annotations: { [openstackConfigAnnotations.forceReconcile]: '1' } } })
  await backedOff()
  await resets({ spec: { deletionPolicy: 'Retain' } })
})

test('with more than 300 VMs, a port outside of the selected subnets has a verdict too', async () => {
  const other = addSubnet(environment.cloudState, { name: 'other', cidr: '10.20.0.0/16', mtu: 1500 })
  const first = workerWithPort('worker-0')
  for (let n = 1; n <= 300; n++) addServer(environment.cloudState, `worker-${n}`)
  const outside = addPort(environment.cloudState, { server: first, subnet: other })
  await environment.startOperator()
  await environment.create({ subnetIDs: [storage.id], settings: { pollFastInterval: '1h', pollSlowInterval: '1h' } })
  await eventually(() => {
    const verdicts = environment.verdicts.flatMap(write => write.verdicts)
    assert.equal(verdicts.find(({ portId }) => portId === outside.id)?.reason, 'NotSelected')
  })
})
