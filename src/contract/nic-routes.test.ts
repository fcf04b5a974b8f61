/** The routes that a NIC has by its request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCidr } from './address.ts'
import { gatewayRoutes, nicRoutes } from './nic-routes.ts'

test('the gateway is a default route of its family, before the requested routes', () => {
  const routes = [{ destination: '172.16.0.0/12', nexthop: '10.100.0.2' }]
  assert.deepEqual(gatewayRoutes({ gateway: '10.100.0.1', routes }), [
    { destination: '0.0.0.0/0', nexthop: '10.100.0.1' },
    ...routes,
  ])
  assert.deepEqual(gatewayRoutes({ gateway: 'fd00::1' }), [{ destination: '::/0', nexthop: 'fd00::1' }])
  assert.deepEqual(gatewayRoutes({}), [])
})

const tables: Record<string, [nic: Parameters<typeof nicRoutes>[0], addresses: string[], expected: string[]]> = {
  'its networks, then its gateway': [
    { gateway: '10.1.0.1' },
    ['10.1.0.5/24', 'fd00::5/64'],
    ['10.1.0.0/24', 'fd00::/64', 'default 10.1.0.1'],
  ],
  'each destination once, the network first': [
    { routes: [{ destination: '10.1.0.7/24', nexthop: '10.1.0.9' }] },
    ['10.1.0.5/24', '10.1.0.6/24'],
    ['10.1.0.0/24'],
  ],
  'no network of one address': [{ gateway: '10.1.0.1' }, ['10.1.0.5/32'], ['default 10.1.0.1']],
  'no route by a router of a family without address': [{ gateway: 'fd00::1' }, ['10.1.0.5/24'], ['10.1.0.0/24']],
  'routers in canonical notation': [{ gateway: 'FD00:0::1' }, ['fd00::5/64'], ['fd00::/64', 'default fd00::1']],
}
for (const [name, [nic, addresses, expected]] of Object.entries(tables))
  test(`a NIC has ${name}`, () => {
    const cidrs = addresses.flatMap(text => parseCidr(text) ?? [])
    const texts = nicRoutes(nic, cidrs).map(({ destination, gateway }) =>
      [destination, gateway].filter(Boolean).join(' '),
    )
    assert.deepEqual(texts, expected)
  })
