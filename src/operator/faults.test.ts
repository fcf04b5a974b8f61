/** What goes wrong around the operator, over real HTTP: each is told with its reason, and nothing delivered is lost. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { encrypted } from '../../sandbox/cloud/contrabass.ts'
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
import { answering } from '../../test/openstack/stub-server.ts'
import { clusterId, type Stage, startStage } from '../../test/operator/environment.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type OpenstackConfig, openstackConfigAnnotations, openstackConfigs } from '../contract/openstack-config.ts'
import { crds, events, secrets } from '../kube/resources.ts'

let stage: Stage
let storage: Subnet
let worker: Server

beforeEach(async () => {
  stage = await startStage()
  storage = addSubnet(stage.world, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  worker = addServer(stage.world, 'worker-1')
})
afterEach(() => stage.close())

function attach(server: Server = worker, address?: string) {
  const port = addPort(stage.world, { server, subnet: storage, ...(address && { address }) })
  setPortStatus(stage.world, port.id, 'ACTIVE')
  return port
}

async function ready(name = 'main'): Promise<string> {
  const found = (await stage.config(name)).status?.conditions?.find(one => one.type === 'Ready')
  return `${found?.status} ${found?.reason}: ${found?.message}`
}

async function becomes(expected: RegExp, name = 'main'): Promise<void> {
  await eventually(async () => assert.match(await ready(name), expected), { within: 30_000 })
}

function edit(patch: object): Promise<OpenstackConfig> {
  return stage.kube.patch(openstackConfigs, { namespace, name: 'main' }, patch)
}

const delivered = ['worker-1: multinic0=10.10.0.10']

/** Each of these is done to a world in which one port is delivered. */
const faults: Record<string, [break_: () => unknown, said: RegExp]> = {
  'Contrabass is broken': [
    async () => {
      stage.world.faults.failing = ['contrabass']
      await force()
    },
    /^False ContrabassError: contrabass: GET .*HTTP 500/,
  ],
  'the encryption key is another one': [
    () =>
      stage.kube.patch(
        secrets,
        { namespace, name: 'contrabass-encrypt-key' },
        { data: { CONTRABASS_ENCRYPT_KEY: Buffer.from('another-key-16-b').toString('base64') } },
      ),
    /^False ContrabassError: adminPw of Contrabass: the encrypted password does not open with this key$/,
  ],
  'the password is not right': [
    async () => {
      const { user, provider } = stage.world
      const attributes = { adminId: user.name, adminPw: encrypted('wrong', provider.encryptKey), domain: user.domain }
      const body = { data: { url: stage.cloud.urls.keystone, attributes } }
      await using contrabass = await answering(() => ({ status: 200, body }))
      await edit({ spec: { settings: { contrabassEndpoint: contrabass.url } } })
      await becomes(/^False KeystoneError: /)
    },
    /^False KeystoneError: keystone: POST .*HTTP 401/,
  ],
  'the project does not exist': [
    () => edit({ spec: { credentials: { projectID: 'f'.repeat(32) } } }),
    /^False KeystoneError: keystone: POST .*HTTP 401/,
  ],
  'the catalog has no such region': [
    () => edit({ spec: { settings: { openstackEndpointRegion: 'Mars' } } }),
    /^False NeutronEndpointError: the catalog has no public network in region Mars endpoint; it has RegionOne\/public/,
  ],
  'Neutron is broken': [
    () => {
      stage.world.faults.failing = ['neutron']
    },
    /^False NeutronPortError: neutron: GET .*\/v2\.0\/ports: HTTP 500/,
  ],
  'Neutron tells no subnets': [
    async () => {
      await using broken = await answering(() => ({ status: 500, body: 'no' }))
      await edit({ spec: { settings: { openstackNeutronEndpoint: broken.url } } })
      await becomes(/^False NeutronSubnetError: /)
    },
    /^False NeutronSubnetError: neutron: GET .*\/v2\.0\/subnets: /,
  ],
  'no subnet is chosen, on a server that does not know the rule': [
    async () => {
      const name = `${openstackConfigs.plural}.${openstackConfigs.group}`
      const definition = await stage.kube.get(crds, { name })
      const { versions } = JSON.parse(
        JSON.stringify((definition as { spec?: unknown })?.spec, (key, value) =>
          key === 'x-kubernetes-validations' ? undefined : value,
        ),
      )
      await stage.kube.patch(crds, { name }, { spec: { versions } })
      await eventually(() => edit({ spec: { subnetIDs: null } }))
    },
    /^False SubnetRequired: no subnet is chosen; set subnetIDs, subnetID or subnetName/,
  ],
  'a subnet does not exist': [
    () => edit({ spec: { subnetIDs: [storage.id, 'nowhere'] } }),
    /^False SubnetNotFound: Neutron knows no subnet nowhere/,
  ],
  'a subnet’s name does not exist': [
    () => edit({ spec: { subnetIDs: null, subnetName: 'nowhere' } }),
    /^False SubnetNotFound: no subnet of the project is called nowhere/,
  ],
  'a subnet’s name exists twice': [
    () => {
      addSubnet(stage.world, { name: 'storage', cidr: '10.99.0.0/24', mtu: 1500 })
      return edit({ spec: { subnetIDs: null, subnetName: 'storage' } })
    },
    /^False SubnetNotUnique: 2 subnets are called storage: /,
  ],
  'Nova is broken, and a VM is new': [
    () => {
      stage.world.faults.failing = ['nova']
      const server = addServer(stage.world, 'worker-2')
      return edit({ spec: { vmNames: [worker.id, server.id] } })
    },
    /^False NovaError: nova: GET .*HTTP 500/,
  ],
  'Viola is away': [
    () => edit({ spec: { settings: { violaEndpoint: 'http://127.0.0.1:9' } } }),
    /^False ViolaPostError: viola: GET .*ECONNREFUSED/,
  ],
  'Viola does not know the provider': [
    () => edit({ spec: { credentials: { k8sProviderID: 'another' } } }),
    /^False ViolaPostError: viola: GET .*HTTP 404 no cluster configured for provider another/,
  ],
  'a Secret that is named is missing': [
    () => edit({ spec: { secrets: { contrabassEncryptKeySecretRef: { name: 'nowhere', key: 'k' } } } }),
    /^False ConfigError: spec\.secrets\.contrabassEncryptKeySecretRef: there is no Secret nowhere/,
  ],
}

async function force(): Promise<void> {
  await edit({ metadata: { annotations: { [openstackConfigAnnotations.forceReconcile]: String(Math.random()) } } })
}

for (const [name, [break_, said]] of Object.entries(faults))
  test(`${name}: told with its reason, and what is delivered stays`, async () => {
    attach(worker, '10.10.0.10')
    await stage.startOperator()
    await stage.create({})
    await eventually(async () => assert.deepEqual(await stage.told(), delivered))
    await break_()
    await becomes(said)
    assert.deepEqual(await stage.told(), delivered)
    const { lastError, conditions } = (await stage.config()).status ?? {}
    assert.match(lastError ?? '', /^\w+Error|^Subnet/)
    assert.equal(conditions?.find(one => one.type === 'Degraded')?.status, 'True')
  })

test('a Nova blip invents no node: a new VM waits, a known one goes on', async () => {
  attach(worker, '10.10.0.10')
  const server = addServer(stage.world, 'worker-2')
  stage.world.faults.failing = ['nova']
  attach(server, '10.10.0.20')
  await stage.startOperator()
  await stage.create({})
  await becomes(/NovaError/)
  assert.deepEqual(await stage.told(), [])
  stage.world.faults.failing = []
  await eventually(async () => assert.deepEqual(await stage.told(), [...delivered, 'worker-2: multinic0=10.10.0.20']))
})

test('a person’s wrong VM is a verdict that degrades, the others are served', async () => {
  attach(worker, '10.10.0.10')
  await stage.startOperator()
  await stage.create({ vmNames: [worker.id, '00000000-0000-4000-8000-000000000000', 'no-such-name'] })
  await eventually(async () => assert.deepEqual(await stage.told(), delivered))
  await eventually(async () => {
    const degraded = (await stage.config()).status?.conditions?.find(one => one.type === 'Degraded')
    assert.equal(degraded?.reason, 'VmNotFound')
    assert.match(degraded?.message ?? '', /no-such-name/)
  })
})

test('VMs may be named by their exact server name', async () => {
  attach(worker, '10.10.0.10')
  addServer(stage.world, 'worker-10')
  await stage.startOperator()
  await stage.create({ vmNames: ['worker-1'] })
  await eventually(async () => assert.deepEqual(await stage.told(), delivered))
})

test('three ports that vanish at once are held until a person lets them go', async () => {
  const ports = ['10.10.0.10', '10.10.0.11', '10.10.0.12', '10.10.0.13'].map(address => attach(worker, address))
  const stop = await stage.startOperator()
  await stage.create({})
  await eventually(async () => assert.match((await stage.told())[0] ?? '', /multinic3/))
  await stop()
  for (const port of ports.slice(0, 3)) removePort(stage.world, port.id)
  await stage.startOperator()
  await eventually(async () => assert.equal((await stage.config()).status?.heldRemovals?.length, 3))
  assert.match((await stage.told())[0] ?? '', /multinic0.*multinic1.*multinic2.*multinic3/)
  await edit({ metadata: { annotations: { [openstackConfigAnnotations.releaseRemovals]: 'yes' } } })
  await eventually(async () => assert.equal((await stage.told())[0]?.split(' ').length, 2))
  await eventually(async () => assert.equal((await stage.config()).status?.heldRemovals, undefined))
})

test('a foreign Viola with only the POST is served, numbers outlive the operator, and removals are empty lists', async () => {
  const posts: { nodeName: string; interfaces: { name: string; address: string }[] }[] = []
  await using foreign = await answering(({ method, body }) => {
    if (method !== 'POST') return { status: 405, body: 'method not allowed' }
    posts.push(...JSON.parse(body))
    return { status: 200, body: { applied: 1, output: '' } }
  })
  const said = () =>
    posts.map(({ nodeName, interfaces }) =>
      [nodeName, ...interfaces.map(nic => `${nic.name}=${nic.address}`)].join(' '),
    )
  const settings = { violaEndpoint: foreign.url }
  const port = attach(worker, '10.10.0.10')
  const stop = await stage.startOperator()
  await stage.create({ settings })
  await becomes(/^True/)
  await stop()
  const second = attach(worker, '10.10.0.5')
  await stage.startOperator()
  await eventually(() => assert.equal(posts.length, 2))
  removePort(stage.world, port.id)
  await eventually(() => assert.equal(posts.length, 3))
  removePort(stage.world, second.id)
  await eventually(() => assert.equal(posts.length, 4))
  assert.deepEqual(said(), [
    'worker-1 multinic0=10.10.0.10',
    'worker-1 multinic0=10.10.0.10 multinic1=10.10.0.5',
    'worker-1 multinic1=10.10.0.5',
    'worker-1',
  ])
  const told = (await stage.config()).status?.conditions?.find(one => one.type === 'NodesReady')
  assert.equal(told?.status, 'Unknown')
})

/** A Contrabass that also knows the cloud's message bus. */
function contrabassWithBus(rabbitMQPw: () => string) {
  const { user, provider } = stage.world
  const attributes = {
    adminId: user.name,
    adminPw: encrypted(user.password, provider.encryptKey),
    domain: user.domain,
    rabbitMQUrls: ['amqp://a:5672', 'amqp://b:5672'],
    rabbitMQId: 'openstack',
  }
  return answering(() => {
    const data = { url: stage.cloud.urls.keystone, attributes: { ...attributes, rabbitMQPw: rabbitMQPw() } }
    return { status: 200, body: { data } }
  })
}

test('the cloud’s message bus is put into a Secret beside the object, kept up to date, and goes with it', async () => {
  const words = { now: encrypted('bus-password', stage.world.provider.encryptKey) }
  await using contrabass = await contrabassWithBus(() => words.now)
  await stage.startOperator()
  const config = await stage.create({ settings: { contrabassEndpoint: contrabass.url } })
  const holds = (password: string) =>
    eventually(async () => {
      const secret = await stage.kube.get(secrets, { namespace, name: 'rabbitmq-main' })
      const data = Object.entries(secret?.data ?? {}).map(([key, value]) => `${key}=${Buffer.from(value, 'base64')}`)
      assert.deepEqual(data.sort(), [
        `RABBITMQ_PASSWORD=${password}`,
        'RABBITMQ_URLS=amqp://a:5672,amqp://b:5672',
        'RABBITMQ_USER=openstack',
      ])
      assert.equal(secret?.metadata.ownerReferences?.[0]?.uid, config.metadata.uid)
    })
  await holds('bus-password')
  words.now = encrypted('another-password', stage.world.provider.encryptKey)
  await force()
  await holds('another-password')
  await stage.kube.delete(openstackConfigs, { namespace, name: 'main' })
  await eventually(async () =>
    assert.equal(await stage.kube.get(secrets, { namespace, name: 'rabbitmq-main' }), undefined),
  )
})

test('a bus password that does not open disables events and nothing else', async () => {
  attach(worker, '10.10.0.10')
  await using contrabass = await contrabassWithBus(() => 'bm90IGEgcGFzc3dvcmQ=')
  await stage.startOperator()
  await stage.create({ settings: { contrabassEndpoint: contrabass.url } })
  await eventually(async () => assert.deepEqual(await stage.told(), delivered))
  await eventually(async () => {
    const events = (await stage.config()).status?.conditions?.find(one => one.type === 'EventsConnected')
    assert.equal(`${events?.status} ${events?.reason}`, 'False EventBusConfigError')
  })
  assert.equal(await stage.kube.get(secrets, { namespace, name: 'rabbitmq-main' }), undefined)
})

test('the Secret of the bus can be switched off', async () => {
  attach(worker, '10.10.0.10')
  await using contrabass = await contrabassWithBus(() => encrypted('bus-password', stage.world.provider.encryptKey))
  await stage.startOperator({ RABBITMQ_SECRET_ENABLED: 'false' })
  await stage.create({ settings: { contrabassEndpoint: contrabass.url } })
  await becomes(/^True Synced/)
  assert.equal(await stage.kube.get(secrets, { namespace, name: 'rabbitmq-main' }), undefined)
})

test('a Keystone that is not on the list gets no password', async () => {
  await using keystone = await answering(() => ({ status: 401, body: {} }))
  const { user, provider } = stage.world
  const attributes = { adminId: user.name, adminPw: encrypted(user.password, provider.encryptKey) }
  const url = keystone.url.replace('127.0.0.1', 'localhost')
  await using contrabass = await answering(() => ({ status: 200, body: { data: { url, attributes } } }))
  await stage.startOperator({ ENDPOINT_ALLOWED_HOSTS: '127.0.0.1' })
  await stage.create({ settings: { contrabassEndpoint: contrabass.url } })
  await becomes(
    /^False ContrabassError: Contrabass names the Keystone localhost, which is not in ENDPOINT_ALLOWED_HOSTS/,
  )
  assert.equal(keystone.asked.length, 0)
})

test('a Secret that changes wakes the objects that use it, however slow they poll', async () => {
  attach(worker, '10.10.0.10')
  const key = Buffer.from(stage.world.provider.encryptKey).toString('base64')
  const name = { namespace, name: 'contrabass-encrypt-key' }
  await stage.kube.patch(secrets, name, { data: { CONTRABASS_ENCRYPT_KEY: Buffer.from('x').toString('base64') } })
  await stage.startOperator()
  const slow = { pollErrorInterval: '1h', pollFastInterval: '1h', pollSlowInterval: '1h' }
  await stage.create({ settings: slow })
  await becomes(/^False ContrabassError: .*the encryption key is 1 bytes long/)
  await stage.kube.patch(secrets, name, { data: { CONTRABASS_ENCRYPT_KEY: key } })
  await eventually(async () => assert.deepEqual(await stage.told(), delivered))
})

test('the operator stops when it is told, also in the middle of a call', async () => {
  await using silent = await answering(() => ({ status: 200, hang: true }))
  const stop = await stage.startOperator()
  await stage.create({ settings: { contrabassEndpoint: silent.url } })
  await eventually(() => assert.ok(silent.asked.length > 0))
  const late = sleep(15_000, 'late', { ref: false })
  assert.notEqual(await Promise.race([stop(), late]), 'late')
})

test('of two replicas one works, and the other goes on when it ends', async () => {
  attach(worker, '10.10.0.10')
  const first = await stage.startOperator({ LEADER_ELECT: 'true', POD_NAME: 'one' })
  await stage.create({})
  await eventually(async () => assert.deepEqual(await stage.told(), delivered))
  await stage.startOperator({ LEADER_ELECT: 'true', POD_NAME: 'two' })
  await first()
  attach(worker, '10.10.0.11')
  await eventually(async () => assert.match((await stage.told())[0] ?? '', /multinic1=10.10.0.11/), { within: 30_000 })
})

test('secrets are nowhere in what the cluster and the inventory are told', async () => {
  attach(worker, '10.10.0.10')
  await stage.startOperator()
  await stage.create({})
  await eventually(async () => assert.deepEqual(await stage.told(), delivered))
  stage.world.faults.failing = ['neutron']
  await becomes(/NeutronPortError/)
  const all = JSON.stringify([
    await stage.config(),
    (await stage.kube.list(events, { namespace })).items,
    await stage.nodes(),
    stage.records,
  ])
  for (const secret of [stage.world.user.password, stage.world.provider.encryptKey]) assert.ok(!all.includes(secret))
  assert.ok(all.includes(clusterId))
})
