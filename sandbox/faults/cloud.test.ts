import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { silent } from '../../src/telemetry/log.ts'
import { type Cloud, startCloud } from '../cloud/cloud.ts'
import { applyNotificationFaults } from '../cloud/notification-faults.ts'
import type { Notification } from '../cloud/notifications.ts'
import {
  addPort,
  addServer,
  addSubnet,
  type CloudState,
  createCloudState,
  type NotificationFault,
  type ResponseFault,
  type Service,
  services,
} from '../cloud/state.ts'
import { cloudInjectors } from './cloud.ts'

let cloudState: CloudState
let cloud: Cloud
let injectors: ReturnType<typeof cloudInjectors>

before(async () => {
  cloudState = createCloudState()
  const subnet = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  for (const name of ['worker-1', 'worker-2', 'worker-3'])
    addPort(cloudState, { server: addServer(cloudState, name), subnet })
  cloud = await startCloud(cloudState, silent)
  injectors = cloudInjectors(cloudState, cloud)
})
after(() => cloud.close())

interface Response {
  status: number
  type: string
  retryAfter: string | undefined
  text: string
}

async function login(): Promise<{ token: string; expires: Date }> {
  const user = { name: cloudState.user.name, domain: { name: 'Default' }, password: cloudState.user.password }
  const body = {
    auth: {
      identity: { methods: ['password'], password: { user } },
      scope: { project: { id: cloudState.project.id } },
    },
  }
  const response = await request(`${cloud.urls.keystone}/v3/auth/tokens`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  assert.equal(response.statusCode, 201)
  const { token } = (await response.body.json()) as { token: { expires_at: string } }
  return { token: String(response.headers['x-subject-token']), expires: new Date(token.expires_at) }
}

const paths: Record<Service, string> = {
  keystone: '/v3',
  neutron: '/v2.0/ports',
  nova: '/v2.1/servers/detail',
  contrabass: '/api/providers/',
}

async function get(service: Service, token: string, path = paths[service], within = 30_000): Promise<Response> {
  const url = `${cloud.urls[service]}${path}${service === 'contrabass' ? cloudState.provider.id : ''}`
  const { statusCode, headers, body } = await request(url, {
    headers: { 'x-auth-token': token },
    signal: AbortSignal.timeout(within),
  })
  const text = await body.text()
  return {
    status: statusCode,
    type: String(headers['content-type']),
    retryAfter: headers['retry-after'] as string | undefined,
    text,
  }
}

const expected: Record<ResponseFault, (pending: Promise<Response>) => Promise<unknown>> = {
  failing: async pending => assert.equal((await pending).status, 500),
  unauthorized: async pending => assert.equal((await pending).status, 401),
  async throttled(pending) {
    const { status, retryAfter } = await pending
    assert.deepEqual([status, retryAfter], [429, '1'])
  },
  async garbled(pending) {
    const { status, text } = await pending
    assert.equal(status, 200)
    assert.throws(() => JSON.parse(text))
  },
  truncated: pending => assert.rejects(pending, /terminated|other side closed|ECONNRESET/),
  async empty(pending) {
    const { status, text } = await pending
    assert.deepEqual([status, text], [200, ''])
  },
  async slow(pending) {
    const since = performance.now()
    assert.equal((await pending).status, 200)
    assert.ok(performance.now() - since > 1_900)
  },
  silent: pending => assert.rejects(pending, { name: 'TimeoutError' }),
}

for (const [fault, check] of Object.entries(expected) as [ResponseFault, (typeof expected)[ResponseFault]][])
  test(`${fault}-SERVICE affects that service only, until it is stopped`, async () => {
    const { token } = await login()
    await Promise.all(
      services.map(async service => {
        const stop = await injectors[`${fault}-${service}`]({})
        await check(get(service, token, paths[service], fault === 'silent' ? 1_000 : 30_000))
        await stop()
        assert.equal((await get(service, token)).status, 200)
      }),
    )
    assert.deepEqual(cloudState.faults[fault], [])
  })

test('a fault of one service does not affect the others', async () => {
  const { token } = await login()
  const stop = await injectors['failing-neutron']({})
  const { text } = await get('neutron', token)
  assert.equal(JSON.parse(text).NeutronError.type, 'HTTPInternalServerError')
  const statuses = await Promise.all(services.map(async service => (await get(service, token)).status))
  assert.deepEqual(statuses, [200, 500, 200, 200])
  await stop()
})

test('revoked-tokens revokes existing tokens, not new ones', async () => {
  const { token } = await login()
  await injectors['revoked-tokens']({})
  assert.equal((await get('neutron', token)).status, 401)
  assert.equal((await get('neutron', (await login()).token)).status, 200)
})

test('short-tokens revokes existing tokens, and new ones expire after two seconds', async () => {
  const { token } = await login()
  const stop = await injectors['short-tokens']({})
  assert.equal((await get('neutron', token)).status, 401)
  const { expires } = await login()
  assert.ok(expires.getTime() - Date.now() <= 2_000)
  await stop()
  assert.ok((await login()).expires.getTime() - Date.now() > 3_000_000)
})

test('lost-role: Neutron returns an empty list, Nova 403', async () => {
  const { token } = await login()
  const stop = await injectors['lost-role']({})
  assert.deepEqual(JSON.parse((await get('neutron', token)).text), { ports: [] })
  assert.equal((await get('nova', token)).status, 403)
  await stop()
  assert.equal(JSON.parse((await get('neutron', token)).text).ports.length, 3)
})

test('small-pages limits pages to two entries, with a link to the next', async () => {
  const { token } = await login()
  const stop = await injectors['small-pages']({})
  const { servers, servers_links } = JSON.parse((await get('nova', token)).text)
  assert.equal(servers.length, 2)
  assert.equal(servers_links[0].rel, 'next')
  for (const path of ['/v2.0/ports', '/v2.0/ports?limit=100']) {
    const { ports, ports_links } = JSON.parse((await get('neutron', token, path)).text)
    assert.equal(ports.length, 2)
    assert.equal(ports_links[0].rel, 'next')
  }
  await stop()
  assert.equal(JSON.parse((await get('nova', token)).text).servers.length, 3)
})

test('wrong-clock sets the clock an hour ahead', async () => {
  const { token } = await login()
  const stop = await injectors['wrong-clock']({})
  // A token lasts an hour, so this one has expired.
  assert.equal((await get('neutron', token)).status, 401)
  assert.ok((await login()).expires.getTime() - Date.now() > 7_000_000)
  await stop()
  assert.equal((await get('neutron', (await login()).token)).status, 200)
})

const sent: [fault: NotificationFault, received: string[]][] = [
  ['lost', []],
  ['duplicated', ['a', 'a', 'b', 'b']],
  ['reordered', ['b', 'a']],
]
for (const [fault, received] of sent)
  test(`${fault}-notifications: a and b arrive as ${received.join(' ') || 'nothing'}`, t => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const arrived: string[] = []
    let faults: NotificationFault[] = [fault]
    const intercept = applyNotificationFaults(() => faults)
    const send = (event: string) =>
      intercept({ exchange: 'neutron', routingKey: '', event, body: Buffer.alloc(0) } satisfies Notification, each =>
        arrived.push(each.event),
      )
    for (const event of ['a', 'b']) send(event)
    t.mock.timers.tick(1_000)
    assert.deepEqual(arrived, received)
    faults = []
    send('c')
    assert.deepEqual(arrived.at(-1), 'c')
  })
