/** Logins, the catalog, and tokens that are wrong, revoked or too old. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpointIn } from '../../../src/openstack/keystone.ts'
import type { Answer } from '../../rigs/openstack/api.ts'
import { eventually } from '../../support/eventually.ts'
import { clientsOf, type Login, logIn, type Place } from './place.ts'

const words = 'The request you have made requires authentication.'

/** Services keep what they know of a token for a while. */
const noticed = { within: 60_000, every: 250 }

export function assertUnauthorized({ status, headers, body }: Answer, keystone: string): void {
  assert.equal(status, 401)
  assert.equal(headers['www-authenticate'], `Keystone uri="${keystone}"`)
  assert.deepEqual(body, { error: { code: 401, title: 'Unauthorized', message: words } })
}

export function tokenCases(place: () => Place): void {
  const services = [
    ['neutron', '/v2.0/ports?fields=id'],
    ['nova', '/v2.1/servers/detail'],
  ] as const

  test('a login is 201 with the token in a header, and the catalog names Neutron and Nova', async () => {
    const { cloud } = place()
    const { status, headers, body } = await logIn(cloud)
    assert.equal(status, 201)
    assert.match(String(headers['x-subject-token']), /^gAAAAA[\w-]+=*$/)
    assert.equal(body.token.project.id, cloud.projectId)
    const life = Date.parse(body.token.expires_at) - Date.parse(body.token.issued_at)
    assert.equal(life, 3_600_000)
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

  const wrong: Record<string, (place: Place) => Login> = {
    'a wrong password': () => ({ password: 'wrong' }),
    'an unknown user': () => ({ user: 'nobody' }),
    'an unknown domain': () => ({ domain: { name: 'nowhere' } }),
    'a project that does not exist': () => ({ projectId: 'f'.repeat(32) }),
    'a project id written as a UUID': ({ cloud }) => ({
      projectId: cloud.projectId.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    }),
  }
  for (const [name, login] of Object.entries(wrong))
    test(`${name} is a 401 that does not say why`, async () => {
      const { cloud } = place()
      const { password_expires_at: _, ...given } = { password_expires_at: null, ...login(place()) }
      assertUnauthorized(await logIn(cloud, given), `${cloud.urls.keystone}/v3`)
    })

  test('the domain counts by name in any case, and by id', async () => {
    const { cloud } = place()
    for (const domain of [{ name: 'Default' }, { name: 'default' }, { id: 'default' }])
      assert.equal((await logIn(cloud, { domain })).status, 201, JSON.stringify(domain))
  })

  test('no token and a strange token are the same 401 everywhere', async () => {
    const { ask, cloud } = place()
    for (const [service, path] of services)
      for (const token of ['', 'strange', `gAAAAA${'x'.repeat(120)}`])
        assertUnauthorized(await ask(service, path, { token }), cloud.urls.keystone)
    const own = await ask('keystone', '/v3/auth/tokens', {
      token: 'strange',
      headers: { 'x-subject-token': 'strange' },
    })
    assertUnauthorized(own, `${cloud.urls.keystone}/v3`)
  })

  test('a revoked token is refused by Keystone at once, by the services soon, and our client goes on with a new one', async () => {
    const { ask, cloud, seeds } = place()
    const clients = clientsOf(cloud)
    try {
      const before = await clients.neutron.portsOfVms(seeds.vms)
      const { value } = await clients.keystone.token(cloud.login, cloud.projectId)
      const subject = { 'x-subject-token': value }
      assert.equal((await ask('keystone', '/v3/auth/tokens', { headers: subject })).status, 200)
      assert.equal((await ask('keystone', '/v3/auth/tokens', { method: 'DELETE', headers: subject })).status, 204)
      assert.equal((await ask('keystone', '/v3/auth/tokens', { headers: subject })).status, 404)
      for (const [service, path] of services)
        await eventually(
          async () => assertUnauthorized(await ask(service, path, { token: value }), cloud.urls.keystone),
          noticed,
        )
      assert.deepEqual(sorted(await clients.neutron.portsOfVms(seeds.vms)), sorted(before))
      assert.notEqual((await clients.keystone.token(cloud.login, cloud.projectId)).value, value)
    } finally {
      await clients.close()
    }
  })

  test('a token ends when it said it would, and our client renews it before', async () => {
    const { ask, cloud, seeds } = place()
    await cloud.tokensLive(4)
    const clients = clientsOf(cloud)
    try {
      const first = await clients.keystone.token(cloud.login, cloud.projectId)
      assert.ok(first.expiresAt - performance.now() <= 4_000)
      const ended = await eventually(async () => {
        const answer = await ask('neutron', '/v2.0/ports?fields=id', { token: first.value })
        assertUnauthorized(answer, cloud.urls.keystone)
        return performance.now()
      }, noticed)
      assert.ok(ended >= first.expiresAt - 1_000, `${ended} is before ${first.expiresAt}`)
      // A busy Neutron may take longer than a token of this life lasts.
      await eventually(async () => assert.equal((await clients.neutron.portsOfVms(seeds.vms)).length, 4), noticed)
    } finally {
      await clients.close()
      await cloud.tokensLive(3_600)
    }
  })
}

function sorted<T extends { id: string }>(entries: T[]): T[] {
  return entries.sort((a, b) => (a.id < b.id ? -1 : 1))
}
