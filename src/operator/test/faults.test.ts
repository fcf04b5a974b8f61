/** Faults around the operator, over real HTTP: the status shows the reason, and delivered interfaces stay. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { encrypted } from '../../../sandbox/cloud/contrabass.ts'
import {
  addPort,
  addServer,
  addSubnet,
  removePort,
  type Server,
  type Subnet,
  setPortStatus,
} from '../../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../../sandbox/lifecycle/components.ts'
import { startStubServer } from '../../../test/openstack/stub-server.ts'
import { clusterId, type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { removeValidationRules } from '../../../test/operator/validation-rules.ts'
import { startContrabassWithWrongPassword } from '../../../test/operator/wrong-password.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { type OpenstackConfig, openstackConfigAnnotations, openstackConfigs } from '../../contract/openstack-config.ts'
import { events, secrets } from '../../kube/resources.ts'

let environment: OperatorEnvironment
let storage: Subnet
let worker: Server

beforeEach(async () => {
  environment = await startOperatorEnvironment()
  storage = addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  worker = addServer(environment.cloudState, 'worker-1')
})
afterEach(() => environment.close())

function attach(server: Server = worker, address?: string) {
  const port = addPort(environment.cloudState, { server, subnet: storage, ...(address && { address }) })
  setPortStatus(environment.cloudState, port.id, 'ACTIVE')
  return port
}

async function ready(name = 'main'): Promise<string> {
  const found = (await environment.config(name)).status?.conditions?.find(one => one.type === 'Ready')
  return `${found?.status} ${found?.reason}: ${found?.message}`
}

async function waitForReady(expected: RegExp, name = 'main'): Promise<void> {
  await eventually(async () => assert.match(await ready(name), expected), { within: 30_000 })
}

function edit(patch: object): Promise<OpenstackConfig> {
  return environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, patch)
}

const delivered = ['worker-1: multinic0=10.10.0.10']

/** Each is injected after one port was delivered. */
const faults: Record<string, [inject: () => unknown, expected: RegExp]> = {
  'Contrabass fails': [
    async () => {
      environment.cloudState.faults.failing = ['contrabass']
      await force()
    },
    /^False ContrabassError: contrabass: GET .*HTTP 500/,
  ],
  'the encryption key is wrong': [
    () =>
      environment.kube.patch(
        secrets,
        { namespace, name: 'contrabass-encrypt-key' },
        { data: { CONTRABASS_ENCRYPT_KEY: Buffer.from('another-key-16-b').toString('base64') } },
      ),
    /^False ContrabassError: adminPw of Contrabass: the key does not decrypt the password$/,
  ],
  'the password is wrong': [
    async () => {
      await using contrabass = await startContrabassWithWrongPassword(environment)
      await edit({ spec: { settings: { contrabassEndpoint: contrabass.url } } })
      await waitForReady(/^False KeystoneError: /)
    },
    /^False KeystoneError: keystone: POST .*HTTP 401/,
  ],
  'the project does not exist': [
    () => edit({ spec: { credentials: { projectID: 'f'.repeat(32) } } }),
    /^False KeystoneError: keystone: POST .*HTTP 401/,
  ],
  'the catalog does not have the region': [
    () => edit({ spec: { settings: { openstackEndpointRegion: 'Mars' } } }),
    /^False NeutronEndpointError: the catalog has no public network in region Mars endpoint; available: RegionOne\/public/,
  ],
  'Neutron fails': [
    () => {
      environment.cloudState.faults.failing = ['neutron']
    },
    /^False NeutronPortError: neutron: GET .*\/v2\.0\/ports: HTTP 500/,
  ],
  'Neutron fails for subnets': [
    async () => {
      await using broken = await startStubServer(() => ({ status: 500, body: 'no' }))
      await edit({ spec: { settings: { openstackNeutronEndpoint: broken.url } } })
      await waitForReady(/^False NeutronSubnetError: /)
    },
    /^False NeutronSubnetError: neutron: GET .*\/v2\.0\/subnets: /,
  ],
  'no subnet is selected, on an API server without the validation rule': [
    async () => {
      await removeValidationRules(environment.kube)
      await eventually(() => edit({ spec: { subnetIDs: null } }))
    },
    /^False SubnetRequired: no subnet is selected: set subnets, subnetIDs, subnetID or subnetName/,
  ],
  'a subnet does not exist': [
    () => edit({ spec: { subnetIDs: [storage.id, 'nowhere'] } }),
    /^False SubnetNotFound: subnet not found: nowhere \(spec\.subnetIDs\)/,
  ],
  'a subnet name does not exist': [
    () => edit({ spec: { subnetIDs: null, subnetName: 'nowhere' } }),
    /^False SubnetNotFound: subnet not found: nowhere \(spec\.subnetName\)/,
  ],
  'a subnet name is not unique': [
    () => {
      addSubnet(environment.cloudState, { name: 'storage', cidr: '10.99.0.0/24', mtu: 1500 })
      return edit({ spec: { subnetIDs: null, subnetName: 'storage' } })
    },
    /^False SubnetNotUnique: 2 subnets have the name storage \(/,
  ],
  'Nova fails, and a VM is new': [
    () => {
      environment.cloudState.faults.failing = ['nova']
      const server = addServer(environment.cloudState, 'worker-2')
      return edit({ spec: { vmNames: [worker.id, server.id] } })
    },
    /^False NovaError: nova: GET .*HTTP 500/,
  ],
  'Viola is unreachable': [
    () => edit({ spec: { settings: { violaEndpoint: 'http://127.0.0.1:9' } } }),
    /^False ViolaError: viola: GET .*ECONNREFUSED/,
  ],
  'Viola does not know the provider': [
    () => edit({ spec: { credentials: { k8sProviderID: 'another' } } }),
    /^False ProviderUnknown: spec\.credentials\.k8sProviderID: Viola knows no cluster another; known clusters: biz-1, biz-2$/,
  ],
  'a Secret does not exist': [
    () => edit({ spec: { secrets: { contrabassEncryptKeySecretRef: { name: 'nowhere', key: 'k' } } } }),
    /^False ConfigError: spec\.secrets\.contrabassEncryptKeySecretRef: Secret nowhere with a value for key k not found/,
  ],
}

async function force(): Promise<void> {
  await edit({ metadata: { annotations: { [openstackConfigAnnotations.forceReconcile]: String(Math.random()) } } })
}

for (const [name, [inject, expected]] of Object.entries(faults))
  test(`${name}: the status shows the reason, and delivered interfaces stay`, async () => {
    attach(worker, '10.10.0.10')
    await environment.startOperator()
    await environment.create({})
    await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), delivered))
    await inject()
    await waitForReady(expected)
    assert.deepEqual(await environment.deliveredTexts(), delivered)
    const { lastError, conditions } = (await environment.config()).status ?? {}
    assert.match(lastError ?? '', /^\w+Error|^Subnet|^ProviderUnknown/)
    assert.equal(conditions?.find(one => one.type === 'Degraded')?.status, 'True')
  })

test('when Nova fails, a new VM waits for its name', async () => {
  attach(worker, '10.10.0.10')
  const server = addServer(environment.cloudState, 'worker-2')
  environment.cloudState.faults.failing = ['nova']
  attach(server, '10.10.0.20')
  await environment.startOperator()
  await environment.create({})
  await waitForReady(/NovaError/)
  assert.deepEqual(await environment.deliveredTexts(), [])
  environment.cloudState.faults.failing = []
  await eventually(async () =>
    assert.deepEqual(await environment.deliveredTexts(), [...delivered, 'worker-2: multinic0=10.10.0.20']),
  )
})

test('a wrong entry of vmNames degrades the object, and the others are delivered', async () => {
  attach(worker, '10.10.0.10')
  await environment.startOperator()
  await environment.create({ vmNames: [worker.id, '00000000-0000-4000-8000-000000000000', 'no-such-name'] })
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), delivered))
  await eventually(async () => {
    const degraded = (await environment.config()).status?.conditions?.find(one => one.type === 'Degraded')
    assert.equal(degraded?.reason, 'VmNotFound')
    assert.match(degraded?.message ?? '', /no-such-name/)
  })
})

test('vmNames may contain exact server names', async () => {
  attach(worker, '10.10.0.10')
  addServer(environment.cloudState, 'worker-10')
  await environment.startOperator()
  await environment.create({ vmNames: ['worker-1'] })
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), delivered))
})

test('removals of three ports that disappear at once are on hold until they are approved', async () => {
  const ports = ['10.10.0.10', '10.10.0.11', '10.10.0.12', '10.10.0.13'].map(address => attach(worker, address))
  const stop = await environment.startOperator()
  await environment.create({})
  await eventually(async () => assert.match((await environment.deliveredTexts())[0] ?? '', /multinic3/))
  await stop()
  for (const port of ports.slice(0, 3)) removePort(environment.cloudState, port.id)
  await environment.startOperator()
  await eventually(async () => assert.equal((await environment.config()).status?.heldRemovals?.length, 3))
  assert.match((await environment.deliveredTexts())[0] ?? '', /multinic0.*multinic1.*multinic2.*multinic3/)
  await edit({ metadata: { annotations: { [openstackConfigAnnotations.approveRemovals]: 'yes' } } })
  await eventually(async () => assert.equal((await environment.deliveredTexts())[0]?.split(' ').length, 2))
  await eventually(async () => assert.equal((await environment.config()).status?.heldRemovals, undefined))
})

test('with a Viola that serves only POST, indexes survive a restart, and removals are empty lists', async () => {
  const posts: { nodeName: string; interfaces: { name: string; address: string }[] }[] = []
  await using postOnly = await startStubServer(({ method, body }) => {
    if (method !== 'POST') return { status: 405, body: 'method not allowed' }
    posts.push(...JSON.parse(body))
    return { status: 200, body: { applied: 1, output: '' } }
  })
  const delivered = () =>
    posts.map(({ nodeName, interfaces }) =>
      [nodeName, ...interfaces.map(nic => `${nic.name}=${nic.address}`)].join(' '),
    )
  const settings = { violaEndpoint: postOnly.url }
  const port = attach(worker, '10.10.0.10')
  const stop = await environment.startOperator()
  await environment.create({ settings })
  await waitForReady(/^True/)
  await stop()
  const second = attach(worker, '10.10.0.5')
  await environment.startOperator()
  await eventually(() => assert.equal(posts.length, 2))
  removePort(environment.cloudState, port.id)
  await eventually(() => assert.equal(posts.length, 3))
  removePort(environment.cloudState, second.id)
  await eventually(() => assert.equal(posts.length, 4))
  assert.deepEqual(delivered(), [
    'worker-1 multinic0=10.10.0.10',
    'worker-1 multinic0=10.10.0.10 multinic1=10.10.0.5',
    'worker-1 multinic1=10.10.0.5',
    'worker-1',
  ])
  const nodesReady = (await environment.config()).status?.conditions?.find(one => one.type === 'NodesReady')
  assert.equal(nodesReady?.status, 'Unknown')
})

/** A Contrabass with a message bus. */
function contrabassWithBus(rabbitMQPw: () => string) {
  const { user, provider } = environment.cloudState
  const attributes = {
    adminId: user.name,
    adminPw: encrypted(user.password, provider.encryptKey),
    domain: user.domain,
    rabbitMQUrls: ['amqp://a:5672', 'amqp://b:5672'],
    rabbitMQId: 'openstack',
  }
  return startStubServer(() => {
    const data = { url: environment.cloud.urls.keystone, attributes: { ...attributes, rabbitMQPw: rabbitMQPw() } }
    return { status: 200, body: { data } }
  })
}

test('the account of the message bus is written to a Secret, updated, and deleted with the object', async () => {
  const password = { encrypted: encrypted('bus-password', environment.cloudState.provider.encryptKey) }
  await using contrabass = await contrabassWithBus(() => password.encrypted)
  await environment.startOperator()
  const config = await environment.create({ settings: { contrabassEndpoint: contrabass.url } })
  const waitForSecret = (expected: string) =>
    eventually(async () => {
      const secret = await environment.kube.get(secrets, { namespace, name: 'rabbitmq-main' })
      const data = Object.entries(secret?.data ?? {}).map(([key, value]) => `${key}=${Buffer.from(value, 'base64')}`)
      assert.deepEqual(data.sort(), [
        `RABBITMQ_PASSWORD=${expected}`,
        'RABBITMQ_URLS=amqp://a:5672,amqp://b:5672',
        'RABBITMQ_USER=openstack',
      ])
      assert.equal(secret?.metadata.ownerReferences?.[0]?.uid, config.metadata.uid)
    })
  await waitForSecret('bus-password')
  password.encrypted = encrypted('another-password', environment.cloudState.provider.encryptKey)
  await force()
  await waitForSecret('another-password')
  await environment.kube.delete(openstackConfigs, { namespace, name: 'main' })
  await eventually(async () =>
    assert.equal(await environment.kube.get(secrets, { namespace, name: 'rabbitmq-main' }), undefined),
  )
})

test('a bus password that cannot be decrypted disables only events', async () => {
  attach(worker, '10.10.0.10')
  await using contrabass = await contrabassWithBus(() => 'bm90IGEgcGFzc3dvcmQ=')
  await environment.startOperator()
  await environment.create({ settings: { contrabassEndpoint: contrabass.url } })
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), delivered))
  await eventually(async () => {
    const events = (await environment.config()).status?.conditions?.find(one => one.type === 'EventsConnected')
    assert.equal(`${events?.status} ${events?.reason}`, 'False EventBusConfigError')
  })
  assert.equal(await environment.kube.get(secrets, { namespace, name: 'rabbitmq-main' }), undefined)
})

test('the Secret of the bus can be switched off', async () => {
  attach(worker, '10.10.0.10')
  await using contrabass = await contrabassWithBus(() =>
    encrypted('bus-password', environment.cloudState.provider.encryptKey),
  )
  await environment.startOperator({ RABBITMQ_SECRET_ENABLED: 'false' })
  await environment.create({ settings: { contrabassEndpoint: contrabass.url } })
  await waitForReady(/^True (Synced|NoChange)/)
  assert.equal(await environment.kube.get(secrets, { namespace, name: 'rabbitmq-main' }), undefined)
})

test('a Keystone host that is not allowed gets no password', async () => {
  await using keystone = await startStubServer(() => ({ status: 401, body: {} }))
  const { user, provider } = environment.cloudState
  const attributes = { adminId: user.name, adminPw: encrypted(user.password, provider.encryptKey) }
  const url = keystone.url.replace('127.0.0.1', 'localhost')
  await using contrabass = await startStubServer(() => ({ status: 200, body: { data: { url, attributes } } }))
  await environment.startOperator({ ENDPOINT_ALLOWED_HOSTS: '127.0.0.1' })
  await environment.create({ settings: { contrabassEndpoint: contrabass.url } })
  await waitForReady(/^False KeystoneError: keystone: the host localhost is not in ENDPOINT_ALLOWED_HOSTS/)
  assert.equal(keystone.requests.length, 0)
})

test('a changed Secret starts a sync of the objects that use it', async () => {
  attach(worker, '10.10.0.10')
  const key = Buffer.from(environment.cloudState.provider.encryptKey).toString('base64')
  const name = { namespace, name: 'contrabass-encrypt-key' }
  await environment.kube.patch(secrets, name, { data: { CONTRABASS_ENCRYPT_KEY: Buffer.from('x').toString('base64') } })
  await environment.startOperator()
  const slow = { pollErrorInterval: '1h', pollFastInterval: '1h', pollSlowInterval: '1h' }
  await environment.create({ settings: slow })
  await waitForReady(/^False ContrabassError: .*the encryption key is 1 bytes long/)
  await environment.kube.patch(secrets, name, { data: { CONTRABASS_ENCRYPT_KEY: key } })
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), delivered))
})

test('the operator stops during a call that hangs', async () => {
  await using hanging = await startStubServer(() => ({ status: 200, hang: true }))
  const stop = await environment.startOperator()
  await environment.create({ settings: { contrabassEndpoint: hanging.url } })
  await eventually(() => assert.ok(hanging.requests.length > 0))
  const late = sleep(15_000, 'late', { ref: false })
  assert.notEqual(await Promise.race([stop(), late]), 'late')
})

test('of two replicas one syncs, and the other takes over when it stops', async () => {
  attach(worker, '10.10.0.10')
  const first = await environment.startOperator({ LEADER_ELECT: 'true', POD_NAME: 'one' })
  await environment.create({})
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), delivered))
  await environment.startOperator({ LEADER_ELECT: 'true', POD_NAME: 'two' })
  await first()
  attach(worker, '10.10.0.11')
  await eventually(async () => assert.match((await environment.deliveredTexts())[0] ?? '', /multinic1=10.10.0.11/), {
    within: 30_000,
  })
})

test('no secret appears in objects, Events or inventory records', async () => {
  attach(worker, '10.10.0.10')
  await environment.startOperator()
  await environment.create({})
  await eventually(async () => assert.deepEqual(await environment.deliveredTexts(), delivered))
  environment.cloudState.faults.failing = ['neutron']
  await waitForReady(/NeutronPortError/)
  const all = JSON.stringify([
    await environment.config(),
    (await environment.kube.list(events, { namespace })).items,
    await environment.nodes(),
    environment.records,
  ])
  for (const secret of [environment.cloudState.user.password, environment.cloudState.provider.encryptKey])
    assert.ok(!all.includes(secret))
  assert.ok(all.includes(clusterId))
})
