/**
 * Our operator and Viola with a real Keystone, Neutron and Nova, whose pages have at most three entries.
 *
 * The tests build on each other: ports are attached, wait, are detached and hidden, and nothing is removed without reason.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Connection } from 'rabbitmq-client'
import type { WireInterface } from '../../src/contract/interfaces.ts'
import { type OpenstackConfig, openstackConfigAnnotations } from '../../src/contract/openstack-config.ts'
import { type OpenStack, startOpenStack } from '../rigs/openstack/rig.ts'
import { type RealCloudSystem, type SpecInput, startRealCloudSystem } from './real-cloud.ts'

let cloud: OpenStack
let system: RealCloudSystem
const nets = { primary: '', storage: '', twin: '', shared: '' }
const subnets = { storage: '', six: '', twin: '', shared: '' }
const vms = { one: '', two: '', three: '' }
/** Names that the test gives to ports, by id. */
const labels = new Map<string, string>()

const routes = [{ destination: '192.0.2.0/24', nexthop: '10.60.0.9' }]
/** The first test includes the start of the cloud. */
const long = { timeout: 15 * 60_000 }

before(async () => {
  cloud = await startOpenStack({ pageLimit: 3 })
  system = await startRealCloudSystem(cloud)
  nets.primary = await cloud.createNetwork({ name: 'primary' })
  await cloud.createSubnet({ name: 'primary', networkId: nets.primary, cidr: '192.168.0.0/24' })
  nets.storage = await cloud.createNetwork({ name: 'storage', mtu: 9000 })
  subnets.storage = await subnet('storage', nets.storage, '10.60.0.0/24', { routes })
  subnets.six = await subnet('storage-6', nets.storage, 'fd60::/64', { gateway: 'fd60::1' })
  nets.twin = await cloud.createNetwork({ name: 'twin', mtu: 1450 })
  subnets.twin = await subnet('twin', nets.twin, '10.60.0.0/24', { gateway: null })
  const owner = { projectId: cloud.adminProjectId }
  nets.shared = await cloud.createNetwork({ name: 'shared', mtu: 1400, shared: true, ...owner })
  subnets.shared = await subnet('shared', nets.shared, '10.61.0.0/24', owner)
  const boot = (name: string, networkId: string) =>
    cloud.bootServer({ name, nics: [{ networkId: nets.primary }, { networkId }] })
  const third = { name: 'third', nics: [{ networkId: nets.primary }], metadata: { node: 'metal-3' } }
  ;[vms.one, vms.two, vms.three] = await Promise.all([
    boot('worker-1', nets.storage),
    boot('worker-2', nets.twin),
    cloud.bootServer(third),
  ])
  await label('storage', vms.one, nets.storage)
  await label('twin', vms.two, nets.twin)
}, long)
after(async () => {
  await system?.stop()
  await cloud?.close()
})

function subnet(name: string, networkId: string, cidr: string, more: object = {}): Promise<string> {
  return cloud.createSubnet({ name, networkId, cidr, ...more })
}

/** Gives the port of a server in a network a name in this test. */
async function label(name: string, vm: string, networkId: string): Promise<void> {
  const { ports } = await cloud.api.call('neutron', 'GET', `/v2.0/ports?device_id=${vm}&network_id=${networkId}`)
  labels.set(ports[0].id, name)
}

function idOf(name: string): string {
  return [...labels].find(([, own]) => own === name)?.[0] ?? assert.fail(`no port has the label ${name}`)
}

async function attach(name: string, vm: string, networkId: string): Promise<void> {
  labels.set(await cloud.attach(vm, { networkId }), name)
}

/** `worker-1: multinic0=storage multinic1=twin` */
async function delivery(): Promise<string[]> {
  const lines = (await system.nodes()).map(({ spec }) => {
    const nics = spec.interfaces.map(nic => `${nic.name}=${labels.get(nic.portId ?? '') ?? nic.portId}`)
    return [`${spec.nodeName}:`, ...nics].join(' ')
  })
  return lines.sort()
}

const waitForDelivery = (...lines: string[]) => system.eventually(async () => assert.deepEqual(await delivery(), lines))

/** `True Synced` or `False KeystoneError`; NoChange counts as Synced. */
function readyOf({ status }: OpenstackConfig): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  return `${ready?.status} ${ready?.reason === 'NoChange' ? 'Synced' : ready?.reason}`
}

const waitForReady = (expected: string, name = 'main') =>
  system.eventually(async () => assert.equal(readyOf(await system.config(name)), expected))

const waitForSkipped = (expected: Record<string, number> | undefined) =>
  system.eventually(async () => assert.deepEqual((await system.config()).status?.ports?.skipped, expected))

async function forceSync(): Promise<void> {
  await system.change('main', ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, [openstackConfigAnnotations.forceReconcile]: `${Date.now()}` }
  })
}

test('ports of real servers are delivered with all their Neutron data', long, async () => {
  await system.create('main', {
    subnetIDs: [subnets.storage, subnets.six, subnets.twin, subnets.shared],
    vmNames: [vms.one, 'worker-2'],
    settings: { openstackNodeNameMetadataKey: 'node' },
  })
  await waitForDelivery('worker-1: multinic0=storage', 'worker-2: multinic0=twin')

  const [one, two] = (await system.nodes()).map(({ spec }) => spec)
  assert.deepEqual([one?.instanceId, two?.instanceId], [vms.one, vms.two])
  const address = await addressOf('storage', subnets.storage)
  const expected: WireInterface = {
    id: 0,
    name: 'multinic0',
    portId: idOf('storage'),
    macAddress: await macOf('storage'),
    address,
    cidr: '10.60.0.0/24',
    mtu: 9000,
    addresses: [`${address}/24`, `${await addressOf('storage', subnets.six)}/64`],
    gateway: '10.60.0.1',
    routes,
    networkId: nets.storage,
    subnetId: subnets.storage,
    source: 'multinic-system/main',
    subnetName: 'storage',
    networkName: 'storage',
  }
  assert.deepEqual(one?.interfaces, [expected])
  assert.deepEqual(two?.interfaces, [
    {
      id: 0,
      name: 'multinic0',
      portId: idOf('twin'),
      macAddress: await macOf('twin'),
      address: await addressOf('twin', subnets.twin),
      cidr: '10.60.0.0/24',
      mtu: 1450,
      networkId: nets.twin,
      subnetId: subnets.twin,
      source: 'multinic-system/main',
      subnetName: 'twin',
      networkName: 'twin',
    },
  ])
  await waitForReady('True Synced')
  await system.eventually(async () => {
    const { status } = await system.config()
    assert.deepEqual(status?.ports, { total: 2, selected: 2, summary: '2/2' })
    assert.deepEqual([status?.nodes?.total, status?.nodes?.pending], [2, 2])
  })
})

interface NeutronPort {
  status: string
  mac_address: string
  fixed_ips: { subnet_id: string; ip_address: string }[]
}

async function inNeutron(name: string): Promise<NeutronPort> {
  return (await cloud.api.call('neutron', 'GET', `/v2.0/ports/${idOf(name)}`)).port
}

async function macOf(name: string): Promise<string> {
  return (await inNeutron(name)).mac_address
}

async function addressOf(name: string, subnetId: string): Promise<string> {
  const found = (await inNeutron(name)).fixed_ips.find(ip => ip.subnet_id === subnetId)
  return found?.ip_address ?? assert.fail(`${name} has no address in ${subnetId}`)
}

test('attached ports are delivered: created by Nova, created before, and in a shared network', long, async () => {
  await attach('second', vms.one, nets.twin)
  // Wait here: the first selectable port gets the lower index, and either of the two may be in BUILD for longer.
  await waitForDelivery('worker-1: multinic0=storage multinic1=second', 'worker-2: multinic0=twin')
  const own = await cloud.createPort({ networkId: nets.shared, name: 'own' })
  labels.set(own, 'own')
  await cloud.attach(vms.one, { portId: own })
  await waitForDelivery('worker-1: multinic0=storage multinic1=second multinic2=own', 'worker-2: multinic0=twin')
  const nic = (await system.nodes())[0]?.spec.interfaces.find(({ id }) => id === 2)
  assert.deepEqual([nic?.mtu, nic?.cidr, nic?.gateway], [1400, '10.61.0.0/24', '10.61.0.1'])
})

test(
  'a port in BUILD or ERROR waits, a DOWN port is delivered, and no port is removed for its status',
  long,
  async () => {
    const one = 'worker-1: multinic0=storage multinic1=second multinic2=own'
    await cloud.holdPorts('BUILD')
    await attach('late', vms.three, nets.storage)
    await system.eventually(async () => assert.equal((await inNeutron('late')).status, 'BUILD'))
    await system.change('main', ({ spec }) => {
      spec.vmNames = [...(spec.vmNames ?? []), vms.three]
    })
    await waitForSkipped({ PortStatusNotAllowed: 1 })
    await cloud.forcePortStatus(idOf('late'), 'ERROR')
    await system.waitForSyncs(2)
    assert.deepEqual(await delivery(), [one, 'worker-2: multinic0=twin'])
    await cloud.releasePorts()
    await waitForDelivery('metal-3: multinic0=late', one, 'worker-2: multinic0=twin')
    await waitForSkipped(undefined)

    await cloud.holdPorts('DOWN')
    await attach('down', vms.two, nets.shared)
    await waitForDelivery('metal-3: multinic0=late', one, 'worker-2: multinic0=twin multinic1=down')
    await attach('more', vms.two, nets.storage)
    const all = ['metal-3: multinic0=late', one, 'worker-2: multinic0=twin multinic1=down multinic2=more']
    await waitForDelivery(...all)
    await system.eventually(async () => assert.ok((await system.config()).status?.downPortRetry?.fastAttempts))
    await cloud.releasePorts()
    await system.eventually(async () => assert.equal((await system.config()).status?.downPortRetry, undefined))

    for (const status of ['BUILD', 'ERROR', 'N/A']) {
      await cloud.forcePortStatus(idOf('late'), status)
      await system.waitForSyncs(1)
    }
    assert.deepEqual(await delivery(), all)
    await cloud.forcePortStatus(idOf('late'), 'ACTIVE')
  },
)

test('ports of other owners on the server are reported and ignored', long, async () => {
  const foreign = await cloud.createPort({ networkId: nets.twin, deviceId: vms.two, deviceOwner: 'network:dhcp' })
  const unowned = await cloud.createPort({ networkId: nets.twin, deviceId: vms.two })
  await waitForSkipped({ DeviceOwnerNotAllowed: 1, PortNotBound: 1 })
  for (const id of [foreign, unowned]) await cloud.deletePort(id)
  await waitForSkipped(undefined)
})

const others = ['metal-3: multinic0=late', 'worker-2: multinic0=twin multinic1=down multinic2=more'] as const
const delivered = [others[0], 'worker-1: multinic0=storage multinic2=own', others[1]]

test(
  'detached ports are removed, the others keep their indexes, and a port that returns gets its own again',
  long,
  async () => {
    await cloud.detach(vms.one, idOf('second'))
    await waitForDelivery(others[0], 'worker-1: multinic0=storage multinic2=own', others[1])
    await cloud.detach(vms.one, idOf('own'))
    await waitForDelivery(others[0], 'worker-1: multinic0=storage', others[1])
    await cloud.attach(vms.one, { portId: idOf('own') })
    await waitForDelivery(...delivered)
  },
)

test('a server with a new name or new metadata keeps its node', long, async () => {
  await cloud.renameServer(vms.one, 'renamed')
  await cloud.setMetadata(vms.two, { node: 'tagged' })
  await system.change('main', ({ spec }) => {
    spec.vmNames = Object.values(vms)
  })
  await forceSync()
  await system.eventually(async () => {
    const ready = (await system.config()).status?.conditions?.find(({ type }) => type === 'Ready')
    assert.match(ready?.message ?? '', /VmNameChanged 2/)
  })
  assert.deepEqual(await delivery(), delivered)
})

test('a role without permissions shows an empty cloud, and nothing is removed', long, async () => {
  await cloud.createRole('observer')
  await cloud.grant(system.account.user, 'observer')
  await cloud.revoke(system.account.user, 'admin')
  await system.eventually(async () => assert.match(readyOf(await system.config()), /^False /))
  await system.waitForSyncs(2)
  assert.deepEqual(await delivery(), delivered)
  await cloud.grant(system.account.user, 'admin')
  await forceSync()
  await waitForReady('True Synced')
  assert.deepEqual(await delivery(), delivered)
})

test(
  'a revoked role invalidates the tokens: nothing is removed, and the sync recovers with the role',
  long,
  async () => {
    await cloud.revoke(system.account.user, 'observer')
    await cloud.revoke(system.account.user, 'admin')
    await waitForReady('False KeystoneError')
    await system.waitForSyncs(1)
    assert.deepEqual(await delivery(), delivered)
    await cloud.grant(system.account.user, 'admin')
    await waitForReady('True Synced')
    assert.deepEqual(await delivery(), delivered)
  },
)

const mistakes: Record<string, [spec: SpecInput, ready: string, message: RegExp]> = {
  'a missing subnet': [{ subnetIDs: ['21bd2a2d-9b3f-487f-84ec-fc9078c753e2'] }, 'False SubnetNotFound', /21bd2a2d/],
  'an unknown subnet name': [{ subnetIDs: [], subnetName: 'nosuch' }, 'False SubnetNotFound', /nosuch/],
  'an ambiguous subnet name': [{ subnetIDs: [], subnetName: 'double' }, 'False SubnetNotUnique', /double/],
  'an unknown region': [
    { settings: { openstackEndpointRegion: 'elsewhere' } },
    'False NeutronEndpointError',
    /elsewhere.*RegionOne/,
  ],
  'a project without access': [{ credentials: { projectID: 'f'.repeat(32) } }, 'False KeystoneError', /401/],
  'an unknown provider': [{ credentials: { openstackProviderID: 'other' } }, 'False ContrabassError', /404/],
}

test('each mistake has its own reason and changes nothing', long, async () => {
  for (const networkId of [nets.primary, nets.twin]) await subnet('double', networkId, '10.70.0.0/24')
  const objects = Object.entries(mistakes).map(([name, [spec, ready, message]], index) => {
    return { object: `mistake-${index}`, name, spec, ready, message }
  })
  for (const { object, spec } of objects)
    await system.create(object, { subnetIDs: [subnets.shared], vmNames: [vms.one], ...spec })
  for (const { object, name, ready, message } of objects) {
    await waitForReady(ready, object)
    assert.match((await system.config(object)).status?.lastError ?? '', message, name)
  }
  assert.deepEqual(await delivery(), delivered)
})

async function removalHeld(): Promise<string | undefined> {
  return (await system.config()).status?.conditions?.find(({ type }) => type === 'RemovalHeld')?.status
}

test('the removal of many ports at once is on hold until a user approves it', long, async () => {
  // Without the operator, which would see them one by one.
  await system.withoutOperator(async () => {
    for (const name of ['twin', 'down', 'more']) await cloud.deletePort(idOf(name))
  })
  await system.eventually(async () => assert.equal(await removalHeld(), 'True'))
  await system.waitForSyncs(2)
  assert.deepEqual(await delivery(), delivered)
  await system.change('main', ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, [openstackConfigAnnotations.approveRemovals]: 'yes' }
  })
  await waitForDelivery(...delivered.slice(0, 2))
})

test('a deleted VM with many ports is removed at once: Nova has a record of the deletion', long, async () => {
  const remaining = delivered.slice(0, 2)
  const again = { again: nets.shared, lower: nets.shared, further: nets.storage }
  for (const [name, networkId] of Object.entries(again)) await attach(name, vms.two, networkId)
  await system.eventually(async () => {
    const lines = await delivery()
    assert.ok(
      lines.some(line => Object.keys(again).every(name => line.includes(`=${name}`))),
      lines.join('; '),
    )
  })
  await system.withoutOperator(() => cloud.deleteServer(vms.two))
  await waitForDelivery(...remaining)
  assert.notEqual(await removalHeld(), 'True')
})

test('notifications of Neutron and Nova trigger syncs although polling is every ten minutes', long, async t => {
  const [late, storage] = delivered
  const tide = await cloud.createNetwork({ name: 'tide', mtu: 1442 })
  // There is no notification when a port leaves BUILD, so accept every status.
  const polls = { pollFastInterval: '10m', pollSlowInterval: '10m', openstackPortAllowedStatuses: ['*'] }
  const subnetIDs = [await subnet('tide', tide, '10.62.0.0/24')]
  await system.create('notified', { subnetIDs, vmNames: [vms.one, vms.three], settings: polls })
  await system.eventually(async () => {
    const { status } = await system.config('notified')
    assert.equal(status?.conditions?.find(({ type }) => type === 'EventsConnected')?.status, 'True')
  })
  const timed = async (what: string, work: () => Promise<void>, ...lines: string[]) => {
    await work()
    const started = performance.now()
    await waitForDelivery(...lines)
    t.diagnostic(`${what}: ${Math.round(performance.now() - started)} ms after the answer of the API`)
    await system.reportConfigured('notified')
  }
  await timed(
    'attached, created by Nova',
    () => attach('created', vms.three, tide),
    `${late} multinic1=created`,
    `${storage}`,
  )
  const kept = await cloud.createPort({ networkId: tide, name: 'kept' })
  labels.set(kept, 'kept')
  const both = [`${late} multinic1=created`, `${storage} multinic3=kept`]
  await timed('attached, created before', () => cloud.attach(vms.one, { portId: kept }).then(() => {}), ...both)
  const mtu = { network: { mtu: 1400 } }
  await cloud.api.call('neutron', 'PUT', `/v2.0/networks/${tide}`, mtu)
  await system.eventually(async () => {
    const nics = (await system.nodes()).flatMap(({ spec }) => spec.interfaces)
    assert.equal(nics.find(({ portId }) => portId === kept)?.mtu, 1400)
  })
  await system.reportConfigured('notified')
  await timed('detached, the port stays', () => cloud.detach(vms.one, kept), `${late} multinic1=created`, `${storage}`)
  await timed('port deleted', () => cloud.deletePort(idOf('created')), `${late}`, `${storage}`)
  const { lastEventAt, lagMs } = (await system.config('notified')).status?.events ?? {}
  assert.ok(lastEventAt !== undefined && lagMs !== undefined)
})

test('the operator does not consume from the shared notification queue', long, async () => {
  const connection = new Connection(cloud.rabbit.url)
  connection.on('error', () => {})
  const { messageCount, consumerCount } = await connection.queueDeclare({ queue: 'notifications.info', passive: true })
  await connection.close()
  assert.ok(messageCount > 0)
  assert.equal(consumerCount, 0)
})
