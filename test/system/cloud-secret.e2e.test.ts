/**
 * A real OpenStack without Contrabass: the clouds.yaml of a Secret is all that the operator gets.
 *
 * One object for all tests: its Secret is rotated from one account to the next, and the operator never restarts.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { after, before, test } from 'node:test'
import { createServer, type Server } from 'node:tls'
import { stringify } from 'yaml'
import { certificateAuthority } from '../rigs/kubernetes/certificates.ts'
import { ports } from '../rigs/openstack/addresses.ts'
import { type Account, apiAs } from '../rigs/openstack/api.ts'
import { type OpenStack, startOpenStack } from '../rigs/openstack/rig.ts'
import { type RealCloudSystem, startRealCloudSystem } from './real-cloud.ts'

let cloud: OpenStack
let system: RealCloudSystem
/** May only read. */
let reader: Account & { id: string }
let storage = ''
let vm = ''
let delivered = ''
const proxies: Server[] = []
const long = { timeout: 15 * 60_000 }

before(async () => {
  cloud = await startOpenStack()
  system = await startRealCloudSystem(cloud, { operator: { CONTRABASS_ENDPOINT: '' } })
  const networkId = await cloud.createNetwork({ name: 'storage' })
  storage = await cloud.createSubnet({ name: 'storage', networkId, cidr: '10.60.0.0/24' })
  vm = await cloud.bootServer({ name: 'worker-1', nics: [{ networkId }] })
  const account = await cloud.createUser('reader', ['reader'])
  const { users } = await cloud.api.call('keystone', 'GET', '/v3/users?name=reader')
  reader = { ...account, id: users[0].id }
}, long)
after(async () => {
  for (const proxy of proxies) proxy.close()
  await system?.stop()
  await cloud?.close()
})

type Fields = Record<string, unknown>

async function write(auth: Fields, more: Fields = {}, keys: Record<string, string> = {}): Promise<void> {
  const entry = { auth: { auth_url: `${cloud.keystoneUrl}/v3`, ...auth }, region_name: cloud.region, ...more }
  await system.writeSecret('cloud', { 'clouds.yaml': stringify({ clouds: { mine: entry } }), ...keys })
}

async function condition(type: string): Promise<string> {
  const found = (await system.config()).status?.conditions?.find(one => one.type === type)
  return `${found?.status} ${found?.reason}: ${found?.message}`
}

const waitForReady = (expected: RegExp) =>
  system.eventually(async () => assert.match(await condition('Ready'), expected))

const works = /^True (Synced|NoChange): /

async function credential(name: string, more: Fields = {}): Promise<{ id: string; secret: string }> {
  const body = { application_credential: { name, ...more } }
  const path = `/v3/users/${reader.id}/application_credentials`
  return (await apiAs(reader).call('keystone', 'POST', path, body)).application_credential
}

const byId = ({ id, secret }: { id: string; secret: string }) => ({
  application_credential_id: id,
  application_credential_secret: secret,
})

async function delivery(): Promise<string> {
  return (await system.nodes())
    .map(({ spec }) => `${spec.nodeName}: ${spec.interfaces.map(nic => `${nic.name}=${nic.portId}`)}`)
    .join()
}

test(
  'experience M12: a port is delivered with an application credential that may only read, and without Contrabass',
  long,
  async () => {
    await write(byId(await credential('first')))
    await system.create('main', { cloudSecretRef: { name: 'cloud' }, subnetIDs: [storage], vmNames: [vm] })
    const { ports: found } = await cloud.api.call('neutron', 'GET', `/v2.0/ports?device_id=${vm}`)
    delivered = `worker-1: multinic0=${found[0].id}`
    await system.eventually(async () => assert.equal(await delivery(), delivered))
    await waitForReady(works)
    assert.match(await condition('EventsConnected'), /^Unknown EventBusNotConfigured: /)
  },
)

test('each refused account has a verdict that names the fields, and the next account works', long, async () => {
  const { user: username, password, id: user_id } = reader
  const domains = { user_domain_name: 'Default', project_domain_name: 'Default' }
  const byName = { username, password, project_name: 'multinic', ...domains }
  const project_id = cloud.projectId
  const stranger = await cloud.createUser('stranger', [])
  await cloud.createRole('onlooker')
  const onlooker = await cloud.createUser('onlooker', ['onlooker'])
  const named = await credential('named')
  const short = await credential('short', { expires_at: new Date(Date.now() + 1_000).toISOString().slice(0, -1) })
  const removed = await credential('removed')
  await apiAs(reader).call('keystone', 'DELETE', `/v3/users/${user_id}/application_credentials/${removed.id}`)
  const token = await apiAs(reader).token()
  const revoked = await apiAs(reader).token()
  await cloud.revokeToken(revoked)

  const refused = (advice: string) => new RegExp(`^False KeystoneError: keystone: POST .* HTTP 40[14] .*; ${advice}`)
  const ofPassword = refused('in the clouds.yaml, check user, password, project and both domains')
  const ofCredential = refused('in the clouds.yaml, check application_credential_id and application_credential_secret')
  const steps: [bad: Fields, verdict: RegExp, good: Fields][] = [
    [{ ...byName, password: 'wrong' }, ofPassword, byName],
    [{ ...byName, user_domain_name: 'Elsewhere' }, ofPassword, { user_id, password, project_id }],
    [{ username: stranger.user, password: stranger.password, project_id }, ofPassword, byName],
    [
      { username: onlooker.user, password: onlooker.password, project_id },
      /^False \w+: .* give the account a role that may read the project, such as reader/,
      byName,
    ],
    [
      { ...byId(named), application_credential_secret: 'wrong' },
      ofCredential,
      { application_credential_name: 'named', application_credential_secret: named.secret, user_id },
    ],
    [byId(short), ofCredential, byId(named)],
    [byId(removed), ofCredential, byId(named)],
    [
      { token: revoked, project_id },
      refused('the token in the clouds.yaml is wrong, expired or revoked'),
      { token, project_id },
    ],
    [
      { ...byName, auth_url: `${cloud.keystoneUrl}/identity` },
      refused('auth_url must be the URL of Keystone v3'),
      byName,
    ],
  ]
  for (const [bad, verdict, good] of steps) {
    await write(bad)
    await waitForReady(verdict)
    await write(good)
    await waitForReady(works)
    assert.equal(await delivery(), delivered)
  }
})

/** Ends TLS in front of a service of the cloud. */
async function secure(port: number, tls: { cert: Buffer; key: Buffer }): Promise<string> {
  const proxy = createServer(tls, socket => {
    const upstream = connect(port, '127.0.0.1')
    socket.pipe(upstream).pipe(socket)
    socket.on('error', () => upstream.destroy())
    upstream.on('error', () => socket.destroy())
  })
  proxies.push(proxy)
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  return `https://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

test(
  'a private CA: the certificate is a key of the Secret or in the file, and its absence is explained',
  long,
  async () => {
    const authority = await certificateAuthority(tmpdir())
    const files = await authority.issue('cloud', '/CN=cloud', { subjectAltName: 'IP:127.0.0.1' })
    const tls = { cert: await readFile(files.cert), key: await readFile(files.key) }
    const cacert = await readFile(authority.cert, 'utf8')
    const auth = { ...byId(await credential('secure')), auth_url: `${await secure(ports.keystone, tls)}/v3` }
    await cloud.api.call('keystone', 'POST', '/v3/regions', { region: { id: 'secure' } })
    const { services } = await cloud.api.call('keystone', 'GET', '/v3/services')
    for (const [type, port, path] of [
      ['network', ports.neutron, ''],
      ['compute', ports.nova, '/v2.1'],
    ] as const) {
      const { id } = services.find((service: { type: string }) => service.type === type)
      const endpoint = {
        service_id: id,
        interface: 'public',
        region_id: 'secure',
        url: `${await secure(port, tls)}${path}`,
      }
      await cloud.api.call('keystone', 'POST', '/v3/endpoints', { endpoint })
    }
    const region = { region_name: 'secure' }
    const unknown =
      /^False KeystoneError: .*; add the certificate of the private authority to the Secret, with the key cacert/
    await write(auth, region)
    await waitForReady(unknown)
    await write(auth, region, { cacert })
    await waitForReady(works)
    await write(auth, { ...region, cacert: '/etc/ssl/cloud.pem' })
    await waitForReady(/^False ConfigError: .*cacert names a file .* add its content to the Secret with the key cacert/)
    await write(auth, { ...region, cacert })
    await waitForReady(works)
    await write(auth, region)
    await waitForReady(unknown)
    await write(auth, { ...region, verify: false })
    await waitForReady(works)
    assert.equal(await delivery(), delivered)
  },
)

test('a RabbitMQ Secret beside it brings events', long, async () => {
  const { host, port, user, password } = cloud.rabbit
  const urls = { RABBITMQ_URLS: `amqp://${host}:${port}/`, RABBITMQ_USER: user, RABBITMQ_PASSWORD: password }
  await write(byId(await credential('with-bus')))
  await system.writeSecret('bus', urls)
  await system.change('main', ({ spec }) => {
    spec.secrets = { rabbitmqSecretRef: { name: 'bus' } }
  })
  await system.eventually(async () => assert.match(await condition('EventsConnected'), /^True /))
})
