/** An account without rights: Neutron returns empty lists, which must not look like an empty cloud. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../../../src/http-client/errors.ts'
import { eventually } from '../../support/eventually.ts'
import { type CloudContext, clientsOf, logIn } from './context.ts'
import { assertUnauthorized } from './tokens.ts'

const propagation = { within: 60_000, every: 250 }

export function lostAccessCases(context: () => CloudContext): void {
  test('a role without rights: Neutron returns empty lists, Nova 403', async () => {
    const { ask, cloud, seeds, token } = context()
    const clients = clientsOf(cloud)
    await cloud.disableRole()
    try {
      await eventually(async () => assert.deepEqual(await clients.neutron.portsOfServers(seeds.vms), []), propagation)
      assert.deepEqual(await clients.neutron.portsById(seeds.ports), [])
      assert.deepEqual(await clients.neutron.subnets([seeds.storage.subnetId]), [])
      const now = { token: await token() }
      // Check only the status: the body of the real 404 contains the port.
      assert.equal((await ask('neutron', `/v2.0/ports/${seeds.unattached}`, now)).status, 404)
      for (const [path, rule] of [
        ['/servers/detail', 'os_compute_api:servers:detail'],
        [`/servers/${seeds.vms[0]}`, 'os_compute_api:servers:show'],
        [`/servers/${seeds.vms[0]}/os-interface`, 'os_compute_api:os-attach-interfaces:list'],
        [`/servers/${seeds.vms[0]}/os-instance-actions`, 'os_compute_api:os-instance-actions:list'],
      ] as const) {
        const { status, body, headers } = await ask('nova', `/v2.1${path}`, now)
        assert.deepEqual([status, headers['content-type']], [403, 'application/json; charset=UTF-8'], path)
        assert.deepEqual(body, { forbidden: { code: 403, message: `Policy doesn't allow ${rule} to be performed.` } })
      }
      await assert.rejects(clients.nova.servers(seeds.vms), statusIs(403))
      await assert.rejects(clients.nova.attachmentsOf(seeds.vms[0]), statusIs(403))
      await assert.rejects(clients.nova.wasDeleted(seeds.vms[0]), statusIs(403))
    } finally {
      await cloud.enableRole()
    }
    await eventually(async () => assert.equal((await clients.neutron.portsOfServers(seeds.vms)).length, 4), propagation)
    await clients.close()
  })

  test('a removed role: tokens become invalid, and a login is rejected', async () => {
    const { ask, cloud, seeds, token } = context()
    const validToken = await token()
    const clients = clientsOf(cloud)
    await cloud.revokeRole()
    try {
      assertUnauthorized(await logIn(cloud), `${cloud.urls.keystone}/v3`)
      await eventually(
        async () => assertUnauthorized(await ask('neutron', '/v2.0/ports', { token: validToken }), cloud.urls.keystone),
        propagation,
      )
      await assert.rejects(clients.neutron.portsOfServers(seeds.vms), statusIs(401))
      await assert.rejects(clients.nova.servers(seeds.vms), statusIs(401))
    } finally {
      await cloud.grantRole()
    }
    // A token issued in the same second as the removal is invalid, too.
    await eventually(async () => assert.equal((await clients.neutron.portsOfServers(seeds.vms)).length, 4), propagation)
    await clients.close()
  })
}

function statusIs(status: number): (error: unknown) => boolean {
  return error => error instanceof ServiceError && error.status === status
}
