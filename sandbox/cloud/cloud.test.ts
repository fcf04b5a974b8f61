import assert from 'node:assert/strict'
import { createDecipheriv } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { request } from 'undici'
import { silent } from '../../src/telemetry/log.ts'
import { type Cloud, startCloud } from './cloud.ts'
import {
  addPort,
  addServer,
  addSubnet,
  type CloudState,
  createCloudState,
  noFaults,
  type Port,
  type Service,
} from './state.ts'

let cloudState: CloudState
let cloud: Cloud
let ports: Port[]
let now = new Date('2026-11-15T01:00:00Z')

before(async () => {
  cloudState = createCloudState(() => now)
  const storage = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  const backup = addSubnet(cloudState, { name: 'backup', cidr: '10.20.0.0/24', mtu: 1450 })
  const servers = ['worker-1', 'worker-2', 'worker-3'].map(name => addServer(cloudState, name))
  ports = servers.flatMap(server => [
    addPort(cloudState, { server, subnet: storage }),
    addPort(cloudState, { server, subnet: backup }),
  ])
  cloud = await startCloud(cloudState, silent)
})
after(() => cloud.close())
beforeEach(() => {
  cloudState.faults = { ...noFaults }
})

interface Got {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared as they come
  json: any
}

async function call(
  service: Service,
  path: string,
  init: { method?: 'GET' | 'POST'; token?: string; body?: object } = {},
): Promise<Got> {
  const answer = await request(`${cloud.urls[service]}${path}`, {
    method: init.method ?? 'GET',
    headers: { ...(init.token && { 'x-auth-token': init.token }) },
    ...(init.body && { body: JSON.stringify(init.body) }),
  })
  const text = await answer.body.text()
  return { status: answer.statusCode, headers: answer.headers, text, json: text ? JSON.parse(text) : undefined }
}

function loginBody(password = cloudState.user.password, project = cloudState.project.id) {
  const user = { name: cloudState.user.name, domain: { name: 'Default' }, password }
  return { auth: { identity: { methods: ['password'], password: { user } }, scope: { project: { id: project } } } }
}

async function token(): Promise<string> {
  const answer = await call('keystone', '/v3/auth/tokens', { method: 'POST', body: loginBody() })
  assert.equal(answer.status, 201, answer.text)
  return String(answer.headers['x-subject-token'])
}

async function neutron(path: string): Promise<Got> {
  return call('neutron', path, { token: await token() })
}

test('Contrabass gives the same cloud under both paths, its password encrypted with the key of the provider', async () => {
  const newer = await call('contrabass', `/v1/contrabass/admin/infra/provider/${cloudState.provider.id}`)
  const older = await call('contrabass', `/api/providers/${cloudState.provider.id}`)
  assert.equal(newer.json.data.url, `${cloud.urls.keystone}/v3`)
  assert.equal(older.json.data.url, newer.json.data.url)
  const raw = Buffer.from(newer.json.data.attributes.adminPw, 'base64')
  const decipher = createDecipheriv('aes-128-cbc', Buffer.from(cloudState.provider.encryptKey), raw.subarray(0, 16))
  const opened = Buffer.concat([decipher.update(raw.subarray(16)), decipher.final()]).toString()
  assert.equal(opened, cloudState.user.password)
  assert.equal((await call('contrabass', '/api/providers/other')).status, 404)
})

test('a login gives a token with its expiry and the addresses of Neutron and Nova', async () => {
  const { json } = await call('keystone', '/v3/auth/tokens', { method: 'POST', body: loginBody() })
  assert.equal(json.token.expires_at, '2026-11-15T02:00:00.000000Z')
  const urls = json.token.catalog.map((entry: { type: string; endpoints: { url: string }[] }) => [
    entry.type,
    entry.endpoints[0]?.url,
  ])
  assert.deepEqual(urls, [
    ['network', cloud.urls.neutron],
    ['compute', `${cloud.urls.nova}/v2.1`],
  ])
})

test('a wrong password and a foreign project are 401 in the words of Keystone', async () => {
  for (const body of [loginBody('wrong'), loginBody(undefined, 'f'.repeat(32))]) {
    const answer = await call('keystone', '/v3/auth/tokens', { method: 'POST', body })
    assert.equal(answer.status, 401)
    assert.equal(answer.headers['www-authenticate'], `Keystone uri="${cloud.urls.keystone}/v3"`)
    assert.deepEqual(answer.json, {
      error: { code: 401, message: 'The request you have made requires authentication.', title: 'Unauthorized' },
    })
  }
})

test('an expired token is refused by all', async () => {
  const old = await token()
  const at = now
  now = new Date(now.getTime() + 3_600_000)
  for (const [service, path] of [
    ['neutron', '/v2.0/ports'],
    ['nova', '/v2.1/servers/detail'],
  ] as const)
    assert.equal((await call(service, path, { token: old })).status, 401)
  now = at
})

const lists: Record<string, [path: () => string, expected: () => unknown]> = {
  'repeated device_ids are alternatives': [
    () => `/v2.0/ports?device_id=${ports[0]?.deviceId}&device_id=${ports[2]?.deviceId}&fields=id`,
    () =>
      ports
        .slice(0, 4)
        .map(port => ({ id: port.id }))
        .sort((a, b) => (a.id < b.id ? -1 : 1)),
  ],
  'a comma list matches nothing': [() => `/v2.0/ports?device_id=${ports[0]?.deviceId},${ports[2]?.deviceId}`, () => []],
  'ports are found by the subnet of an address': [
    () =>
      `/v2.0/ports?fixed_ips=subnet_id%3D${ports[0]?.fixedIps[0]?.subnetId}&device_id=${ports[0]?.deviceId}&fields=fixed_ips`,
    () => [{ fixed_ips: [{ subnet_id: ports[0]?.fixedIps[0]?.subnetId, ip_address: '10.10.0.10' }] }],
  ],
  'a device_owner that nobody has': [() => '/v2.0/ports?device_owner=network:dhcp', () => []],
  'subnets are found by name': [
    () => '/v2.0/subnets?name=backup&fields=cidr&fields=gateway_ip&fields=ip_version',
    () => [{ ip_version: 4, gateway_ip: '10.20.0.1', cidr: '10.20.0.0/24' }],
  ],
  'networks tell their MTU': [() => '/v2.0/networks?name=storage-net&fields=mtu', () => [{ mtu: 9000 }]],
}
for (const [name, [path, expected]] of Object.entries(lists))
  test(`Neutron: ${name}`, async () => {
    const { json } = await neutron(path())
    assert.deepEqual(Object.values(json)[0], expected())
  })

const refusals: Record<string, [path: string, status: number, type: string, message: string]> = {
  'an unknown filter': ['/v2.0/ports?bogus=1', 400, 'HTTPBadRequest', "['bogus'] is invalid attribute for filtering"],
  'a bad limit': [
    '/v2.0/ports?limit=abc',
    400,
    'BadRequest',
    "Bad limit request: Limit must be an integer 0 or greater and not 'abc'.",
  ],
  'a port that is not there': ['/v2.0/ports/x', 404, 'PortNotFound', 'Port x could not be found.'],
  'a marker that is not there': ['/v2.0/ports?limit=1&marker=x', 404, 'PortNotFound', 'Port x could not be found.'],
}
for (const [name, [path, status, type, message]] of Object.entries(refusals))
  test(`Neutron refuses ${name}`, async () => {
    const answer = await neutron(path)
    assert.equal(answer.status, status)
    assert.deepEqual(answer.json, { NeutronError: { type, message, detail: '' } })
  })

test('pages are followed by their links, and keep the filters', async () => {
  const auth = await token()
  const seen: string[] = []
  let next: string | undefined = `/v2.0/ports?device_owner=compute%3Anova&limit=4`
  while (next) {
    const { json }: Got = await call('neutron', next, { token: auth })
    seen.push(...json.ports.map((port: { id: string }) => port.id))
    const link = json.ports_links.find((one: { rel: string }) => one.rel === 'next')
    next = link && new URL(link.href).pathname + new URL(link.href).search
    if (next) assert.match(next, /device_owner=compute%3Anova&limit=4&marker=/)
  }
  assert.deepEqual(seen, ports.map(port => port.id).sort())
})

test('a request line above 8192 bytes is 414 without a body, and the connection closes', async () => {
  const auth = await token()
  const path = (ids: number) =>
    `/v2.0/ports?${Array.from({ length: ids }, () => `device_id=${ports[0]?.deviceId}`).join('&')}`
  assert.equal((await call('neutron', path(172), { token: auth })).status, 200)
  const long = await call('neutron', path(1000), { token: auth })
  assert.equal(long.status, 414)
  assert.equal(long.text, '')
  assert.equal(long.headers['content-type'], undefined)
})

test('Nova tells servers by page, by name and by id, with their interfaces', async () => {
  const auth = await token()
  const first = await call('nova', '/v2.1/servers/detail?limit=2', { token: auth })
  assert.equal(first.json.servers.length, 2)
  const next = new URL(first.json.servers_links[0].href)
  const second = await call('nova', next.pathname + next.search, { token: auth })
  assert.equal(second.json.servers.length, 1)
  assert.equal(second.json.servers_links, undefined)

  const named = await call('nova', '/v2.1/servers/detail?name=%5Eworker-2%24', { token: auth })
  assert.deepEqual(
    named.json.servers.map((server: { name: string }) => server.name),
    ['worker-2'],
  )
  const id = named.json.servers[0].id
  const interfaces = await call('nova', `/v2.1/servers/${id}/os-interface`, { token: auth })
  assert.deepEqual(
    interfaces.json.interfaceAttachments.map((nic: { port_id: string }) => nic.port_id),
    ports.slice(2, 4).map(port => port.id),
  )
  const gone = await call('nova', '/v2.1/servers/x', { token: auth })
  assert.deepEqual(gone.json, { itemNotFound: { code: 404, message: 'Instance x could not be found.' } })
})

test('a lost role is 200 and empty, as the real ones answer', async () => {
  cloudState.faults.roleLost = true
  assert.deepEqual((await neutron('/v2.0/ports')).json, { ports: [] })
  assert.equal((await neutron(`/v2.0/ports/${ports[0]?.id}`)).status, 404)
})

test('a failing service answers 500 in its own words', async () => {
  const auth = await token()
  cloudState.faults.failing = ['neutron']
  const answer = await call('neutron', '/v2.0/ports', { token: auth })
  assert.equal(answer.status, 500)
  assert.equal(answer.json.NeutronError.type, 'HTTPInternalServerError')
})

test('a page limit of the cloud counts without being asked for', async () => {
  cloudState.faults.pageLimit = 4
  const { json } = await neutron('/v2.0/ports')
  assert.equal(json.ports.length, 4)
  assert.equal(json.ports_links[0].rel, 'next')
})
