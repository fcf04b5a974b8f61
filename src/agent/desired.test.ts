/** From a request to the desired state of a NIC. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interface } from '../contract/interfaces.ts'
import { aLink, anInterface, nodeWithBothFamilies, settingsFrom } from './agent.fixture.ts'
import { routeText, ruleText } from './change.ts'
import { altnameOf, type DesiredNic, desiredNics, gatewayRoutes, hasMacAltname } from './desired.ts'

const desired = (interfaces: readonly Interface[], env: Record<string, string> = {}) =>
  desiredNics(interfaces, settingsFrom(env), nodeWithBothFamilies)
const one = (values: Partial<Interface> = {}, env: Record<string, string> = {}): DesiredNic =>
  desired([anInterface(0, values)], env)[0] ?? assert.fail('no NIC')
const routesOf = ({ routes }: DesiredNic) => routes.map(route => routeText(route))
const rulesOf = ({ rules }: DesiredNic) => rules.map(ruleText)

test('NICs are configured in the order of their indexes, each with its own table and metric', () => {
  const nics = desired([anInterface(1), anInterface(0)], {
    NETWORK_ROUTING_TABLE_BASE: '300',
    NETWORK_ROUTE_METRIC: '7',
  })
  assert.deepEqual(
    nics.map(nic => [nic.name, nic.table, nic.routes[0]?.metric, nic.altname, nic.portId, nic.mtu]),
    [
      ['multinic0', 300, 7, 'port-0', 'port-0', 1450],
      ['multinic1', 301, 8, 'port-1', 'port-1', 1450],
    ],
  )
})

test('a request without a port and an MTU sets neither', () => {
  const { portId: _, mtu: __, ...bare } = anInterface(0)
  const [nic] = desired([bare])
  assert.deepEqual(
    ['portId', 'mtu', 'altname'].filter(key => nic && key in nic),
    [],
  )
})

test('a port that is no valid altname is none', () => {
  for (const valid of ['6f1c2a10-0001', 'a.b_c-d', 'x'.repeat(127)]) assert.equal(altnameOf(valid), valid)
  for (const invalid of [undefined, '', '-a', '.a', 'a b', 'a/b', 'a\n', 'x'.repeat(128)])
    assert.equal(altnameOf(invalid), undefined)
})

test('udev’s altname with the MAC address is recognised, as a name too', () => {
  assert.equal(hasMacAltname(aLink({ altnames: ['x', 'enxfa163e000001'] })), true)
  assert.equal(hasMacAltname(aLink({ name: 'enxfa163e000001' })), true)
  assert.equal(hasMacAltname(aLink({ altnames: ['enxfa163e000002'] })), false)
})

test('the gateway is a default route of its family, before the requested routes', () => {
  const routes = [{ destination: '172.16.0.0/12', nexthop: '10.100.0.2' }]
  assert.deepEqual(gatewayRoutes(anInterface(0, { routes })), [
    { destination: '0.0.0.0/0', nexthop: '10.100.0.1' },
    ...routes,
  ])
  assert.deepEqual(gatewayRoutes(anInterface(0, { gateway: 'fd00::1' })), [{ destination: '::/0', nexthop: 'fd00::1' }])
  const { gateway: _, ...rest } = anInterface(0)
  assert.deepEqual(gatewayRoutes(rest), [])
})

test('a router outside the networks of the NIC is on-link; one inside, or a link-local one, is not', () => {
  const routes = [
    { destination: '172.16.5.7/12', nexthop: '10.200.0.1' },
    { destination: '172.16.0.0/12', nexthop: '10.100.0.9' },
    { destination: 'fd00:2::/48', nexthop: 'fe80::1' },
    { destination: 'fd00:3::/48', nexthop: 'FD00:0::2' },
  ]
  assert.deepEqual(routesOf(one({ addresses: ['fd00::10/64'], routes })), [
    '10.100.0.0/24 table 100 src 10.100.0.10 metric 100 protocol 4',
    'fd00::/64 table 100 metric 100 protocol 4',
    '0.0.0.0/0 via 10.100.0.1 table 100 metric 100 protocol 4',
    '172.16.0.0/12 via 10.200.0.1 table 100 metric 100 onlink protocol 4',
    'fd00:2::/48 via fe80::1 table 100 metric 100 protocol 4',
    'fd00:3::/48 via fd00::2 table 100 metric 100 protocol 4',
    'fd00::/64 from ::/128 table 254 metric 100 protocol 4',
    'fd00:2::/48 from ::/128 via fe80::1 table 254 metric 100 protocol 4',
    'fd00:3::/48 from ::/128 via fd00::2 table 254 metric 100 onlink protocol 4',
  ])
})

test('a route of a family that the NIC has no address of is left out', () => {
  const routes = [
    { destination: 'fd00:2::/48', nexthop: 'fd00::1' },
    { destination: 'nonsense', nexthop: '10.100.0.2' },
    { destination: '172.16.0.0/12', nexthop: 'nonsense' },
  ]
  assert.deepEqual(routesOf(one({ routes })), routesOf(one()))
})

test('an address without a network has no connected route, and its gateway is on-link', () => {
  assert.deepEqual(routesOf(one({ cidr: '10.100.0.10/32' })), [
    '0.0.0.0/0 via 10.100.0.1 table 100 metric 100 onlink protocol 4',
  ])
})

test('metric 0 becomes the kernel’s own metric for IPv6', () => {
  assert.deepEqual(
    one({ addresses: ['fd00::10/64'] }, { NETWORK_ROUTE_METRIC: '0' }).routes.map(({ family, metric }) => [
      family,
      metric,
    ]),
    [
      [4, 0],
      [6, 1024],
      [4, 0],
      [6, 1024],
    ],
  )
})

test('without policy routing a NIC has addresses alone, with their routes in the main table', () => {
  const nic = one({}, { NETWORK_POLICY_ROUTING_ENABLED: 'false' })
  assert.deepEqual([nic.routes, nic.rules, nic.lookups, nic.onlyBound], [[], [], [], []])
  assert.deepEqual(nic.addresses, [{ cidr: '10.100.0.10/24', noPrefixRoute: false }])
  assert.deepEqual(one().addresses, [{ cidr: '10.100.0.10/24', noPrefixRoute: true }])
})

test('with routes in the main table, packets from a NIC use it for the networks of the other NICs too', () => {
  const extra = (env: Record<string, string>) =>
    rulesOf(
      desired([anInterface(0), anInterface(1), anInterface(2, { cidr: '10.102.0.10/32' })], env)[0] ?? assert.fail(),
    ).filter(rule => /from 10\.100\.0\.10\/32 to 10\.10/.test(rule))
  assert.deepEqual(extra({}), [])
  assert.deepEqual(extra({ NETWORK_NOPREFIXROUTE: 'false' }), [
    'from 10.100.0.10/32 to 10.100.0.0/24 lookup 100 priority 10060',
    'from 10.100.0.10/32 to 10.101.0.0/24 lookup 100 priority 10060',
  ])
})

test('each setting turns off its own sysctls', () => {
  const arp = { 'ipv4.arp_ignore': '1', 'ipv4.arp_announce': '2' }
  const [filter, ra] = [{ 'ipv4.rp_filter': '2' }, { 'ipv6.accept_ra': '0', 'ipv6.autoconf': '0' }]
  assert.deepEqual(one().sysctls, { ...arp, ...filter, ...ra })
  assert.deepEqual(one({}, { NETWORK_SET_ARP_SYSCTLS: 'false' }).sysctls, { ...filter, ...ra })
  assert.deepEqual(one({}, { NETWORK_SET_RP_FILTER_LOOSE: 'false' }).sysctls, { ...arp, ...ra })
  const accepting = one({}, { NETWORK_ACCEPT_RA: 'true' })
  assert.deepEqual(accepting.sysctls, { ...arp, ...filter, 'ipv6.accept_ra_defrtr': '0' })
  assert.deepEqual([one().acceptRa, accepting.acceptRa], [false, true])
})
