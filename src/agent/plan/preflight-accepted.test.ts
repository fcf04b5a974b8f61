/** What looks like a conflict and is none: these NICs are configured. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interface } from '../../contract/interfaces.ts'
import { hostPaths } from '../paths.ts'
import type { Observed } from '../state/observed.ts'
import { afterPlan, aLink, aNode, anAddress, anInterface, aRoute, macOf, planOf } from '../test/agent.fixture.ts'

const kernel = 2
const withLink = (values: Partial<Observed['links'][number]>, base = aNode(1)): Observed => ({
  ...base,
  links: base.links.map(link => (link.ifindex === 3 ? { ...link, ...values } : link)),
})
const up = withLink({ up: true, carrier: true })
const plus = (more: Partial<Observed>, base: Observed): Observed => ({
  ...base,
  links: [...base.links, ...(more.links ?? [])],
  addresses: [...base.addresses, ...(more.addresses ?? [])],
  routes: [...base.routes, ...(more.routes ?? [])],
  files: { ...base.files, ...more.files },
})
const text = (content: string) => ({ text: content, mode: 0o600, uid: 0, gid: 0 })
const ours = afterPlan(aNode(1), [anInterface(0)])
const unresolved = { KUBERNETES_SERVICE_HOST: 'api.example.com' }
const foreignRoute = aRoute(3, '172.16.0.0/12')

const accepted: Record<string, [observed: Observed, requested?: Partial<Interface>, env?: Record<string, string>]> = {
  'a NIC that is up without addresses': [up],
  'a NIC that is down with a foreign address': [plus({ addresses: [anAddress(3, '192.0.2.7/24')] }, aNode(1))],
  'a NIC with its requested address and what the kernel adds with it': [
    plus(
      {
        addresses: [anAddress(3, '10.100.0.10/24'), anAddress(3, 'fe80::1/64', { linkLocal: true })],
        routes: [
          aRoute(3, '10.100.0.0/24', { protocol: kernel, source: '10.100.0.10' }),
          aRoute(3, 'fe80::/64', { protocol: kernel }),
          aRoute(3, 'ff00::/8', { protocol: kernel }),
          aRoute(3, '10.100.0.10/32', { protocol: kernel, type: 2, table: 255 }),
        ],
      },
      up,
    ),
  ],
  'a NIC of ours with a foreign address and a foreign route': [
    plus({ addresses: [anAddress(3, '192.0.2.7/24')], routes: [foreignRoute] }, ours),
  ],
  'a NIC of ours with a VLAN on top': [
    plus({ links: [aLink({ ifindex: 9, name: 'v', kind: 'vlan', lower: 'multinic0' })] }, ours),
  ],
  'a NIC of ours with a VLAN on top that gets a larger MTU': [
    plus({ links: [aLink({ ifindex: 9, name: 'v', kind: 'vlan', lower: 'multinic0' })] }, ours),
    { mtu: 1451 },
  ],
  'a NIC beside one with a VLAN on top': [
    plus({ links: [aLink({ ifindex: 9, name: 'v', kind: 'vlan', lower: 'ens3' })] }, aNode(1)),
  ],
  'a NIC beside one that a Pod uses': [aNode(1, { stackedElsewhere: [2] })],
  'a NIC of ours with a DHCP client': [{ ...ours, dhcpClients: { 3: 'dhclient' } }],
  'a NIC with a DHCP client of NetworkManager': [
    aNode(1, {
      dhcpClients: { 3: 'x' },
      managers: { 3: 'other' },
      directories: [hostPaths.networkManager, hostPaths.state],
    }),
  ],
  'a NIC without a lease that has a DHCP client, without take-over': [
    aNode(1, { dhcpClients: { 3: 'dhclient' } }),
    {},
    { NETWORK_TAKEOVER: 'refuse' },
  ],
  'a NIC that a foreign Netplan file names': [
    plus({ files: { '/etc/netplan/50-cloud-init.yaml': text(`match: {macaddress: ${macOf(0)}}`) } }, aNode(1)),
  ],
  'a NIC with one of its requested addresses': [
    plus(
      {
        addresses: [anAddress(3, '10.100.0.10/24')],
        routes: [aRoute(3, '10.100.0.0/24', { protocol: kernel, source: '10.100.0.10' })],
      },
      up,
    ),
    { addresses: ['10.101.0.10/24'] },
  ],
  'a NIC beside one with a DHCP client': [aNode(1, { dhcpClients: { 2: 'dhclient' } })],
  'an MTU that is the maximum of the device': [withLink({ maxMtu: 1450 })],
  'an MTU that is the minimum of the device': [withLink({ minMtu: 1450 })],
  'any MTU of a device without a maximum': [withLink({ maxMtu: 0 }), { mtu: 9000 }],
  'the smallest MTU of IPv6': [aNode(1), { mtu: 1280, addresses: ['fd00::10/64'] }],
  'a smaller MTU without IPv6': [aNode(1), { mtu: 1000 }],
  'a device that has its own index as a name': [withLink({ altnames: ['if3'] })],
  'an address that the NIC itself has with another prefix': [
    plus({ addresses: [anAddress(3, '10.100.0.10/16')] }, aNode(1)),
  ],
  'a table whose routes are the desired ones': [
    plus(
      { routes: [aRoute(3, '10.100.0.0/24', { table: 100, protocol: 4, metric: 100, source: '10.100.0.10' })] },
      aNode(1),
    ),
  ],
  'a foreign route in a table that nothing uses': [
    plus({ routes: [aRoute(2, '10.9.0.0/16', { table: 100 })] }, aNode(1)),
    {},
    { NETWORK_POLICY_ROUTING_ENABLED: 'false' },
  ],
  'a NIC of ours while the API server does not resolve': [plus({ routes: [foreignRoute] }, ours), {}, unresolved],
  'a NIC that is down while the API server does not resolve': [
    plus({ routes: [foreignRoute] }, aNode(1)),
    {},
    unresolved,
  ],
  'a NIC with link-local routes while the API server does not resolve': [
    plus({ routes: [aRoute(3, 'fe80::/64', { protocol: kernel }), aRoute(3, 'ff00::/8', { protocol: kernel })] }, up),
    {},
    unresolved,
  ],
  'a NIC with local routes alone while the API server does not resolve': [
    plus({ routes: [aRoute(3, '10.100.0.10/32', { type: 2, table: 255, protocol: kernel })] }, up),
    {},
    unresolved,
  ],
  'a NIC beside the one with the route to the API server': [{ ...aNode(1), apiPath: { ifindex: 2 } }],
  'a foreign route, while the API server has an address': [
    plus({ routes: [foreignRoute] }, aNode(1)),
    {},
    { KUBERNETES_SERVICE_HOST: '10.96.0.1' },
  ],
  'a foreign file about another NIC': [
    plus({ files: { '/etc/netplan/50-x.yaml': text(`match: {macaddress: ${macOf(5)}}`) } }, aNode(1)),
    {},
    { NETWORK_TAKEOVER: 'refuse' },
  ],
  'a file about the NIC in a directory of nobody': [
    plus({ files: { '/etc/netplan.old/50-x.yaml': text(`match: {macaddress: ${macOf(0)}}`) } }, aNode(1)),
    {},
    { NETWORK_TAKEOVER: 'refuse' },
  ],
  'a foreign file at the path of another index': [
    plus({ files: { '/etc/netplan/95-multinic5.yaml': { ...text(''), uid: 1000 } } }, aNode(1)),
  ],
}

for (const [name, [observed, requested, env]] of Object.entries(accepted))
  test(`${name} is accepted`, () => {
    const planned = planOf(observed, [anInterface(0, requested)], env)
    assert.deepEqual([...planned.refused.values()], [])
    assert.equal(planned.accepted.length, 1)
  })

const disturbing: Record<string, Partial<Interface>> = {
  'a smaller MTU': { mtu: 1449 },
  'another name': { index: 1, name: 'multinic1' },
}
for (const [name, requested] of Object.entries(disturbing))
  test(`${name} would disturb the VLAN on top of a NIC of ours, and is refused`, () => {
    const observed = plus({ links: [aLink({ ifindex: 9, name: 'v', kind: 'vlan', lower: 'multinic0' })] }, ours)
    const [refusal] = planOf(observed, [anInterface(0, requested)]).refused.values()
    assert.equal(refusal?.reason, 'LinkHasUpperDevices')
  })

test('a NIC that is up with a connected route of another network is refused', () => {
  for (const destination of ['10.100.0.0/25', '10.99.0.0/24']) {
    const observed = plus({ routes: [aRoute(3, destination, { protocol: kernel })] }, up)
    assert.equal(planOf(observed, [anInterface(0)]).refused.get(0)?.reason, 'ForeignAddresses')
  }
})

test('an address of another NIC of ours that moves here is no conflict', () => {
  const both = afterPlan(aNode(2), [anInterface(0), anInterface(1)])
  const moved = { address: '10.101.0.10', cidr: '10.101.0.0/24', gateway: '10.101.0.1' }
  assert.equal(planOf(both, [anInterface(0, moved), anInterface(1, { address: '10.101.0.11' })]).refused.size, 0)
})
