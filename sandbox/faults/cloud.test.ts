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
let switches: ReturnType<typeof cloudInjectors>

before(async () => {
  cloudState = createCloudState()
  const subnet = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  for (const name of ['worker-1', 'worker-2', 'worker-3'])
    addPort(cloudState, { server: addServer(cloudState, name), subnet })
  cloud = await startCloud(cloudState, silent)
  switches = cloudInjectors(cloudState, cloud)
})
after(() => cloud.close())

interface Got {
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
  const answer = await request(`${cloud.urls.keystone}/v3/auth/tokens`, { method: 'POST', body: JSON.stringify(body) })
  assert.equal(answer.statusCode, 201)
  const { token } = (await answer.body.json()) as { token: { expires_at: string } }
  return { token: String(answer.headers['x-subject-token']), expires: new Date(token.expires_at) }
}

const paths: Record<Service, string> = {
  keystone: '/v3',
  neutron: '/v2.0/ports',
  nova: '/v2.1/servers/detail',
  contrabass: '/api/providers/',
}

async function ask(service: Service, token: string, path = paths[service], within = 30_000): Promise<Got> {
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

const expected: Record<ResponseFault, (asking: Promise<Got>) => Promise<unknown>> = {
  failing: async asking => assert.equal((await asking).status, 500),
  unauthorized: async asking => assert.equal((await asking).status, 401),
  async throttled(asking) {
    const { status, retryAfter } = await asking
    assert.deepEqual([status, retryAfter], [429, '1'])
  },
  async garbled(asking) {
    const { status, text } = await asking
    assert.equal(status, 200)
    assert.throws(() => JSON.parse(text))
  },
  truncated: asking => assert.rejects(asking, /terminated|other side closed|ECONNRESET/),
  async empty(asking) {
    const { status, text } = await asking
    assert.deepEqual([status, text], [200, ''])
  },
  async slow(asking) {
    const since = performance.now()
    assert.equal((await asking).status, 200)
    assert.ok(performance.now() - since > 1_900)
  },
  silent: asking => assert.rejects(asking, { name: 'TimeoutError' }),
}

for (const [manner, holds] of Object.entries(expected) as [ResponseFault, (typeof expected)[ResponseFault]][])
  test(`${manner}-SERVICE does so to that service alone, until it ends`, async () => {
    const { token } = await login()
    // All at once: each waits for itself.
    await Promise.all(
      services.map(async service => {
        const end = await switches[`${manner}-${service}`]({})
        await holds(ask(service, token, paths[service], manner === 'silent' ? 1_000 : 30_000))
        await end()
        assert.equal((await ask(service, token)).status, 200)
      }),
    )
    assert.deepEqual(cloudState.faults[manner], [])
  })

test('one service in trouble leaves the others alone', async () => {
  const { token } = await login()
  const end = await switches['failing-neutron']({})
  const statuses = await Promise.all(services.map(async service => (await ask(service, token)).status))
  assert.deepEqual(statuses, [200, 500, 200, 200])
  await end()
})

test('revoked-tokens ends every token of now, and none that comes later', async () => {
  const { token } = await login()
  await switches['revoked-tokens']({})
  assert.equal((await ask('neutron', token)).status, 401)
  assert.equal((await ask('neutron', (await login()).token)).status, 200)
})

test('short-tokens live two seconds, and what was issued before counts no more', async () => {
  const { token } = await login()
  const end = await switches['short-tokens']({})
  assert.equal((await ask('neutron', token)).status, 401)
  const { expires } = await login()
  assert.ok(expires.getTime() - Date.now() <= 2_000)
  await end()
  assert.ok((await login()).expires.getTime() - Date.now() > 3_000_000)
})

test('lost-role shows an empty list in Neutron and a refusal in Nova', async () => {
  const { token } = await login()
  const end = await switches['lost-role']({})
  assert.deepEqual(JSON.parse((await ask('neutron', token)).text), { ports: [] })
  assert.equal((await ask('nova', token)).status, 403)
  await end()
  assert.equal(JSON.parse((await ask('neutron', token)).text).ports.length, 3)
})

test('small-pages hold two entries and a link to the rest', async () => {
  const { token } = await login()
  const end = await switches['small-pages']({})
  const { servers, servers_links } = JSON.parse((await ask('nova', token)).text)
  assert.equal(servers.length, 2)
  assert.equal(servers_links[0].rel, 'next')
  const ports = JSON.parse((await ask('neutron', token, '/v2.0/ports?limit=100')).text)
  assert.equal(ports.ports.length, 2)
  await end()
  assert.equal(JSON.parse((await ask('nova', token)).text).servers.length, 3)
})

test('wrong-clock is an hour ahead', async () => {
  const { token } = await login()
  const end = await switches['wrong-clock']({})
  // Tokens live an hour: this one is over.
  assert.equal((await ask('neutron', token)).status, 401)
  assert.ok((await login()).expires.getTime() - Date.now() > 7_000_000)
  await end()
  assert.equal((await ask('neutron', (await login()).token)).status, 200)
})

const sent: [fault: NotificationFault, told: string[]][] = [
  ['lost', []],
  ['duplicated', ['a', 'a', 'b', 'b']],
  ['reordered', ['b', 'a']],
]
for (const [fault, told] of sent)
  test(`${fault}-notices: of a and b arrives ${told.join(' ') || 'nothing'}`, t => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const arrived: string[] = []
    let faults: NotificationFault[] = [fault]
    const intercept = applyNotificationFaults(() => faults)
    const tell = (event: string) =>
      intercept({ exchange: 'neutron', routingKey: '', event, body: Buffer.alloc(0) } satisfies Notification, each =>
        arrived.push(each.event),
      )
    for (const event of ['a', 'b']) tell(event)
    t.mock.timers.tick(1_000)
    assert.deepEqual(arrived, told)
    faults = []
    tell('c')
    assert.deepEqual(arrived.at(-1), 'c')
  })
