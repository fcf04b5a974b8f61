/** Over real HTTP: what one answer of Neutron removes, what needs a second one, and which index a port gets that returns. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import {
  addPort,
  addServer,
  addSubnet,
  type Port,
  removePort,
  type Server,
  type Subnet,
  setPortStatus,
} from '../../../sandbox/cloud/state.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { type HalfAnswer, type HalfAnswering, startHalfAnswering } from '../../../test/operator/half-answers.ts'
import { openSyncDeps, type SyncParts } from '../../../test/operator/sync-deps.ts'
import { type OpenstackConfig, openstackConfigAnnotations } from '../../contract/openstack-config.ts'
import { silent } from '../../telemetry/log.ts'
import { noHints } from '../events/hints.ts'
import { nextStatus } from '../status/status.ts'
import { type SyncResult, sync } from '../sync/sync.ts'

let environment: OperatorEnvironment
let proxy: HalfAnswering
let parts: SyncParts
let config: OpenstackConfig
let now: number
let worker: Server
let storage: Subnet
let elsewhere: Subnet
let ports: Port[]

const signal = new AbortController().signal
const started = Date.now()
const clocks = { now: () => now, date: () => new Date(started + now) }

beforeEach(async () => {
  environment = await startOperatorEnvironment()
  const { cloudState, cloud } = environment
  now = 0
  storage = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 1500 })
  elsewhere = addSubnet(cloudState, { name: 'elsewhere', cidr: '10.20.0.0/24', mtu: 1500 })
  worker = addServer(cloudState, 'worker-1')
  ports = ['10.10.0.10', '10.10.0.11'].map(attach)
  const { neutron, nova } = cloud.urls
  proxy = await startHalfAnswering({ neutron, nova, random: () => 0, now: () => now })
  config = await environment.create({
    subnetIDs: [storage.id],
    settings: { openstackNeutronEndpoint: proxy.neutron, openstackNovaEndpoint: proxy.nova },
  })
  parts = await openSyncDeps(environment, clocks)
  await syncNow()
  assert.deepEqual(await environment.deliveredTexts(), both)
})
afterEach(async () => {
  await parts.close()
  await proxy[Symbol.asyncDispose]()
  await environment.close()
})

const both = ['worker-1: multinic0=10.10.0.10 multinic1=10.10.0.11']
const second = ['worker-1: multinic1=10.10.0.11']

function attach(address: string): Port {
  const macAddress = `fa:16:3e:00:00:${address.slice(-2)}`
  const port = addPort(environment.cloudState, { server: worker, subnet: storage, address, macAddress })
  setPortStatus(environment.cloudState, port.id, 'ACTIVE')
  return port
}

async function syncNow(fault?: HalfAnswer): Promise<SyncResult> {
  proxy.fault = fault
  const result = await sync(config, parts.deps, {
    signal,
    log: silent,
    scope: { reads: 'everything', fresh: true },
    hints: noHints,
  })
  const { findings, changed, error } = result
  const outcome = { generation: 1, error, findings, changed, nextSyncMs: 1_000 }
  config = { ...config, status: nextStatus(config.status, outcome, clocks.date(), 0) ?? config.status ?? {} }
  return result
}

function change(port: Port | undefined, more: Partial<Port>): void {
  assert.ok(port)
  Object.assign(port, more, { revision: port.revision + 1 })
}

function verdicts({ findings }: SyncResult): string[] {
  return findings.verdicts.flatMap(({ reason, message }) => (reason === 'Selected' ? [] : `${reason}: ${message}`))
}

for (const fault of ['noAddresses', 'noAddressField', 'noPort', 'noDevice', 'emptyPage', 'stale'] as const)
  test(`an answer with the fault ${fault} removes nothing, whatever the time and the number of answers`, async () => {
    // Of the time before the second port was attached.
    if (fault === 'stale') change(ports[1], { fixedIps: [{ subnetId: storage.id, ipAddress: '10.10.0.11' }] })
    for (const ms of [1_000, 4_000, 6_000]) {
      now += ms
      await syncNow(fault)
      assert.deepEqual(await environment.deliveredTexts(), both)
    }
    await syncNow()
    assert.deepEqual(await environment.deliveredTexts(), both)
  })

for (const [condition, vmSelector] of Object.entries({
  name: { namePattern: 'worker-*' },
  metadata: { metadata: { cluster: 'a' } },
  tags: { tags: ['multinic'] },
}))
  for (const fault of ['noServer', 'noServerFields'] as const)
    test(`a VM that is selected by its ${condition} stays with the fault ${fault}, and leaves when it is so`, async () => {
      worker.metadata = { cluster: 'a' }
      worker.tags.push('multinic')
      const older = { metadata: worker.metadata, tags: worker.tags, createdAt: new Date(0) }
      for (let n = 2; n < 6; n++) Object.assign(addServer(environment.cloudState, `worker-${n}`), older)
      const { vmNames: _, ...spec } = config.spec
      config = { ...config, spec: { ...spec, vmSelector } }
      await syncNow()
      for (const ms of [1_000, 4_000, 6_000]) {
        now += ms
        const { error } = await syncNow(fault)
        if (fault === 'noServer') assert.equal(error, undefined)
        assert.deepEqual(await environment.deliveredTexts(), both)
      }
      Object.assign(worker, { name: 'retired-1', metadata: {}, tags: [] })
      await syncNow()
      assert.deepEqual(await environment.deliveredTexts(), [])
    })

test('an answer without the gateway and the routes of a subnet keeps those of the interfaces, and one that has none removes them', async () => {
  const gatewaysAndRoutes = async () =>
    (await environment.nodes()).flatMap(({ spec }) =>
      spec.interfaces.map(({ gateway, routes = [] }) => [gateway, routes.length]),
    )
  storage.hostRoutes = [{ destination: '10.99.0.0/16', nexthop: '10.10.0.9' }]
  await syncNow()
  const delivered = [0, 1].map(() => [storage.gatewayIp, 1])
  assert.deepEqual(await gatewaysAndRoutes(), delivered)
  await syncNow('noSubnetFields')
  assert.deepEqual(await gatewaysAndRoutes(), delivered)
  Object.assign(storage, { gatewayIp: null, hostRoutes: [] })
  await syncNow()
  assert.deepEqual(await gatewaysAndRoutes(), [
    [undefined, 0],
    [undefined, 0],
  ])
})

test('a port without addresses in one answer while Nova fails: the verdict says what is waited for, and the next sync is near', async () => {
  environment.cloudState.faults.failing = ['nova']
  const result = await syncNow('noAddresses')
  assert.deepEqual(verdicts(result), [
    'RemovalUnconfirmed: multinic0 stays: Neutron lists the port without an address in a selected subnet',
    'RemovalUnconfirmed: multinic1 stays: Neutron lists the port without an address in a selected subnet',
  ])
  assert.equal(result.repeatReadMs, 5_000)
  environment.cloudState.faults.failing = []
  now += 10_000
  const next = await syncNow()
  assert.deepEqual([verdicts(next), next.repeatReadMs], [[], undefined])
  assert.deepEqual(await environment.deliveredTexts(), both)
})

test('a port that only Nova has an address of stays, and is read again after the fast interval', async () => {
  const result = await syncNow('noAddresses')
  assert.deepEqual(
    verdicts(result),
    [0, 1].map(
      index =>
        `RemovalUnconfirmed: multinic${index} stays: Neutron lists the port without an address in a selected subnet, but a second answer has it`,
    ),
  )
  assert.deepEqual([result.unresolved, result.repeatReadMs], [true, undefined])
  assert.equal((await syncNow()).unresolved, false)
})

test('a port that has no address for five seconds loses its interface, although Nova fails', async () => {
  change(ports[0], { fixedIps: [] })
  environment.cloudState.faults.failing = ['nova']
  await syncNow()
  now += 4_999
  await syncNow()
  assert.deepEqual(await environment.deliveredTexts(), both)
  now += 1
  await syncNow()
  assert.deepEqual(await environment.deliveredTexts(), second)
})

test('a port that moved to another subnet loses its interface at once, because Nova says so too', async () => {
  const fixedIps = [{ subnetId: elsewhere.id, ipAddress: '10.20.0.10' }]
  change(ports[0], { networkId: elsewhere.networkId, fixedIps })
  await syncNow()
  assert.deepEqual(await environment.deliveredTexts(), second)
})

test('a port that was detached or deleted loses its interface at once, because Nova says so too', async () => {
  change(ports[0], { deviceId: '', deviceOwner: '' })
  await syncNow()
  assert.deepEqual(await environment.deliveredTexts(), second)
  removePort(environment.cloudState, ports[1]?.id ?? '')
  await syncNow()
  assert.deepEqual(await environment.deliveredTexts(), [])
})

test('the index of a removed interface stays reserved for its port for ten minutes, also for another leader', async () => {
  const [first] = ports
  change(first, { deviceId: '', deviceOwner: '' })
  await syncNow()
  assert.deepEqual(
    config.status?.reservedIndexes?.map(({ portId, index }) => `${portId} ${index}`),
    [`${first?.id} 0`],
  )
  await parts.close()
  parts = await openSyncDeps(environment, clocks)
  attach('10.10.0.12')
  await syncNow()
  assert.deepEqual(await environment.deliveredTexts(), ['worker-1: multinic1=10.10.0.11 multinic2=10.10.0.12'])
  change(first, { deviceId: worker.id, deviceOwner: 'compute:nova' })
  now += 9 * 60_000
  await syncNow()
  assert.deepEqual(await environment.deliveredTexts(), [
    'worker-1: multinic0=10.10.0.10 multinic1=10.10.0.11 multinic2=10.10.0.12',
  ])
  assert.equal(config.status?.reservedIndexes, undefined)
})

test('after ten minutes another port gets the index', async () => {
  change(ports[0], { deviceId: '', deviceOwner: '' })
  await syncNow()
  now += 10 * 60_000
  attach('10.10.0.12')
  await syncNow()
  assert.deepEqual(await environment.deliveredTexts(), ['worker-1: multinic0=10.10.0.12 multinic1=10.10.0.11'])
  assert.equal(config.status?.reservedIndexes, undefined)
})

/** The name storage means another subnet; the former one has another name. */
async function reuseSubnetName(): Promise<Subnet> {
  const { subnetIDs: _, ...spec } = config.spec
  config = { ...config, spec: { ...spec, subnetName: 'storage' } }
  await syncNow()
  assert.deepEqual(config.status?.resolvedSubnets, { storage: storage.id })
  storage.name = 'storage-old'
  return addSubnet(environment.cloudState, { name: 'storage', cidr: '10.30.0.0/24', mtu: 1500 })
}

test('a subnet name that means another subnet removes nothing until a person approves it, also under another leader', async () => {
  const other = await reuseSubnetName()
  await parts.close()
  parts = await openSyncDeps(environment, clocks)
  for (const ms of [0, 6_000]) {
    now += ms
    const why = `storage in subnets now means subnet ${other.id}`
    assert.deepEqual(verdicts(await syncNow()), [
      `SubnetNameReused: multinic0 stays until you approve its removal: ${why}`,
      `SubnetNameReused: multinic1 stays until you approve its removal: ${why}`,
    ])
    assert.deepEqual(await environment.deliveredTexts(), both)
    const condition = (type: string) => config.status?.conditions?.find(one => one.type === type)
    assert.equal(condition('RemovalHeld')?.status, 'True')
    assert.match(condition('RemovalHeld')?.message ?? '', /annotate osc main multinic\.io\/approve-removals=/)
    assert.equal(condition('Degraded')?.reason, 'RemovalHeld')
    assert.deepEqual(config.status?.resolvedSubnets, { storage: storage.id })
  }
  const annotations = { [openstackConfigAnnotations.approveRemovals]: 'yes' }
  config = { ...config, metadata: { ...config.metadata, annotations } }
  await syncNow()
  assert.deepEqual(await environment.deliveredTexts(), [])
  assert.deepEqual(config.status?.resolvedSubnets, { storage: other.id })
})

test('a subnet that gets its name back is no longer on hold', async () => {
  const other = await reuseSubnetName()
  assert.equal((await syncNow()).findings.removalsOnHold.length, 2)
  Object.assign(other, { name: 'other' })
  storage.name = 'storage'
  assert.deepEqual(verdicts(await syncNow()), [])
  assert.deepEqual(await environment.deliveredTexts(), both)
})

test('a port of the subnet that the name meant before leaves when it is detached', async () => {
  await reuseSubnetName()
  await syncNow()
  change(ports[0], { deviceId: '', deviceOwner: '' })
  await syncNow()
  assert.deepEqual(await environment.deliveredTexts(), second)
})

test('a user who replaces a subnet name needs no approval', async () => {
  await reuseSubnetName()
  config = { ...config, spec: { ...config.spec, subnetName: 'elsewhere' } }
  await syncNow()
  assert.deepEqual(await environment.deliveredTexts(), [])
})
