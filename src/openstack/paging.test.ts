/** Lists of many pages: what is asked for, what is kept, and lists that never end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ports as captured } from '../../test/openstack/captured-responses.ts'
import { sessionAt } from '../../test/openstack/sessions.ts'
import { type StubRequest, type StubResponse, startStubServer } from '../../test/openstack/stub-server.ts'
import { createHttp } from '../http-client/client.ts'
import { createNeutron, pageSize } from './neutron.ts'
import { createNova } from './nova.ts'
import { createPageCache } from './page-cache.ts'

const [port] = captured
const portsOf = (serverId: string, from: number, count: number) =>
  Array.from({ length: count }, (_, n) => ({ ...port, id: `port-${from + n}`, device_id: serverId }))
const nextTo = (marker: string) => [{ rel: 'next', href: `http://x/v2.0/ports?limit=${pageSize}&marker=${marker}` }]

async function aCloud(respond: (request: StubRequest) => StubResponse, pages = createPageCache()) {
  const stub = await startStubServer(request => {
    if (request.path !== '/v3/auth/tokens') return respond(request)
    const endpoints = (url: string) => [{ interface: 'public', url }]
    const catalog = [
      { type: 'network', endpoints: endpoints(stub.url) },
      { type: 'compute', endpoints: endpoints(`${stub.url}/v2.1`) },
    ]
    const body = { token: { expires_at: '2099-01-01T00:00:00Z', catalog } }
    return { status: 201, body, headers: { 'x-subject-token': 'token' } }
  })
  const http = createHttp({ service: 'neutron', timeoutMs: 10_000, attempts: 1 })
  const session = sessionAt({ url: stub.url, http })
  return {
    neutron: createNeutron(session, pages),
    neutronOf: (cloud: string) => createNeutron(session, pages, cloud),
    nova: createNova(session),
    calls: () => stub.requests.filter(({ path }) => path !== '/v3/auth/tokens'),
    async [Symbol.asyncDispose]() {
      await http.close()
      await stub[Symbol.asyncDispose]()
    },
  }
}

test('operator 14: ports are listed 5,000 a page, and one call reads each page', async () => {
  await using cloud = await aCloud(({ query }) => {
    const from = Number(query.get('marker') ?? 0)
    const ports = portsOf('vm', from, Math.min(pageSize, 12_000 - from))
    const isLast = from + pageSize >= 12_000
    return { status: 200, body: { ports, ...(!isLast && { ports_links: nextTo(String(from + pageSize)) }) } }
  })
  const serverIds = Array.from({ length: 600 }, (_, n) => (n === 0 ? 'vm' : `vm-${n}`))
  assert.equal((await cloud.neutron.portsOfProject(serverIds, 6))?.length, 12_000)
  assert.deepEqual(
    cloud.calls().map(({ query }) => query.get('limit')),
    ['5000', '5000', '5000'],
  )
})

test('clouds that share the pages of a project each keep their own ports in the cache', async () => {
  const servers = ['a', 'b', 'c', 'd']
  const body = { ports: servers.flatMap((server, n) => portsOf(server, n * 100, 100)) }
  const pages = createPageCache({ maxBytes: 1.5 * JSON.stringify(body).length })
  await using cloud = await aCloud(() => ({ status: 200, body }), pages)
  const read = () => Promise.all(servers.map(server => cloud.neutronOf(server).portsOfProject([server], 1)))
  const [first, second] = [await read(), await read()]
  for (const [object, ports] of first.entries()) {
    assert.equal(ports?.length, 100)
    assert.ok(ports?.every((port, n) => port === second[object]?.[n]))
  }
})

test('a list for other servers takes the place of the last one in the cache', async () => {
  const servers = ['a', 'b', 'c', 'd']
  const body = { ports: servers.flatMap((server, n) => portsOf(server, n * 100, 100)) }
  const pages = createPageCache({ maxBytes: 1.5 * JSON.stringify(body).length })
  await using cloud = await aCloud(({ query }) => {
    const ports = query.has('device_id') ? portsOf('few', 1_000, 1) : body.ports
    return { status: 200, body: { ports } }
  }, pages)
  const [before] = await cloud.neutron.portsOfServers(['few'])
  for (const left of servers)
    assert.equal((await cloud.neutron.portsOfProject(servers.toSpliced(servers.indexOf(left), 1), 1))?.length, 300)
  assert.equal((await cloud.neutron.portsOfServers(['few']))[0], before, 'the former lists filled the cache')
})

test('a page that nobody used for ten minutes leaves the cache', async () => {
  let now = 0
  const pages = createPageCache({ now: () => now })
  const page = { items: [], keptShare: 1, links: undefined }
  pages.set('often', 'digest', page, 10)
  pages.set('once', 'digest', page, 10)
  for (now of [300_000, 600_000]) assert.equal(pages.get('often', 'digest'), page)
  pages.set('new', 'digest', page, 10)
  assert.equal(pages.get('once', 'digest'), undefined)
  for (const key of ['often', 'new']) assert.equal(pages.get(key, 'digest'), page)
})

test('a page keeps only the ports of the servers that were asked for', async () => {
  await using cloud = await aCloud(({ previous }) => {
    const ports = [...portsOf('vm', previous, 1), ...portsOf('of-somebody-else', 1_000, 4_999)]
    return { status: 200, body: { ports, ...(previous < 9 && { ports_links: nextTo(`m${previous}`) }) } }
  })
  const kept = await cloud.neutron.portsOfProject(['vm'], 10)
  assert.deepEqual(new Set(kept?.map(({ serverId }) => serverId)), new Set(['vm']))
  assert.equal(cloud.calls().length, 10)
})

test('a project with many other ports is not read to the end', async () => {
  await using cloud = await aCloud(({ previous }) => ({
    ...{ status: 200, body: { ports: portsOf('of-somebody-else', 0, 5_000), ports_links: nextTo(`m${previous}`) } },
  }))
  assert.equal(await cloud.neutron.portsOfProject(['vm'], 4), undefined)
  assert.equal(cloud.calls().length, 4)
})

test('port security is read with the ports, and a cloud that reports it in another way loses no port', async () => {
  const pairs = [{ ip_address: '10.10.0.128/26', mac_address: 'FA:16:3E:00:00:01' }]
  const answers = [
    { port_security_enabled: true, allowed_address_pairs: pairs },
    { port_security_enabled: false, allowed_address_pairs: [] },
    { port_security_enabled: undefined, allowed_address_pairs: [] },
    { port_security_enabled: true, allowed_address_pairs: undefined },
    { port_security_enabled: 'yes', allowed_address_pairs: Array(1_000).fill(pairs[0]) },
    {
      port_security_enabled: true,
      allowed_address_pairs: [{ ip_address: 'x'.repeat(300), mac_address: '' }, null, 'x', { ip_address: 7 }, ...pairs],
    },
    { port_security_enabled: true, allowed_address_pairs: 'none' },
  ]
  await using cloud = await aCloud(() => {
    const ports = answers.map((answer, n) => ({ ...port, id: `port-${n}`, device_id: 'vm', ...answer }))
    return { status: 200, body: { ports } }
  })
  const found = await cloud.neutron.portsOfServers(['vm'])
  assert.deepEqual(
    found.map(({ portSecurity }) => portSecurity),
    [
      { enabled: true, allowedAddressPairs: [{ ipAddress: '10.10.0.128/26', macAddress: 'fa:16:3e:00:00:01' }] },
      { enabled: false, allowedAddressPairs: [] },
      { enabled: true, allowedAddressPairs: [] },
      ...[undefined, undefined],
      { enabled: true, allowedAddressPairs: [{ ipAddress: '10.10.0.128/26', macAddress: 'fa:16:3e:00:00:01' }] },
      undefined,
    ],
  )
  const fields = cloud.calls()[0]?.query.getAll('fields') ?? []
  assert.ok(fields.includes('port_security_enabled') && fields.includes('allowed_address_pairs'))
})

test('a list starts again if the marker of its next page was deleted meanwhile', async () => {
  await using cloud = await aCloud(({ query, previous }) => {
    if (query.get('marker') === 'deleted') return { status: 404, body: { NeutronError: { message: 'not found' } } }
    const ports = portsOf('vm', 10 * previous, 2)
    return { status: 200, body: { ports, ...(previous === 0 && { ports_links: nextTo('deleted') }) } }
  })
  const found = await cloud.neutron.portsOfServers(['vm'])
  assert.deepEqual(
    found.map(({ id }) => id),
    ['port-20', 'port-21'],
  )
  assert.equal(cloud.calls().length, 3)
})

test('a list whose markers never exist is an error, and an incomplete list is never returned', async () => {
  await using cloud = await aCloud(({ query }) =>
    query.has('marker')
      ? { status: 404, body: { NeutronError: { message: 'not found' } } }
      : { status: 200, body: { ports: portsOf('vm', 0, 2), ports_links: nextTo('deleted') } },
  )
  await assert.rejects(cloud.neutron.portsOfServers(['vm']), /neutron: GET .*HTTP 404/)
  assert.equal(cloud.calls().length, 8)
})

test('a list with more entries than were asked for is an error', async () => {
  await using endless = await aCloud(({ previous }) => ({
    status: 200,
    body: { ports: portsOf('vm', previous * 500, 500), ports_links: nextTo(`m${previous}`) },
  }))
  await assert.rejects(endless.neutron.portsOfServers(['vm']), /more than 1020 entries that were asked for/)
  assert.equal(endless.calls().length, 3)
  await using other = await aCloud(() => ({ status: 200, body: { ports: portsOf('vm', 0, 5_000) } }))
  assert.equal((await other.neutron.portsById(['port-1'])).length, 1)
})

const hostileEntries: Record<string, unknown> = {
  'empty objects': Array(100_000).fill({}),
  'a port with 100,000 addresses': [{ ...port, fixed_ips: Array(100_000).fill({}) }],
  'a port with a name of a megabyte': [{ ...port, status: 'x'.repeat(1024 * 1024) }],
}
for (const [name, ports] of Object.entries(hostileEntries))
  test(`${name} are refused with a short message`, async () => {
    await using cloud = await aCloud(() => ({ status: 200, body: { ports } }))
    await assert.rejects(cloud.neutron.portsOfServers(['vm']), ({ message }: Error) => {
      assert.match(message, /^neutron: the list of ports has (invalid|too many) fields: ports\.0/)
      return message.length < 400
    })
  })

test('a server with 100,000 metadata keys is refused', async () => {
  const metadata = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, 'v']))
  await using cloud = await aCloud(() => ({ status: 200, body: { servers: [{ id: 'vm', name: 'vm', metadata }] } }))
  await assert.rejects(cloud.nova.serversByName('vm'), /nova: the list of servers has too many fields: servers\.0/)
})

test('a list of Neutron with too many elements or levels is refused before it is parsed', async () => {
  const deep = `${'['.repeat(200)}${']'.repeat(200)}`
  for (const [tags, why] of [
    [`[${'{},'.repeat(400_000)}{}]`, /the list of ports has more than 300000 elements/],
    [deep, /the list of ports is nested deeper than 100 levels/],
  ] as const) {
    const text = JSON.stringify({ ports: [{ ...port, device_id: 'vm', tags: 'here' }] }).replace('"here"', tags)
    await using cloud = await aCloud(() => ({ status: 200, body: text }))
    await assert.rejects(cloud.neutron.portsOfServers(['vm']), why)
  }
})
