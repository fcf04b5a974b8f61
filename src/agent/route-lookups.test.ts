import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interface } from '../contract/interfaces.ts'
import { afterPlan, aNode, anInterface, aRoute, planOf } from './agent.fixture.ts'
import { lookupCommands, lookupTargets } from './route-lookups.ts'
import { differences } from './verify.ts'

const targets: Record<string, [nic: Partial<Interface>, expected: string[]]> = {
  'the gateway and a neighbour': [{}, ['10.100.0.1', '10.100.0.254']],
  'the gateway once when it is the neighbour': [{ gateway: '10.100.0.254' }, ['10.100.0.254']],
  'a neighbour that is no address of this node': [{ address: '10.100.0.254' }, ['10.100.0.1', '10.100.0.253']],
  'the other address of a network of two': [{ cidr: '10.100.0.10/31', gateway: '10.100.0.11' }, ['10.100.0.11']],
  'no neighbour in a network of one': [{ cidr: '10.100.0.10/32' }, ['10.100.0.1']],
  'an address of each requested route': [
    {
      routes: [
        { destination: '172.16.0.0/12', nexthop: '10.100.0.2' },
        { destination: '192.0.2.7/32', nexthop: '10.100.0.2' },
        { destination: '0.0.0.0/0', nexthop: '10.100.0.1' },
      ],
    },
    ['10.100.0.1', '10.100.0.254', '172.31.255.254', '192.0.2.7'],
  ],
  'no link-local router': [
    { addresses: ['fd00::10/64'], gateway: 'fe80::1' },
    ['10.100.0.254', 'fd00::ffff:ffff:ffff:fffe'],
  ],
}
for (const [name, [nic, expected]] of Object.entries(targets))
  test(`the kernel is asked for ${name}`, () => {
    assert.deepEqual(lookupTargets([anInterface(0, nic)], ['10.0.0.10']).get(0), expected)
  })

test('without a gateway the neighbour is asked for', () => {
  const { gateway: _, ...nic } = anInterface(0)
  assert.deepEqual(lookupCommands([nic], [nic], ['10.0.0.10', 'fd00::1']), [
    'route get 10.100.0.254',
    'route get 10.100.0.254 from 10.100.0.10',
    'route get 10.100.0.254 from 10.0.0.10',
  ])
})

test('a NIC without an answer, or with one of another NIC, differs; an address of a bridge does not', () => {
  const planned = planOf(aNode(1), [anInterface(0)])
  const [accepted] = planned.accepted
  assert.ok(accepted)
  const { nic, link } = accepted
  const after = afterPlan(aNode(1), [anInterface(0)])
  const asked = (route: ReturnType<typeof aRoute> | null) => ({
    ...after,
    lookups: { 'route get 10.100.0.1 from 10.100.0.10': route },
  })
  const messages = (route: ReturnType<typeof aRoute> | null) =>
    differences(nic, link.ifindex, asked(route)).map(({ reason, message }) => `${reason}: ${message}`)
  assert.deepEqual(messages(aRoute(3, '10.100.0.1/32', { table: 100 })), [])
  assert.deepEqual(messages(null), [
    'VerifyFailed: packets from 10.100.0.10 to 10.100.0.1 have no route, expected multinic0, table 100',
  ])
  assert.deepEqual(messages(aRoute(2, '10.100.0.1/32')), [
    'VerifyFailed: packets from 10.100.0.10 to 10.100.0.1 leave by ens3, table 254, expected multinic0, table 100',
  ])
  assert.deepEqual(messages(aRoute(9, '10.100.0.1/32')), [])
})
