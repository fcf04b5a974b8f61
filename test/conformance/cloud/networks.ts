/** Subnets and networks: several in one call, and by name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CloudContext, routes, unknownId } from './context.ts'

export function networkCases(context: () => CloudContext): void {
  test('one call returns several subnets with network, gateway and routes', async () => {
    const { clients, seeds } = context()
    const { storage, backup } = seeds
    const found = await clients.neutron.subnets([storage.subnetId, storage.sixId, backup.subnetId, unknownId])
    assert.deepEqual(
      found.sort((a, b) => (a.name < b.name ? -1 : 1)),
      [
        { id: backup.subnetId, name: 'backup', networkId: backup.networkId, cidr: '10.50.0.0/24', routes },
        {
          id: storage.subnetId,
          name: 'storage',
          networkId: storage.networkId,
          cidr: '10.50.0.0/24',
          gateway: '10.50.0.1',
          routes: [],
        },
        {
          id: storage.sixId,
          name: 'storage-6',
          networkId: storage.networkId,
          cidr: 'fd50::/64',
          gateway: 'fd50::',
          routes: [],
        },
      ],
    )
  })

  test('a subnet is found by its exact name', async () => {
    const { clients, seeds } = context()
    const found = await clients.neutron.subnetsByName('storage')
    assert.deepEqual(
      found.map(subnet => subnet.id),
      [seeds.storage.subnetId],
    )
    assert.deepEqual(await clients.neutron.subnetsByName('stor'), [])
  })

  test('one call returns several networks with their MTU and name', async () => {
    const { clients, seeds } = context()
    const found = await clients.neutron.networks([seeds.storage.networkId, seeds.backup.networkId, unknownId])
    const mtus = new Map(found.map(network => [network.id, network.mtu]))
    assert.ok(found.every(network => network.name !== ''))
    assert.deepEqual([mtus.size, mtus.get(seeds.storage.networkId), mtus.get(seeds.backup.networkId)], [2, 9000, 1450])
  })

  test('a missing subnet or network is 404 with a NeutronError', async () => {
    for (const [plural, kind] of [
      ['subnets', 'Subnet'],
      ['networks', 'Network'],
    ] as const) {
      const { status, body } = await context().ask('neutron', `/v2.0/${plural}/${unknownId}`)
      assert.equal(status, 404)
      assert.deepEqual(body, {
        NeutronError: { type: `${kind}NotFound`, message: `${kind} ${unknownId} could not be found.`, detail: '' },
      })
    }
  })
}
