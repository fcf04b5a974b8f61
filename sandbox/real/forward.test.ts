/** The forwarders in front of a simulated cloud, which stands for a real one. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { silent } from '../../src/telemetry/log.ts'
import { type Cloud, startCloud } from '../cloud/cloud.ts'
import { addPort, addServer, addSubnet, createCloudState, noFaults } from '../cloud/state.ts'
import { type Forwarders, startForwarders } from './forward.ts'

const target = createCloudState()
/** The faults of the forwarders, not of the target. */
const { faults, ...state } = createCloudState()
let cloud: Cloud
let forwarders: Forwarders

before(async () => {
  const subnet = addSubnet(target, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  addPort(target, { server: addServer(target, 'worker-1'), subnet })
  cloud = await startCloud(target, silent)
  forwarders = await startForwarders(cloud.urls, { ...state, faults }, silent)
})
after(async () => {
  await forwarders.close()
  await cloud.close()
})

interface Catalog {
  token: { catalog: { endpoints: { url: string }[] }[] }
}

async function login(): Promise<{ token: string; catalog: Catalog }> {
  const { name, password } = target.user
  const identity = { methods: ['password'], password: { user: { name, password, domain: { name: 'Default' } } } }
  const response = await request(`${forwarders.urls.keystone}/v3/auth/tokens`, {
    method: 'POST',
    body: JSON.stringify({ auth: { identity, scope: { project: { id: target.project.id } } } }),
  })
  assert.equal(response.statusCode, 201)
  return { token: String(response.headers['x-subject-token']), catalog: (await response.body.json()) as Catalog }
}

async function listPorts(token: string) {
  const headers = { 'x-auth-token': token }
  const response = await request(`${forwarders.urls.neutron}/v2.0/ports?fields=id`, { headers })
  return { status: response.statusCode, text: await response.body.text() }
}

test('the catalog of Keystone leads through the forwarders', async () => {
  const { catalog } = await login()
  const origins = catalog.token.catalog.flatMap(({ endpoints }) => endpoints.map(({ url }) => new URL(url).origin))
  const { neutron, nova } = forwarders.urls
  assert.deepEqual([...new Set(origins)].sort(), [neutron, nova].sort())
})

test('a request has its query, and a response its status and body', async () => {
  const { token } = await login()
  const [id] = target.ports.keys()
  const { status, text } = await listPorts(token)
  assert.deepEqual([status, JSON.parse(text)], [200, { ports: [{ id }] }])
  assert.equal((await listPorts('wrong')).status, 401)
})

test('a forwarder answers with a fault, and forwards when it has ended', async () => {
  const { token } = await login()
  faults.failing = ['neutron']
  assert.equal((await listPorts(token)).status, 500)
  assert.equal((await login()).catalog.token.catalog.length > 0, true)
  Object.assign(faults, noFaults)
  assert.equal((await listPorts(token)).status, 200)
})

test('the tokens that Keystone issued are known once', async () => {
  forwarders.takeTokens()
  const { token } = await login()
  assert.deepEqual(forwarders.takeTokens(), [token])
  assert.deepEqual(forwarders.takeTokens(), [])
})
