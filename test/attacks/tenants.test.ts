/**
 * Attacks of a tenant who may write OpenstackConfigs (and Secrets) in one namespace. The operator, Viola, the cloud and the
 * Kubernetes API are real processes over HTTP. The host of the attacker is `localhost`, everything else is `127.0.0.1`.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { request } from 'undici'
import { stringify } from 'yaml'
import { encrypted } from '../../sandbox/cloud/contrabass.ts'
import { addPort, addServer, addSubnet, setPortStatus } from '../../sandbox/cloud/state.ts'
import { openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigFinalizer, openstackConfigs } from '../../src/contract/openstack-config.ts'
import { type PlanAnswer, planAnswer, planPath } from '../../src/contract/operator-api.ts'
import type { Settings } from '../../src/contract/settings.ts'
import { events as eventsOf, namespaces, secrets } from '../../src/kube/resources.ts'
import { type StubServer, startStubServer } from '../openstack/stub-server.ts'
import { clusterId, type OperatorEnvironment, startOperatorEnvironment } from '../operator/environment.ts'
import { certificateAuthority } from '../rigs/kubernetes/certificates.ts'
import { eventually } from '../support/eventually.ts'
import { serve } from '../support/http-stub.ts'

const tenant = 'team-b'
const neighbour = 'team-a'
const tenantToken = 'a-secret-of-the-namespace'
let dir: string
let environment: OperatorEnvironment
let attacker: StubServer

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-tenants-'))
  environment = await startOperatorEnvironment()
  const { cloudState, kube } = environment
  const subnet = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  setPortStatus(cloudState, addPort(cloudState, { server: addServer(cloudState, 'worker-1'), subnet }).id, 'ACTIVE')
  for (const name of [tenant, neighbour])
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  for (const namespace of [tenant, neighbour]) {
    await createSecret(namespace, 'contrabass-encrypt-key', { CONTRABASS_ENCRYPT_KEY: cloudState.provider.encryptKey })
    await createSecret(namespace, 'viola', { token: tenantToken })
  }
  attacker = await startStubServer(() => ({ status: 500, body: 'thank you' }))
})
afterEach(async () => {
  await environment.close()
  await attacker[Symbol.asyncDispose]()
  await rm(dir, { recursive: true })
})

async function createSecret(namespace: string, name: string, values: Record<string, string>): Promise<void> {
  const data = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  )
  await environment.kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, data })
}

const everything = { hosts: ['*'], openstackProviders: ['*'], k8sProviders: ['*'], projects: ['*'] }

async function rulesFile(rules: Record<string, object>): Promise<{ NAMESPACE_RULES_FILE: string }> {
  const path = join(dir, 'rules.yaml')
  await writeFile(path, stringify({ namespaces: rules }))
  return { NAMESPACE_RULES_FILE: path }
}

const attackersHost = () => attacker.url.replace('127.0.0.1', 'localhost')

async function ready(namespace: string, name = 'main'): Promise<string> {
  const { status } = await environment.config(name, namespace)
  const found = status?.conditions?.find(one => one.type === 'Ready')
  return `${found?.status} ${found?.reason}: ${found?.message}`
}

async function waitForReady(expected: RegExp, namespace: string, name?: string): Promise<void> {
  await eventually(async () => assert.match(await ready(namespace, name), expected))
}

async function waitUntilGone(namespace: string): Promise<void> {
  await eventually(async () =>
    assert.equal(await environment.kube.get(openstackConfigs, { namespace, name: 'main' }), undefined),
  )
}

/** Delivered interfaces with the object that they belong to: `worker-1 multinic0 team-a/main`. */
async function owners(): Promise<string[]> {
  return (await environment.nodes()).flatMap(({ spec }) =>
    spec.interfaces.map(nic => `${spec.nodeName} ${nic.name} ${nic.source}`),
  )
}

test('operator 5: the deletion of an object does not send a Secret to a host that is not allowed', async () => {
  await environment.startOperator({
    ENDPOINT_ALLOWED_HOSTS: '127.0.0.1',
    ...(await rulesFile({ [tenant]: everything })),
  })
  const violaTokenSecretRef = { name: 'viola', key: 'token' }
  await environment.create({
    namespace: tenant,
    settings: { violaEndpoint: attackersHost() },
    secrets: { violaTokenSecretRef },
  })
  await waitForReady(/^False ConfigError: spec\.settings\.violaEndpoint: localhost is not/, tenant)
  // The finalizer of a served object does not change it.
  const metadata = { finalizers: [openstackConfigFinalizer] }
  await environment.kube.patch(openstackConfigs, { namespace: tenant, name: 'main' }, { metadata })
  // As if it had delivered before the address was changed: otherwise its deletion needs no Viola.
  const deliveredTo = { viola: environment.violaUrl, providerId: clusterId }
  await environment.kube.patchStatus(openstackConfigs, { namespace: tenant, name: 'main' }, { deliveredTo })
  await environment.kube.delete(openstackConfigs, { namespace: tenant, name: 'main' })
  const pending = () => environment.kube.list(eventsOf, { namespace: tenant })
  await eventually(async () => {
    const texts = (await pending()).items.map(({ reason, message }) => `${reason}: ${message}`)
    assert.match(texts.join('\n'), /^RemovalPending: spec\.settings\.violaEndpoint: localhost is not/m)
  })
  assert.deepEqual(attacker.requests, [])
})

test('operator 6: an object without a rule inherits no interface of a neighbour', async () => {
  await environment.startOperator(await rulesFile({ [neighbour]: everything }))
  await environment.create({ namespace: neighbour })
  await eventually(async () => assert.deepEqual(await owners(), [`worker-1 multinic0 ${neighbour}/main`]))
  await environment.create({ namespace: tenant })
  await waitForReady(/^False ConfigError: namespace team-b: /, tenant)
  await environment.kube.delete(openstackConfigs, { namespace: neighbour, name: 'main' })
  await waitUntilGone(neighbour)
  assert.deepEqual(await owners(), [])
})

test('operator 11: without a rule an object is not served, calls nobody and can be deleted at once', async () => {
  await environment.startOperator()
  await environment.create({ namespace: tenant, settings: { contrabassEndpoint: attackersHost() } })
  await waitForReady(/^False ConfigError: namespace team-b: /, tenant)
  assert.equal((await environment.config('main', tenant)).metadata.finalizers, undefined)
  await environment.kube.delete(openstackConfigs, { namespace: tenant, name: 'main' })
  await waitUntilGone(tenant)
  assert.deepEqual([attacker.requests, await owners()], [[], []])
})

test('operator 11: a Contrabass of the tenant does not get the clear password to a Keystone of its choice', async () => {
  const { encryptKey } = environment.cloudState.provider
  const adminPw = encrypted(environment.cloudState.user.password, encryptKey)
  await using contrabass = await startStubServer(() => ({
    status: 200,
    body: { data: { url: attackersHost(), attributes: { adminId: 'admin', adminPw, domain: 'Default' } } },
  }))
  await environment.startOperator(await rulesFile({ [tenant]: { ...everything, hosts: ['127.0.0.1'] } }))
  await environment.create({ namespace: tenant, settings: { contrabassEndpoint: contrabass.url } })
  await waitForReady(/^False KeystoneError: keystone: the host localhost is not/, tenant)
  assert.deepEqual(attacker.requests, [])
})

for (const field of ['network_endpoint_override', 'compute_endpoint_override'])
  test(`${field} of a tenant leads to no host that the rule of its namespace does not list`, async () => {
    const { cloud, cloudState, startOperator, create } = environment
    const { user, project } = cloudState
    const auth = {
      auth_url: cloud.urls.keystone,
      ...{ username: user.name, password: user.password, user_domain_name: user.domain },
      ...{ project_name: project.name, project_domain_name: user.domain },
    }
    const content = (endpoint: string) => stringify({ clouds: { mine: { auth, [field]: endpoint } } })
    await createSecret(tenant, 'cloud', { 'clouds.yaml': content(attackersHost()) })
    await createSecret(tenant, 'query', { 'clouds.yaml': content(`${cloud.urls.neutron}/delete?all=1&x=`) })
    const rule = { ...everything, hosts: ['127.0.0.1'] }
    await startOperator({ ENDPOINT_ALLOWED_HOSTS: '127.0.0.1', ...(await rulesFile({ [tenant]: rule })) })
    const credentials = { k8sProviderID: clusterId }
    await create({ namespace: tenant, name: 'host', cloudSecretRef: { name: 'cloud' }, credentials })
    await create({ namespace: tenant, name: 'query', cloudSecretRef: { name: 'query' }, credentials })
    await waitForReady(/^False \w+: \w+: the host localhost is not in ENDPOINT_ALLOWED_HOSTS/, tenant, 'host')
    await waitForReady(/^False ConfigError: .* must be an http or https URL without user, query and/, tenant, 'query')
    assert.deepEqual(attacker.requests, [])
  })

test('operator 10: an object does not turn off TLS verification for the token of the operator', async () => {
  const { cert, key } = await certificateAuthority(dir)
  const token = join(dir, 'token')
  await writeFile(token, 'the-token-of-the-operator')
  const stranger = await serve((_, response) => void response.writeHead(500).end(), {
    cert: await readFile(cert),
    key: await readFile(key),
  })
  try {
    await environment.startOperator({ VIOLA_ENDPOINT: stranger.url, VIOLA_TOKEN_FILE: token })
    await environment.create({ settings: { violaInsecureTLS: true } })
    await waitForReady(/^False ConfigError: spec\.settings\.violaInsecureTLS: /, 'multinic-system')
    assert.deepEqual(stranger.requests, [])
  } finally {
    await stranger.close()
  }
})

test('operator 8: many objects with endpoints that hang do not delay another namespace', async () => {
  await using hanging = await startStubServer(() => ({ status: 200, hang: true }))
  const rules = await rulesFile({ [tenant]: everything })
  await environment.startOperator(rules, { workers: 10 })
  for (let n = 0; n < 20; n++)
    await environment.create({
      ...{ namespace: tenant, name: `slow-${n}` },
      settings: { contrabassEndpoint: `${hanging.url}/${n}`, contrabassTimeout: '1h' },
    })
  await eventually(() => assert.ok(hanging.requests.length >= 5, `${hanging.requests.length}`))
  await environment.create({})
  await waitForReady(/^True/, 'multinic-system')
})

test('the account of a message bus that the operator’s key decrypts is not written into the namespace of a tenant', async () => {
  const { cloudState, kube } = environment
  cloudState.bus = { urls: ['amqp://127.0.0.1:1/'], user: 'openstack', password: 'bus-secret' }
  await kube.delete(secrets, { namespace: tenant, name: 'contrabass-encrypt-key' })
  const rules = await rulesFile({ [tenant]: everything })
  await environment.startOperator({ CONTRABASS_ENCRYPT_KEY: cloudState.provider.encryptKey, ...rules })
  await environment.create({ namespace: tenant })
  await waitForReady(/^True/, tenant)
  assert.equal(await kube.get(secrets, { namespace: tenant, name: 'rabbitmq-main' }), undefined)
})

test('the Secret of a message bus does not replace a Secret that somebody else created', async () => {
  const { cloudState, kube } = environment
  cloudState.bus = { urls: ['amqp://127.0.0.1:1/'], user: 'openstack', password: 'bus-secret' }
  await createSecret(tenant, 'rabbitmq-main', { RABBITMQ_URLS: 'amqp://production/' })
  await environment.startOperator(await rulesFile({ [tenant]: everything }))
  await environment.create({ namespace: tenant })
  await waitForReady(/^True/, tenant)
  const found = await kube.get(secrets, { namespace: tenant, name: 'rabbitmq-main' })
  assert.deepEqual(found?.data, { RABBITMQ_URLS: Buffer.from('amqp://production/').toString('base64') })
})

test('operator 5: an object that is no longer allowed keeps no connection to a message bus', async () => {
  const sockets = new Set<Socket>()
  const bus = createServer(socket => {
    sockets.add(socket)
    socket
      .resume()
      .on('error', () => {})
      .on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => bus.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = bus.address() as AddressInfo
    environment.cloudState.bus = { urls: [`amqp://127.0.0.1:${port}/`], user: 'openstack', password: 'bus-secret' }
    await environment.startOperator(await rulesFile({ [tenant]: everything }))
    await environment.create({ namespace: tenant })
    await waitForReady(/^True/, tenant)
    await eventually(() => assert.equal(sockets.size, 1))
    await rulesFile({ [neighbour]: everything })
    await waitForReady(/^False ConfigError: namespace team-b: /, tenant)
    // A broker that does not answer is given up after 10 s and called again: it must be closed before.
    await eventually(() => assert.equal(sockets.size, 0), { within: 5_000 })
  } finally {
    for (const socket of sockets) socket.destroy()
    bus.close()
  }
})

for (const [what, name] of Object.entries({
  'the path of a parent': '..',
  'a text that turns around': 'worker\u202e-2',
}))
  test(`operator 15c: a server whose name is ${what} gets a verdict, and affects no other server`, async () => {
    const { cloudState } = environment
    const [subnet] = cloudState.subnets.values()
    assert.ok(subnet)
    const server = addServer(cloudState, name)
    setPortStatus(cloudState, addPort(cloudState, { server, subnet }).id, 'ACTIVE')
    await environment.startOperator()
    await environment.create({})
    await waitForReady(/^True/, 'multinic-system')
    assert.deepEqual(await owners(), ['worker-1 multinic0 multinic-system/main'])
  })

async function requestPlan(namespace: string, settings: Settings): Promise<PlanAnswer> {
  const { cloudState, caller } = environment
  const [vmNames, subnetIDs] = [[...cloudState.servers.keys()], [...cloudState.subnets.keys()]]
  const config = openstackConfigFor(cloudState, { name: 'main', vmNames, subnetIDs, clusterId })
  const { statusCode, body } = await request(`${environment.operatorUrl()}${planPath}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${caller.token}` },
    body: JSON.stringify({
      ...config,
      metadata: { ...config.metadata, namespace },
      spec: { ...config.spec, settings: { ...config.spec.settings, ...settings } },
    }),
  })
  assert.equal(statusCode, 200)
  return planAnswer.parse(await body.json())
}

async function waitForOperator(): Promise<void> {
  await eventually(async () => assert.equal((await request(`${environment.operatorUrl()}/readyz`)).statusCode, 200))
}

test('operator 1: a dry run of an object without a rule calls nobody', async () => {
  await environment.startOperator()
  await waitForOperator()
  const { error } = await requestPlan(tenant, { contrabassEndpoint: attackersHost(), violaEndpoint: attackersHost() })
  assert.match(`${error?.reason}: ${error?.message}`, /^ConfigError: namespace team-b: no rule/)
  assert.deepEqual(attacker.requests, [])
})

test('a dry run takes nothing away from the object of the same name', async () => {
  await environment.startOperator()
  await environment.create({})
  await waitForReady(/^True/, 'multinic-system')
  const before = environment.cloud.calls()
  const { error } = await requestPlan('multinic-system', { openstackTimeout: '7s' })
  assert.equal(error, undefined)
  const { neutron } = environment.cloud.calls()
  await eventually(() => assert.ok(environment.cloud.calls().neutron > neutron + 5))
  // Only the dry run logs in.
  assert.equal(environment.cloud.calls().contrabass, before.contrabass + 1)
})

test('operator 12: the cloud of a deleted object is dropped', async () => {
  await environment.startOperator()
  for (const logins of [1, 2]) {
    await environment.create({})
    await waitForReady(/^True/, 'multinic-system')
    assert.equal(environment.cloud.calls().contrabass, logins)
    await environment.kube.delete(openstackConfigs, { namespace: 'multinic-system', name: 'main' })
    await waitUntilGone('multinic-system')
  }
})

test('operator 2, 9: a conflict that stays has its own reason, and whoever took over the fields is named', async () => {
  const { kube } = environment
  await environment.startOperator()
  await environment.create({})
  await waitForReady(/^True/, 'multinic-system')
  const [node] = await environment.nodes()
  assert.ok(node)
  const { name, namespace = '' } = node.metadata
  const { nodeName, instanceId, interfaces } = node.spec
  const spec = {
    nodeName,
    ...(instanceId && { instanceId }),
    interfaces: interfaces.map(nic => ({ ...nic, mtu: 1400 })),
  }
  await kube.apply(nodeConfigs, { metadata: { name, namespace }, spec }, { fieldManager: 'stranger', force: true })
  await waitForReady(/^False DeliveryConflict: worker-1: .*conflict with "stranger"/, 'multinic-system')
  await kube.delete(nodeConfigs, { name, namespace })
  await waitForReady(/^True/, 'multinic-system')
})
