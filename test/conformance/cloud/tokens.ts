/** Logins, the catalog, and invalid, revoked and expired tokens. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpointIn } from '../../../src/openstack/keystone.ts'
import type { ApiResponse } from '../../rigs/openstack/api.ts'
import { eventually } from '../../support/eventually.ts'
import { type CloudContext, clientsOf, type Login, logIn, loginOf } from './context.ts'

const message = 'The request you have made requires authentication.'

/** Services cache tokens for some time. */
const propagation = { within: 60_000, every: 250 }

export function assertUnauthorized({ status, headers, body }: ApiResponse, keystone: string): void {
  assert.equal(status, 401)
  assert.equal(headers['www-authenticate'], `Keystone uri="${keystone}"`)
  assert.deepEqual(body, { error: { code: 401, title: 'Unauthorized', message } })
}

export function tokenCases(context: () => CloudContext): void {
  const services = [
    ['neutron', '/v2.0/ports?fields=id'],
    ['nova', '/v2.1/servers/detail'],
  ] as const

  test('a login is 201 with the token in a header and Neutron and Nova in the catalog', async () => {
    const { cloud } = context()
    const { status, headers, body } = await logIn(cloud)
    assert.equal(status, 201)
    assert.match(String(headers['x-subject-token']), /^gAAAAA[\w-]+=*$/)
    assert.equal(body.token.project.id, cloud.projectId)
    const lifetime = Date.parse(body.token.expires_at) - Date.parse(body.token.issued_at)
    assert.equal(lifetime, 3_600_000)
    for (const face of ['public', 'internal', 'admin']) {
      const at = (type: 'network' | 'compute') =>
        endpointIn(body.token.catalog, { type, interface: face, region: cloud.region })
      assert.deepEqual([at('network'), at('compute')], [cloud.urls.neutron, `${cloud.urls.nova}/v2.1`])
    }
    assert.throws(
      () => endpointIn(body.token.catalog, { type: 'network', interface: 'public', region: 'elsewhere' }),
      /the catalog has no public network in region elsewhere endpoint/,
    )
  })

  const wrong: Record<string, (context: CloudContext) => Login> = {
    'a wrong password': () => ({ password: 'wrong' }),
    'an unknown user': () => ({ user: 'nobody' }),
    'an unknown domain': () => ({ domain: { name: 'nowhere' } }),
    'a project that does not exist': () => ({ projectId: 'f'.repeat(32) }),
    'a project id written as a UUID': ({ cloud }) => ({
      projectId: cloud.projectId.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    }),
  }
  for (const [name, login] of Object.entries(wrong))
    test(`${name} is a 401 without a reason`, async () => {
      const { cloud } = context()
      const { password_expires_at: _, ...given } = { password_expires_at: null, ...login(context()) }
      assertUnauthorized(await logIn(cloud, given), `${cloud.urls.keystone}/v3`)
    })

  test('the domain is accepted by name in any case, and by id', async () => {
    const { cloud } = context()
    for (const domain of [{ name: 'Default' }, { name: 'default' }, { id: 'default' }])
      assert.equal((await logIn(cloud, { domain })).status, 201, JSON.stringify(domain))
  })

  test('a missing token and an unknown token are the same 401 in all services', async () => {
    const { ask, cloud } = context()
    for (const [service, path] of services)
      for (const token of ['', 'unknown', `gAAAAA${'x'.repeat(120)}`])
        assertUnauthorized(await ask(service, path, { token }), cloud.urls.keystone)
    const own = await ask('keystone', '/v3/auth/tokens', {
      token: 'unknown',
      headers: { 'x-subject-token': 'unknown' },
    })
    assertUnauthorized(own, `${cloud.urls.keystone}/v3`)
  })

  test('Keystone rejects a revoked token at once, the services soon, and the client gets a new one', async () => {
    const { ask, cloud, seeds } = context()
    const clients = clientsOf(cloud)
    try {
      const before = await clients.neutron.portsOfServers(seeds.vms)
      const { value } = await clients.keystone.token(loginOf(cloud.login, cloud.projectId))
      const subject = { 'x-subject-token': value }
      assert.equal((await ask('keystone', '/v3/auth/tokens', { headers: subject })).status, 200)
      assert.equal((await ask('keystone', '/v3/auth/tokens', { method: 'DELETE', headers: subject })).status, 204)
      assert.equal((await ask('keystone', '/v3/auth/tokens', { headers: subject })).status, 404)
      for (const [service, path] of services)
        await eventually(
          async () => assertUnauthorized(await ask(service, path, { token: value }), cloud.urls.keystone),
          propagation,
        )
      assert.deepEqual(sorted(await clients.neutron.portsOfServers(seeds.vms)), sorted(before))
      assert.notEqual((await clients.keystone.token(loginOf(cloud.login, cloud.projectId))).value, value)
    } finally {
      await clients.close()
    }
  })

  test('a token expires at its expiry time, and the client renews it before', async () => {
    const { ask, cloud, seeds } = context()
    await cloud.setTokenLifetime(4)
    const clients = clientsOf(cloud)
    try {
      const first = await clients.keystone.token(loginOf(cloud.login, cloud.projectId))
      assert.ok(first.expiresAt - performance.now() <= 4_000)
      const ended = await eventually(async () => {
        const answer = await ask('neutron', '/v2.0/ports?fields=id', { token: first.value })
        assertUnauthorized(answer, cloud.urls.keystone)
        return performance.now()
      }, propagation)
      assert.ok(ended >= first.expiresAt - 1_000, `${ended} is before ${first.expiresAt}`)
      // A busy Neutron may take longer than the lifetime of the token.
      await eventually(
        async () => assert.equal((await clients.neutron.portsOfServers(seeds.vms)).length, 4),
        propagation,
      )
    } finally {
      await clients.close()
      await cloud.setTokenLifetime(3_600)
    }
  })
}

function sorted<T extends { id: string }>(entries: T[]): T[] {
  return entries.sort((a, b) => (a.id < b.id ? -1 : 1))
}
