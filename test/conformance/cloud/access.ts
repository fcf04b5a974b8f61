/** An account that may no longer see: what looks like an empty cloud must be told from one that is empty. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../../../src/http-client/errors.ts'
import { eventually } from '../../support/eventually.ts'
import { clientsOf, logIn, type Place } from './place.ts'
import { assertUnauthorized } from './tokens.ts'

const noticed = { within: 60_000, every: 250 }

export function accessCases(place: () => Place): void {
  test('a role that no longer counts: Neutron shows an empty cloud, Nova refuses', async () => {
    const { ask, cloud, seeds, token } = place()
    const clients = clientsOf(cloud)
    await cloud.loseSight()
    try {
      await eventually(async () => assert.deepEqual(await clients.neutron.portsOfVms(seeds.vms), []), noticed)
      assert.deepEqual(await clients.neutron.portsById(seeds.ports), [])
      assert.deepEqual(await clients.neutron.subnets([seeds.storage.subnetId]), [])
      const now = { token: await token() }
      // The status only: beside this 404 a real Neutron sends the port that it hides.
      assert.equal((await ask('neutron', `/v2.0/ports/${seeds.loose}`, now)).status, 404)
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
      await assert.rejects(clients.nova.interfacesOf(seeds.vms[0]), statusIs(403))
      await assert.rejects(clients.nova.wasDeleted(seeds.vms[0]), statusIs(403))
    } finally {
      await cloud.regainSight()
    }
    await eventually(async () => assert.equal((await clients.neutron.portsOfVms(seeds.vms)).length, 4), noticed)
    await clients.close()
  })

  test('a role that is taken away: tokens end, and a login is refused', async () => {
    const { ask, cloud, seeds, token } = place()
    const held = await token()
    const clients = clientsOf(cloud)
    await cloud.loseRole()
    try {
      assertUnauthorized(await logIn(cloud), `${cloud.urls.keystone}/v3`)
      await eventually(
        async () => assertUnauthorized(await ask('neutron', '/v2.0/ports', { token: held }), cloud.urls.keystone),
        noticed,
      )
      await assert.rejects(clients.neutron.portsOfVms(seeds.vms), statusIs(401))
      await assert.rejects(clients.nova.servers(seeds.vms), statusIs(401))
    } finally {
      await cloud.regainRole()
    }
    // A token of the second in which the role was taken away counts as older than that.
    await eventually(async () => assert.equal((await clients.neutron.portsOfVms(seeds.vms)).length, 4), noticed)
    await clients.close()
  })
}

function statusIs(status: number): (error: unknown) => boolean {
  return error => error instanceof ServiceError && error.status === status
}
