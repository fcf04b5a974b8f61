import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interface } from './interfaces.ts'
import { internalIpRemedy, internalIpsOf, requestedAmong } from './internal-ips.ts'

test('InternalIPs are listed once each, in canonical form and in the order of the Node', () => {
  const listed = (...addresses: [type: string, address: string][]) =>
    internalIpsOf({ status: { addresses: addresses.map(([type, address]) => ({ type, address })) } })
  assert.deepEqual(
    listed(
      ['InternalIP', 'FD00::0:1'],
      ['ExternalIP', '203.0.113.7'],
      ['InternalIP', '10.0.0.1'],
      ['Hostname', 'worker-1'],
      ['InternalIP', 'fd00::1'],
      ['InternalIP', 'nonsense'],
    ),
    ['fd00::1', '10.0.0.1'],
  )
})

test('a Node without addresses has no InternalIP', () => {
  assert.deepEqual(internalIpsOf({}), [])
  assert.deepEqual(internalIpsOf({ status: {} }), [])
})

test('each requested address that the Node lists is named with its interface', () => {
  const interfaces: Interface[] = [
    { index: 0, name: 'multinic0', macAddress: 'fa:16:3e:00:00:00', address: '10.100.0.10', cidr: '10.100.0.0/24' },
    { index: 1, name: 'multinic1', macAddress: 'fa:16:3e:00:00:01', addresses: ['10.1.0.5/24', 'FD00:100::10/64'] },
    { index: 2, name: 'multinic2', macAddress: 'fa:16:3e:00:00:02' },
  ]
  const listed = ['10.0.0.1', 'fd00:100::10', '10.100.0.10']
  assert.deepEqual(requestedAmong(listed, interfaces), ['10.100.0.10 (multinic0)', 'fd00:100::10 (multinic1)'])
  assert.deepEqual(requestedAmong(['10.0.0.1'], interfaces), [])
})

test('the remedy names both settings that change what a Node lists', () => {
  assert.equal(
    internalIpRemedy,
    'set internal-network-name in [Networking] of the OpenStack cloud provider, or --node-ip of the kubelet',
  )
})
