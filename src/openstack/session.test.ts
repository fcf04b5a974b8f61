/** Keystone, Neutron and Nova, with captured answers of real services. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  badFilter,
  interfaces,
  novaNotFound,
  ports,
  projectId,
  server,
  unauthorized,
} from '../../test/openstack/captured-responses.ts'
import { sessionAt } from '../../test/openstack/sessions.ts'
import {
  type StubRequest,
  type StubResponse,
  type StubServer,
  startStubServer,
} from '../../test/openstack/stub-server.ts'
import { createHttp } from '../http-client/client.ts'
import { type Catalog, createKeystone, endpointIn } from './keystone.ts'
import { createNeutron } from './neutron.ts'
import { createNova } from './nova.ts'

type Respond = (request: StubRequest) => StubResponse | undefined

interface CloudOptions {
  now?: () => number
  /** Offset of the cloud's clock. */
  aheadMs?: number
  domain?: string
  lifeMs?: number
}

/** One stub server for all three services. `respond` is called first, then the login. */
async function aCloud(respond: Respond, options: CloudOptions = {}) {
  const { now = Date.now, aheadMs = 0, domain = 'Default', lifeMs = 3_600_000 } = options
  let issued = 0
  const it: StubServer = await startStubServer(request => {
    const own = respond(request)
    if (own) return own
    if (request.path !== '/v3/auth/tokens') return { status: 404, body: {} }
    const [issued_at, expires_at] = [0, lifeMs].map(ms => new Date(now() + aheadMs + ms).toISOString())
    const catalog = ['network', 'compute'].map(type => ({
      type,
      endpoints: [
        { interface: 'public', region: 'R1', region_id: 'R1', url: `${it.url}/${type === 'compute' ? 'v2.1' : ''}` },
      ],
    }))
    return {
      status: 201,
      body: { token: { issued_at, expires_at, catalog } },
      headers: { 'x-subject-token': `token-${++issued}` },
    }
  })
  const http = createHttp({ service: 'neutron', timeoutMs: 2_000, attempts: 1 })
  const keystone = createKeystone({ http: createHttp({ service: 'keystone', timeoutMs: 2_000, attempts: 1 }), now })
  const session = sessionAt({ url: it.url, http, keystone, domain })
  return {
    neutron: createNeutron(session),
    nova: createNova(session),
    requests: (path: string) => it.requests.filter(one => one.path === path),
    logins: () => it.requests.filter(one => one.path === '/v3/auth/tokens'),
    async [Symbol.asyncDispose]() {
      await http.close()
      await it[Symbol.asyncDispose]()
    },
  }
}

const listing: Respond = ({ path }) => (path === '/v2.0/ports' ? { status: 200, body: { ports } } : undefined)

test('the login uses the password, the project scope and the domain name', async () => {
  await using cloud = await aCloud(listing)
  await cloud.neutron.portsOfServers(['vm'])
  assert.deepEqual(JSON.parse(cloud.logins()[0]?.body ?? ''), {
    auth: {
      identity: {
        methods: ['password'],
        password: { user: { name: 'admin', domain: { name: 'Default' }, password: 'hunter2' } },
      },
      scope: { project: { id: projectId } },
    },
  })
})

test('a domain that looks like an id is used as id if its name fails', async () => {
  await using cloud = await aCloud(
    request => {
      if (request.path !== '/v3/auth/tokens') return listing(request)
      return request.body.includes('"domain":{"name"') ? { status: 401, body: unauthorized } : undefined
    },
    { domain: 'default' },
  )
  assert.equal((await cloud.neutron.portsOfServers(['vm'])).length, 2)
  assert.equal(cloud.logins().length, 2)
})

test('concurrent calls share one login, and later calls reuse the token', async () => {
  await using cloud = await aCloud(listing)
  await Promise.all([1, 2, 3, 4, 5].map(() => cloud.neutron.portsOfServers(['vm'])))
  await cloud.neutron.portsOfServers(['vm'])
  assert.equal(cloud.logins().length, 1)
})

test('a token is renewed shortly before it expires', async () => {
  let now = Date.parse('2026-11-15T01:00:00Z')
  await using cloud = await aCloud(listing, { now: () => now })
  await cloud.neutron.portsOfServers(['vm'])
  now += 3_600_000 - 59_000
  await cloud.neutron.portsOfServers(['vm'])
  assert.equal(cloud.logins().length, 2)
})

for (const aheadMs of [-7_200_000, 7_200_000])
  test(`with a cloud clock that is ${aheadMs / 3_600_000} hours off, the token is renewed only before it expires`, async () => {
    let now = Date.parse('2026-11-15T01:00:00Z')
    await using cloud = await aCloud(listing, { now: () => now, aheadMs })
    for (let call = 0; call < 3; call++) await cloud.neutron.portsOfServers(['vm'])
    assert.equal(cloud.logins().length, 1)
    now += 3_600_000 - 59_000
    await cloud.neutron.portsOfServers(['vm'])
    assert.equal(cloud.logins().length, 2)
  })

test('a refused token is renewed once, and the call is repeated', async () => {
  await using cloud = await aCloud(request => {
    if (request.path !== '/v2.0/ports') return undefined
    return request.headers['x-auth-token'] === 'token-1'
      ? { status: 401, body: unauthorized }
      : { status: 200, body: { ports } }
  })
  assert.equal((await cloud.neutron.portsOfServers(['vm'])).length, 2)
  assert.deepEqual([cloud.logins().length, cloud.requests('/v2.0/ports').length], [2, 2])
})

test('a service that refuses every token is called twice', async () => {
  await using cloud = await aCloud(({ path }) =>
    path === '/v2.0/ports' ? { status: 401, body: unauthorized } : undefined,
  )
  await assert.rejects(
    cloud.neutron.portsOfServers(['vm']),
    /HTTP 401 The request you have made requires authentication/,
  )
  assert.equal(cloud.requests('/v2.0/ports').length, 2)
})

test('the error of a wrong password does not contain it', async () => {
  await using cloud = await aCloud(({ path }) =>
    path === '/v3/auth/tokens' ? { status: 401, body: unauthorized } : undefined,
  )
  await assert.rejects(cloud.neutron.portsOfServers(['vm']), (error: Error) => {
    assert.match(error.message, /^keystone: POST .*: HTTP 401/)
    assert.ok(!error.message.includes('hunter2'))
    return true
  })
})

test('ports of a real Neutron are read', async () => {
  await using cloud = await aCloud(listing)
  const [down, dual] = await cloud.neutron.portsOfServers(['a'])
  assert.deepEqual(down, {
    id: '30d435ef-61d9-4235-b7f7-36654515d948',
    networkId: '0a6f3dbc-4e01-45a7-9c56-42e066604425',
    macAddress: 'fa:16:3e:b5:d7:eb',
    status: 'DOWN',
    serverId: 'a6b2a3c3-fd83-40be-b484-f0797433239c',
    owner: 'compute:nova',
    addresses: [{ subnetId: 'aa039e7b-914d-486b-86cd-d9851791a4a6', address: '10.1.0.190' }],
    createdAt: '2026-11-15T00:55:41Z',
    revision: 3,
    portSecurity: { enabled: true, allowedAddressPairs: [] },
  })
  assert.deepEqual(
    dual?.addresses.map(ip => ip.address),
    ['10.0.0.109', 'fd00::1:f816:3eff:fe12:95c3'],
  )
})

test('the ports of a thousand servers need ten requests, with the project and only the fields that are read', async () => {
  const ids = Array.from({ length: 1_000 }, (_, i) => `a6b2a3c3-fd83-40be-b484-${String(i).padStart(12, '0')}`)
  await using cloud = await aCloud(({ path }) =>
    path === '/v2.0/ports' ? { status: 200, body: { ports: [] } } : undefined,
  )
  await cloud.neutron.portsOfServers(ids)
  const requests = cloud.requests('/v2.0/ports')
  assert.equal(requests.length, 10)
  for (const { query } of requests) {
    assert.ok(query.toString().length < 8_000)
    assert.equal(query.getAll('device_id').length, 100)
    assert.equal(query.get('project_id'), projectId)
    assert.ok(query.getAll('fields').includes('fixed_ips'))
  }
  assert.deepEqual(requests.flatMap(({ query }) => query.getAll('device_id')).sort(), ids)
})

test('long ids keep the request line short too', async () => {
  await using cloud = await aCloud(({ path }) =>
    path === '/v2.0/ports' ? { status: 200, body: { ports: [] } } : undefined,
  )
  await cloud.neutron.portsById(Array.from({ length: 50 }, (_, i) => `${i}-${'x'.repeat(240)}`))
  for (const { query } of cloud.requests('/v2.0/ports')) assert.ok(query.toString().length < 8_000)
})

test('pages are followed by their links, whatever host they name', async () => {
  await using cloud = await aCloud(({ path, query }) => {
    if (path !== '/v2.0/ports') return undefined
    const second = query.get('marker') === 'm1'
    const links = [{ rel: 'next', href: 'http://inner:9696/v2.0/ports?device_id=vm&marker=m1' }]
    return { status: 200, body: { ports: [ports[second ? 1 : 0]], ...(second ? {} : { ports_links: links }) } }
  })
  assert.deepEqual(
    (await cloud.neutron.portsOfServers(['vm'])).map(port => port.id),
    ports.map(port => port.id),
  )
})

const invalidBodies: Record<string, unknown> = {
  'an empty object': {},
  'a list of other objects': { ports: [{ id: 7 }] },
  'the error of a proxy': { message: 'try later' },
}
for (const [name, body] of Object.entries(invalidBodies))
  test(`a 200 with ${name} is an error, not an empty list`, async () => {
    await using cloud = await aCloud(({ path }) => (path === '/v2.0/ports' ? { status: 200, body } : undefined))
    await assert.rejects(cloud.neutron.portsOfServers(['vm']), /neutron: the list of ports has invalid fields/)
  })

test('the error of Neutron contains its own message', async () => {
  await using cloud = await aCloud(({ path }) =>
    path === '/v2.0/subnets' ? { status: 400, body: badFilter } : undefined,
  )
  await assert.rejects(cloud.neutron.subnets(['s']), /HTTP 400 \['bogus'\] is invalid attribute for filtering/)
})

test('a subnet name is searched in the project, then in networks that are shared with it', async () => {
  const subnet = { id: 's1', name: 'storage', network_id: 'n1', cidr: '10.0.0.0/24' }
  await using cloud = await aCloud(({ path, query }) => {
    if (path === '/v2.0/networks')
      return { status: 200, body: { networks: [{ id: 'n1', shared: true }, { id: 'n2' }] } }
    if (path !== '/v2.0/subnets') return undefined
    const subnets = query.has('project_id') ? [] : [subnet, { ...subnet, id: 's2', network_id: 'n2' }]
    return { status: 200, body: { subnets } }
  })
  assert.deepEqual(
    (await cloud.neutron.subnetsByName('storage')).map(one => one.id),
    ['s1'],
  )
})

test('a few servers are read one by one with a pinned microversion; an unknown one is absent', async () => {
  await using cloud = await aCloud(({ path }) => {
    if (path === `/v2.1/servers/${server.id}`) return { status: 200, body: { server } }
    return path.startsWith('/v2.1/servers/') ? { status: 404, body: novaNotFound } : undefined
  })
  const found = await cloud.nova.servers([server.id, 'gone'])
  assert.deepEqual(found, [{ id: server.id, name: 'vm0', metadata: { new: 'meta' } }])
  const [one] = cloud.requests(`/v2.1/servers/${server.id}`)
  assert.equal(one?.headers['x-openstack-nova-api-version'], '2.1')
})

test('many servers are read from the paged list; missing ones are read by id', async () => {
  const ids = Array.from({ length: 20 }, (_, i) => `vm-${i}`)
  await using cloud = await aCloud(({ path, query }) => {
    if (path === '/v2.1/servers/vm-19') return { status: 200, body: { server: { ...server, id: 'vm-19' } } }
    if (path !== '/v2.1/servers/detail') return undefined
    const second = query.get('marker') !== null
    const servers = ids.slice(second ? 10 : 0, second ? 19 : 10).map(id => ({ ...server, id }))
    const links = [{ rel: 'next', href: 'http://x/v2.1/servers/detail?limit=1000&marker=vm-9' }]
    return { status: 200, body: { servers, ...(second ? {} : { servers_links: links }) } }
  })
  assert.equal((await cloud.nova.servers(ids)).length, 20)
  assert.deepEqual(
    [cloud.requests('/v2.1/servers/detail').length, cloud.requests('/v2.1/servers/vm-19').length],
    [2, 1],
  )
})

test('a server is found by its exact name only', async () => {
  await using cloud = await aCloud(({ path }) =>
    path === '/v2.1/servers/detail'
      ? { status: 200, body: { servers: [server, { ...server, id: 'other', name: 'vm0-copy' }] } }
      : undefined,
  )
  assert.deepEqual(
    (await cloud.nova.serversByName('vm0')).map(one => one.id),
    [server.id],
  )
})

test('a server was deleted if Nova has a record of it, not if it is just not found', async () => {
  await using cloud = await aCloud(({ path, headers }) => {
    if (!path.endsWith('/os-instance-actions')) return undefined
    assert.equal(headers['x-openstack-nova-api-version'], '2.21')
    if (path.includes('/unknown/')) return { status: 404, body: novaNotFound }
    const actions = path.includes('/deleted/') ? ['delete', 'create'] : ['reboot', 'create']
    return { status: 200, body: { instanceActions: actions.map(action => ({ action })) } }
  })
  const deleted = await Promise.all(['deleted', 'alive', 'unknown'].map(id => cloud.nova.wasDeleted(id)))
  assert.deepEqual(deleted, [true, false, false])
})

test('attachments are Nova’s own list; a 404 that is not from Nova is an error', async () => {
  await using cloud = await aCloud(({ path }) => {
    if (path.endsWith('/os-interface') && path.includes(server.id)) return { status: 200, body: interfaces }
    if (path.includes('/gone/')) return { status: 404, body: novaNotFound }
    return path.includes('/proxied/') ? { status: 404, body: '<html>no such site</html>' } : undefined
  })
  assert.deepEqual(await cloud.nova.attachmentsOf(server.id), [
    {
      portId: 'cdb7cbcf-38a7-42fc-aa9a-3d088e82a9b0',
      macAddress: 'fa:16:3e:f5:74:89',
      subnetIds: ['ca40b3a9-6cd7-43e1-bf9e-bb4bd44ea3fd'],
    },
  ])
  assert.equal(await cloud.nova.attachmentsOf('gone'), undefined)
  await assert.rejects(cloud.nova.attachmentsOf('proxied'), /HTTP 404 without itemNotFound/)
})

const catalog: Catalog = [
  {
    type: 'network',
    endpoints: [
      { interface: 'public', region: 'R1', region_id: 'R1', url: 'http://r1:9696/' },
      { interface: 'internal', region: 'R2', region_id: 'R2', url: 'http://r2:9696' },
    ],
  },
]
const choices: [face: string, region: string, expected: string | RegExp][] = [
  ['public', '', 'http://r1:9696'],
  ['internal', 'R2', 'http://r2:9696'],
  ['public', 'R2', /no public network in region R2 endpoint; available: R1\/public, R2\/internal/],
  ['admin', '', /no admin network endpoint/],
]
for (const [face, region, expected] of choices)
  test(`the catalog for ${face} in ${region || 'any region'}`, () => {
    const find = () => endpointIn(catalog, { type: 'network', interface: face, region })
    if (typeof expected === 'string') assert.equal(find(), expected)
    else assert.throws(find, expected)
  })

const invalidCatalogs: Record<string, [url: string, expected: RegExp]> = {
  'a host that is not allowed': [
    'http://elsewhere.example.com:9696',
    /cloud: the host elsewhere\.example\.com is not in ENDPOINT_ALLOWED_HOSTS/,
  ],
  'an invalid URL': ['neutron', /the network endpoint of the catalog must be an http or https URL/],
  'a query': ['http://127.0.0.1:9/admin/delete?all=1&x=', /without user, query and fragment/],
}
for (const [name, [url, expected]] of Object.entries(invalidCatalogs))
  test(`a catalog with ${name} is not followed`, async () => {
    await using cloud = await startStubServer(() => ({
      status: 201,
      body: {
        token: {
          expires_at: '2099-01-01T00:00:00Z',
          catalog: [{ type: 'network', endpoints: [{ interface: 'public', url }] }],
        },
      },
      headers: { 'x-subject-token': 'token' },
    }))
    const isAllowedHost = (host: string) => host === '127.0.0.1'
    const http = createHttp({ service: 'cloud', timeoutMs: 2_000, attempts: 1, isAllowedHost })
    const session = sessionAt({ url: cloud.url, http })
    await assert.rejects(session.get('network', { path: '/ports' }), expected)
    await http.close()
  })
