/** The networks that the node itself uses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatIp, parseCidr } from '../../contract/address.ts'
import type { Link, Observed, ObservedRoute } from '../state/observed.ts'
import { aLink, aNode, anAddress, aRoute, macOf, settingsFrom } from '../test/agent.fixture.ts'
import { type NodeNetworksInput, nodeNetworks } from './node-networks.ts'

/** `ens3` (2) is the primary NIC, `ens4` (3) is ours, `ens5` (4) is a NIC of nobody. */
const base = aNode(2)
interface Node {
  links?: Partial<Link>[]
  addresses?: Observed['addresses']
  routes?: ObservedRoute[]
  /** In place of those that every case has. */
  onlyRoutes?: ObservedRoute[]
  input?: Partial<NodeNetworksInput>
  env?: Record<string, string>
}
const networksOf = ({ links = [], addresses = [], routes = [], onlyRoutes, input, env }: Node) =>
  nodeNetworks({
    observed: {
      ...base,
      links: [
        ...base.links,
        ...links.map((link, at) => aLink({ ifindex: 20 + at, macAddress: macOf(20 + at), up: true, ...link })),
      ],
      addresses: [...base.addresses, ...addresses],
      routes: [...(onlyRoutes ?? base.routes), ...routes],
    },
    nodeAddresses: ['10.0.0.10'],
    podCIDRs: ['10.244.3.0/24', 'fd00:244::/64'],
    serviceCIDRs: ['10.96.0.0/16'],
    settings: settingsFrom(env),
    ours: new Set([3]),
    ...input,
  })

const bridge = { name: 'docker0', kind: 'bridge' }
const tunnel = { name: 'tun0', kind: 'tun', ethernet: false }
const connected = { protocol: 2, scope: 253 }
const onPrimary = 'overlaps 10.0.0.0/24 on ens3 in the main table'

const reserved: Record<string, [network: string, because: string, node?: Node]> = {
  'the network of the node’s address': ['10.0.0.0/16', 'contains 10.0.0.10, the address of the node'],
  'the network of the gateway': [
    '10.0.9.0/24',
    'contains 10.0.9.1, the gateway of the node',
    { routes: [aRoute(2, 'default', { gateway: '10.0.9.1', onlink: true, metric: 50 })] },
  ],
  'the network of an IPv6 gateway': [
    'fd00:9::/64',
    'contains fd00:9::1, the gateway of the node',
    { routes: [aRoute(2, 'default', { family: 6, gateway: 'fd00:9::1' })] },
  ],
  'the network of the API server': [
    '10.7.0.0/24',
    'contains 10.7.0.1, the address of the API server',
    { env: { KUBERNETES_SERVICE_HOST: '10.7.0.1' } },
  ],
  'the network of Pods': ['10.244.3.0/24', 'overlaps 10.244.3.0/24, a network of Pods'],
  'a network that contains Pods': ['10.244.0.0/16', 'overlaps 10.244.3.0/24, a network of Pods'],
  'a network inside that of IPv6 Pods': ['fd00:244::/96', 'overlaps fd00:244::/64, a network of Pods'],
  'a network of Services': ['10.96.8.0/24', 'overlaps 10.96.0.0/16, a network of Services'],
  'a link-local address': ['169.254.169.254/32', 'overlaps 169.254.0.0/16, which exists on every NIC'],
  'a multicast network': ['ff05::/16', 'overlaps ff00::/8, which exists on every NIC'],
  'the default route': ['0.0.0.0/0', 'contains 10.0.0.10, the address of the node'],
  'the subnet of the primary NIC': [
    '10.0.0.0/24',
    onPrimary,
    { input: { nodeAddresses: [] }, onlyRoutes: [aRoute(2, '10.0.0.0/24', connected)] },
  ],
  'a network inside the subnet of the primary NIC': ['10.0.0.128/25', onPrimary],
  'a network that a foreign route has': [
    '10.5.0.0/24',
    'overlaps 10.5.0.0/24 on ens3 in the main table',
    { routes: [aRoute(2, '10.5.0.0/24', { gateway: '10.0.0.7' })] },
  ],
  'a network that a tunnel has a route to': [
    '10.5.0.0/24',
    'overlaps 10.5.0.0/24 on tun0 in the main table',
    { links: [tunnel], routes: [aRoute(20, '10.5.0.0/24')] },
  ],
  'the network of a bridge': [
    '172.17.0.0/16',
    'overlaps 172.17.0.0/16 on docker0 in the main table',
    { links: [bridge], routes: [aRoute(20, '172.17.0.0/16', connected)] },
  ],
  'a network inside that of a bridge': [
    '172.17.9.0/24',
    'overlaps 172.17.0.0/16 on docker0 in the main table',
    { links: [bridge], routes: [aRoute(20, '172.17.0.0/16', connected)] },
  ],
  'a network with a route by a device that is gone': [
    '10.5.0.0/24',
    'overlaps 10.5.0.0/24 on another device in the main table',
    { routes: [aRoute(77, '10.5.0.0/24')] },
  ],
  'a network with a multipath route': [
    '10.5.0.0/24',
    'overlaps 10.5.0.0/24 on ens3 in the main table',
    { routes: [{ ...aRoute(2, '10.5.0.0/24'), devices: [2, 4] }] },
  ],
}
for (const [what, [network, because, node = {}]] of Object.entries(reserved))
  test(`the main table gets no route of a NIC to ${what}`, () => {
    assert.equal(networksOf(node).reservedBy(parseCidr(network) ?? assert.fail(network)), because)
  })

const free: Record<string, [network: string, node?: Node]> = {
  'a network that nobody has': ['10.100.0.0/24'],
  'an IPv6 network that nobody has': ['fd00:1::/64'],
  'a network beside that of the primary NIC': ['10.0.1.0/24'],
  'a network that a tunnel has a shorter route to': [
    '10.100.0.0/24',
    { links: [tunnel], routes: [aRoute(20, '10.0.0.0/8')] },
  ],
  'a network that a bridge has a shorter route to, which somebody added': [
    '10.100.0.0/24',
    { links: [bridge], routes: [aRoute(20, '10.0.0.0/8', { protocol: 4 })] },
  ],
  'a network inside the connected network of a tunnel': [
    '10.100.0.0/24',
    { links: [tunnel], routes: [aRoute(20, '10.0.0.0/8', connected)] },
  ],
  'a network with more specific routes': [
    '10.100.0.0/24',
    {
      links: [tunnel],
      routes: [aRoute(20, '10.100.0.64/26'), aRoute(2, '10.100.0.7/32', { gateway: '10.0.0.7' })],
    },
  ],
  'a network whose first addresses a bridge has': [
    '10.100.0.0/24',
    { links: [bridge], routes: [aRoute(20, '10.100.0.0/26', connected)] },
  ],
  'a network that the two halves of the default route cover': [
    '10.100.0.0/24',
    { links: [tunnel], routes: [aRoute(20, '0.0.0.0/1'), aRoute(20, '128.0.0.0/1')] },
  ],
  'a network that a NIC of ours has a route to': ['10.100.0.0/24', { routes: [aRoute(3, '10.100.0.0/24', connected)] }],
  'a network with a route in another table': ['10.100.0.0/24', { routes: [aRoute(2, '10.100.0.0/24', { table: 77 })] }],
  'a network with a blackhole route': ['10.100.0.0/24', { routes: [aRoute(0, '10.100.0.0/24', { type: 6 })] }],
  'a network with a route from a source': [
    'fd00:1::/64',
    { routes: [aRoute(2, 'fd00:1::/64', { from: 'fd00:7::/64' })] },
  ],
}
for (const [what, [network, node = {}]] of Object.entries(free))
  test(`the main table may get a route of a NIC to ${what}`, () => {
    assert.equal(networksOf(node).reservedBy(parseCidr(network) ?? assert.fail(network)), undefined)
  })

const wires: Record<string, [expected: string[], node: Node]> = {
  'the primary NIC': [['ens3'], {}],
  'a NIC with routes, but none that is link-local alone or ours': [
    ['ens3', 'ens5'],
    { routes: [aRoute(4, '10.5.0.0/24'), aRoute(3, '10.100.0.0/24')] },
  ],
  'no NIC with link-local and multicast routes alone': [
    ['ens3'],
    { routes: [aRoute(4, 'fe80::/64', connected), aRoute(4, 'ff00::/8'), aRoute(4, '169.254.0.0/16')] },
  ],
  'bonds, teams and VLANs with routes': [
    ['bond0', 'ens3', 'ens3.5', 'team0'],
    {
      links: [
        { name: 'bond0', kind: 'bond' },
        { name: 'ens3.5', kind: 'vlan' },
        { name: 'team0', kind: 'team' },
      ],
      routes: [aRoute(20, '10.5.0.0/24'), aRoute(21, '10.6.0.0/24'), aRoute(22, '10.7.0.0/24')],
    },
  ],
  'no bridge, tunnel or veth device': [
    ['ens3'],
    {
      links: [bridge, tunnel, { name: 'veth7', kind: 'veth' }],
      routes: [aRoute(20, '172.17.0.0/16', connected), aRoute(21, '10.5.0.0/24'), aRoute(22, '10.6.0.7/32')],
    },
  ],
  'a bridge with the default route': [
    ['br0', 'ens3'],
    { links: [{ name: 'br0', kind: 'bridge' }], routes: [aRoute(20, 'default', { gateway: '10.8.0.1', metric: 9 })] },
  ],
  'a bridge with the address of the node': [
    ['br0', 'ens3'],
    {
      links: [{ name: 'br0', kind: 'bridge' }],
      addresses: [anAddress(20, '10.8.0.10/24')],
      input: { nodeAddresses: ['10.0.0.10', '10.8.0.10'] },
    },
  ],
  'all devices of a multipath default route': [
    ['ens3', 'ens5'],
    { onlyRoutes: [{ ...aRoute(2, 'default'), devices: [2, 4] }] },
  ],
}
for (const [what, [expected, node]] of Object.entries(wires))
  test(`wires are ${what}`, () => {
    assert.deepEqual(networksOf(node).wires, expected)
  })

type Router = { gateway: string; ifindex: number }
const router = { gateway: '10.0.0.1', ifindex: 2 }
const default6 = (gateway: string, values: Partial<ObservedRoute> = {}) =>
  aRoute(2, 'default', { family: 6, gateway, metric: 1024, ...values })
const routers: Record<string, [expected: { 4?: Router; 6?: Router }, node: Node]> = {
  'the gateway of the default route': [{ 4: router }, {}],
  'one of each family, link-local or not': [
    { 4: router, 6: { gateway: 'fe80::1', ifindex: 4 } },
    { routes: [default6('fe80::1', { devices: [4] })] },
  ],
  'that of the lowest metric': [
    { 4: router, 6: { gateway: 'fd00::2', ifindex: 2 } },
    {
      routes: [
        aRoute(4, 'default', { gateway: '10.5.0.1', metric: 9 }),
        default6('fd00::1'),
        default6('fd00::2', { metric: 9 }),
      ],
    },
  ],
  'none without a default route': [{}, { onlyRoutes: [] }],
  'none for a default route without a gateway': [{}, { onlyRoutes: [aRoute(2, 'default')] }],
  'none for a multipath default route': [
    {},
    { onlyRoutes: [{ ...aRoute(2, 'default', { gateway: '10.0.0.1' }), devices: [2, 4] }] },
  ],
  'none for an IPv4 route by an IPv6 router': [
    {},
    { onlyRoutes: [aRoute(2, 'default', { family: 4, gateway: 'fe80::1' })] },
  ],
  'none of a NIC of ours': [{}, { onlyRoutes: [aRoute(3, 'default', { gateway: '10.100.0.1' })] }],
  'none of another table': [{}, { onlyRoutes: [aRoute(2, 'default', { gateway: '10.0.0.1', table: 77 })] }],
}
for (const [what, [expected, node]] of Object.entries(routers))
  test(`the routers of the node are ${what}`, () => {
    assert.deepEqual(networksOf(node).routers, expected)
  })

test('the primary networks are those of all devices with a default route, without link-local ones', () => {
  const { primary, addresses } = networksOf({
    addresses: [
      anAddress(2, 'fd00::10/64'),
      anAddress(2, 'fe80::10/64', { linkLocal: true }),
      anAddress(4, '10.5.0.10/24'),
      anAddress(3, '10.100.0.10/24'),
    ],
    routes: [aRoute(4, 'default', { gateway: '10.5.0.1', metric: 9 })],
  })
  assert.deepEqual(
    primary.map(({ address, prefix }) => `${formatIp(address)}/${prefix}`),
    ['10.0.0.10/24', 'fd00::10/64', '10.5.0.10/24'],
  )
  assert.deepEqual(addresses, ['10.0.0.10'])
})
