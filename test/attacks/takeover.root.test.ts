/**
 * Attacks on the take-over: a NIC that the node needs is never taken, whoever configured it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RigNode, requestedInterface, withNode } from '../rigs/host/node.ts'
import { type Attack, attacks, outcomes, requestAll } from './attack.ts'

const cases: Attack[] = [
  {
    finding: 'F3',
    name: 'the NIC of the only default route is refused',
    request: node => {
      const [nic] = node.nics
      assert.ok(nic)
      return { interfaces: [requestedInterface(nic, 0, { macAddress: 'fa:16:3e:ff:00:00' })] }
    },
    expect: result => assert.deepEqual(outcomes(result), ['Failed CarriesDefaultRoute'], result.log),
  },
  {
    finding: 'F3',
    name: 'a NIC with a lease and a default route of a worse metric is taken over',
    prepare: node => leased(node, '10.100.0.77', 'default via 10.100.0.1 dev ens4 metric 200 proto dhcp'),
    expect(result, node) {
      assert.deepEqual(outcomes(result), ['Configured'], result.log)
      assert.doesNotMatch(node.ip('address', 'show', 'multinic0'), /dynamic/)
      assert.doesNotMatch(node.ip('route'), /default.* multinic0|proto dhcp/)
    },
  },
  {
    finding: 'F3',
    name: 'a NIC with a lease and a default route of a better metric is refused',
    prepare(node) {
      node.ip('route', 'replace', 'default', 'via', '10.0.0.1', 'dev', 'ens3', 'metric', '300')
      node.ip('route', 'del', 'default', 'metric', '0')
      leased(node, '10.100.0.77', 'default via 10.100.0.1 dev ens4 metric 200 proto dhcp')
    },
    env: { PREFLIGHT_ALLOW_UP: 'true' },
    expect: result => assert.deepEqual(outcomes(result), ['Failed CarriesDefaultRoute'], result.log),
  },
  {
    finding: 'F3',
    name: 'a NIC with a static address beside its lease is refused',
    prepare(node) {
      leased(node, '10.100.0.77', '172.16.0.0/12 via 10.100.0.1 dev ens4 proto dhcp')
      node.ip('address', 'add', '192.0.2.7/24', 'dev', 'ens4')
    },
    expect(result, node) {
      assert.deepEqual(outcomes(result), ['Failed ForeignAddresses'], result.log)
      assert.match(node.ip('address', 'show', 'ens4'), /192\.0\.2\.7/)
      assert.match(node.ip('address', 'show', 'ens4'), /10\.100\.0\.77.* dynamic/)
    },
  },
  {
    finding: 'F3',
    name: 'with NETWORK_TAKEOVER=refuse a NIC with a lease is refused',
    prepare: node => leased(node, '10.100.0.77', '172.16.0.0/12 via 10.100.0.1 dev ens4 proto dhcp'),
    env: { NETWORK_TAKEOVER: 'refuse' },
    expect: result => assert.deepEqual(outcomes(result), ['Failed ForeignAddresses'], result.log),
  },
]

/** As a DHCP client leaves the NIC. */
function leased(node: RigNode, address: string, route: string): void {
  node.ip('link', 'set', 'ens4', 'up')
  node.ip('address', 'add', `${address}/24`, 'dev', 'ens4', 'valid_lft', '600', 'preferred_lft', '600')
  node.ip('route', 'add', ...route.split(' '))
}

attacks('take-over', cases)

/** The route of both devices is neither ours nor foreign, so this is no case of the table. */
test('F3: of two IPv6 default routes that share the traffic, only that of the NIC is removed', () =>
  withNode({ nics: 1 }, async node => {
    leased(node, '10.100.0.10', '172.16.0.0/12 via 10.100.0.1 dev ens4 proto dhcp')
    const routers = { ens3: 'fe80::3', ens4: 'fe80::4' }
    for (const [device, router] of Object.entries(routers))
      node.ip('-6', 'route', 'append', 'default', 'via', router, 'dev', device, 'metric', '1024', 'proto', 'ra')
    const result = await node.agent(requestAll(node))
    assert.deepEqual(outcomes(result), ['Configured'], result.log)
    const defaults = node.ip('-6', 'route', 'show', 'default').trim()
    assert.match(defaults, /^default via fe80::3 dev ens3 proto ra metric 1024/)
    assert.doesNotMatch(defaults, /multinic0/)
  }))
