import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostCapacity, networkOf } from './cidr.ts'

test('an address is reduced to its network', () => {
  const cases = {
    '10.20.5.17/22': '10.20.4.0/22',
    '192.168.1.10/24': '192.168.1.0/24',
    '0.0.0.0/0': '0.0.0.0/0',
    '10.0.0.1/32': '10.0.0.1/32',
    'fd00::/64': 'fd00::/64',
    '': '',
  }
  for (const [cidr, network] of Object.entries(cases)) assert.equal(networkOf(cidr), network)
})

test('the capacity of an IPv4 network leaves out the network and broadcast addresses', () => {
  assert.deepEqual(
    [hostCapacity('10.0.0.0/24'), hostCapacity('10.0.0.0/31'), hostCapacity('fd00::/64')],
    [254, 2, undefined],
  )
})
