/** From a request to the desired state of a NIC. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interface } from '../../contract/interfaces.ts'
import { routeText, ruleText } from '../state/change.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import { aLink, anInterface, macOf, nodeWithBothFamilies, settingsFrom } from '../test/agent.fixture.ts'
import { altnameOf, desiredNics, hasMacAltname } from './desired.ts'

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

test('the NIC has its networks and requested routes in its own table and in the main table, where all others win', () => {
  const routes = [
    { destination: '172.16.5.7/12', nexthop: '10.200.0.1' },
    { destination: '172.32.0.0/12', nexthop: '10.100.0.9' },
  ]
  assert.deepEqual(routesOf(one({ addresses: ['fd00::10/64'], routes })), [
    '10.100.0.0/24 table 100 src 10.100.0.10 metric 100 protocol 4',
    'fd00::/64 table 100 metric 100 protocol 4',
    '0.0.0.0/0 via 10.100.0.1 table 100 metric 100 onlink protocol 4',
    '172.16.0.0/12 via 10.200.0.1 table 100 metric 100 onlink protocol 4',
    '172.32.0.0/12 via 10.100.0.9 table 100 metric 100 onlink protocol 4',
    '10.100.0.0/24 table 254 src 10.100.0.10 metric 20000 protocol 4',
    'fd00::/64 table 254 metric 20000 protocol 4',
    '172.16.0.0/12 via 10.200.0.1 table 254 metric 20100 onlink protocol 4',
    '172.32.0.0/12 via 10.100.0.9 table 254 metric 20100 onlink protocol 4',
  ])
})

test('the metrics in the main table differ from NIC to NIC, and a requested route never wins over a network', () => {
  const routes = [{ destination: '172.16.0.0/12', nexthop: '10.100.0.9' }]
  const metrics = desired([anInterface(0, { routes }), anInterface(9, { routes })]).map(nic =>
    nic.routes.filter(({ table }) => table === 254).map(({ destination, metric }) => `${destination} ${metric}`),
  )
  assert.deepEqual(metrics, [
    ['10.100.0.0/24 20000', '172.16.0.0/12 20100'],
    ['10.109.0.0/24 20009', '172.16.0.0/12 20109'],
  ])
})

const shared = [anInterface(0, { addresses: ['fd00::10/64'] }), anInterface(1, { addresses: ['fd00::11/64'] })]
const routers: Record<string, [interfaces: Interface[], nexthop: string, onlink: boolean]> = {
  'an IPv4 router in the network of the NIC': [[anInterface(0)], '10.100.0.9', true],
  'an IPv4 router outside of it': [[anInterface(0)], '10.200.0.1', true],
  'an IPv6 router in the network of the NIC': [shared.slice(0, 1), 'FD00:0::2', true],
  'an IPv6 router outside of it': [shared.slice(0, 1), 'fd00:77::2', true],
  'a link-local router': [shared.slice(0, 1), 'fe80::1', false],
  'an IPv6 router in a network that two NICs have': [shared, 'fd00::2', false],
  'an IPv6 router in a reserved network': [[anInterface(0, { addresses: ['fd00:ff::10/64'] })], 'fd00:ff::2', false],
}
for (const [what, [interfaces, nexthop, onlink]] of Object.entries(routers))
  test(`${what} is ${onlink ? '' : 'not '}on-link`, () => {
    const destination = nexthop.includes(':') ? 'fd00:2::/48' : '172.16.0.0/12'
    const [first = assert.fail(), ...others] = interfaces
    const [nic] = desired([{ ...first, routes: [{ destination, nexthop }] }, ...others])
    const found = nic?.routes.filter(route => route.destination === destination).map(route => route.onlink)
    assert.deepEqual(found, [onlink, onlink])
  })

test('a reserved network is not in the main table, and only the address of the NIC uses it', () => {
  const nic = one({ address: '10.0.0.11', cidr: '10.0.0.0/24', gateway: '10.0.0.1' })
  assert.deepEqual(routesOf(nic), [
    '10.0.0.0/24 table 100 src 10.0.0.11 metric 100 protocol 4',
    '0.0.0.0/0 via 10.0.0.1 table 100 metric 100 onlink protocol 4',
  ])
  assert.deepEqual(rulesOf(nic), [
    'from 10.0.0.11/32 iif lo lookup 100 priority 10050',
    'from 10.0.0.11/32 iif lo lookup 254 suppress_prefixlength 7 priority 10040',
    'from 10.0.0.11/32 iif lo lookup 100 suppress_prefixlength 0 priority 10030',
    'from 10.0.0.11/32 to 10.0.0.0/24 iif lo lookup 254 suppress_prefixlength 24 priority 10020',
    'from 0.0.0.0/0 iif multinic0 fwmark 0x8/0x78 lookup 254 priority 9999',
    'from 0.0.0.0/0 fwmark 0x8/0x78 lookup 100 priority 10000',
  ])
  assert.deepEqual(nic.onlyBound, [{ network: '10.0.0.0/24', because: 'contains 10.0.0.10, the address of the node' }])
  assert.deepEqual(nic.marked.networks, [])
})

/** Sources and networks, as texts. */
const markedOf = ({ marked }: DesiredNic) => [marked.sources, marked.networks].map(list => list.map(({ cidr }) => cidr))

test('the mark of a NIC is for its networks, for its address in a shared one, and for its address pairs', () => {
  const [own = assert.fail()] = desired([anInterface(0)])
  assert.deepEqual(markedOf(own), [['10.100.0.0/24'], ['10.100.0.0/24']])
  const [first = assert.fail(), second = assert.fail()] = desired([
    anInterface(0),
    anInterface(1, { address: '10.100.0.11', cidr: '10.100.0.0/24' }),
  ])
  assert.deepEqual(markedOf(first), [['10.100.0.10/32'], ['10.100.0.0/24']])
  assert.deepEqual(markedOf(second), [['10.100.0.11/32'], ['10.100.0.0/24']])
  const allowedAddressPairs = ['10.77.0.0/24', 'fd00:7::7/128', '10.0.0.0/8']
  assert.deepEqual(markedOf(one({ allowedAddressPairs })), [
    ['10.100.0.0/24', '10.77.0.0/24', 'fd00:7::7/128'],
    ['10.100.0.0/24'],
  ])
})

test('a requested route is no network of the NIC: packets to it have no mark of their own', () => {
  const nic = one({ routes: [{ destination: '172.16.0.0/12', nexthop: '10.100.0.9' }] })
  assert.deepEqual(markedOf(nic), [['10.100.0.0/24'], ['10.100.0.0/24']])
})

test('the slot of a NIC decides its mark, and the mask the bits of it', () => {
  const marks = (slots?: ReadonlyMap<string, number>, env: Record<string, string> = {}) =>
    desiredNics([anInterface(0), anInterface(3)], settingsFrom(env), nodeWithBothFamilies, slots).map(
      ({ rules, marked }) => [marked.slot, ...new Set(rules.flatMap(({ fwmark }) => fwmark ?? []))],
    )
  assert.deepEqual(marks(), [
    [0, '0x8/0x78'],
    [3, '0x20/0x78'],
  ])
  assert.deepEqual(marks(new Map([[macOf(3), 9]])), [
    [0, '0x8/0x78'],
    [9, '0x50/0x78'],
  ])
  assert.deepEqual(marks(undefined, { NETWORK_MARK_MASK: '0xf0000' }), [
    [0, '0x10000/0xf0000'],
    [3, '0x40000/0xf0000'],
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

test('an address without a network has no connected route, and nothing in the main table', () => {
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
      [4, 20_000],
      [6, 20_000],
    ],
  )
})

test('without policy routing a NIC has addresses alone, with their routes in the main table', () => {
  const nic = one({}, { NETWORK_POLICY_ROUTING_ENABLED: 'false' })
  assert.deepEqual([nic.routes, nic.rules, nic.lookups, nic.onlyBound, ...markedOf(nic)], [[], [], [], [], [], []])
  assert.deepEqual(nic.addresses, [{ cidr: '10.100.0.10/24', noPrefixRoute: false }])
  assert.deepEqual(one().addresses, [{ cidr: '10.100.0.10/24', noPrefixRoute: true }])
})

test('a NIC has its sysctls; only router advertisements have a setting', () => {
  const arp = { 'ipv4.arp_ignore': '1', 'ipv4.arp_announce': '2' }
  const [filter, ra] = [{ 'ipv4.rp_filter': '2' }, { 'ipv6.accept_ra': '0', 'ipv6.autoconf': '0' }]
  assert.deepEqual(one().sysctls, { ...arp, ...filter, ...ra })
  const accepting = one({}, { NETWORK_ACCEPT_RA: 'true' })
  assert.deepEqual(accepting.sysctls, { ...arp, ...filter, 'ipv6.accept_ra_defrtr': '0' })
  assert.deepEqual([one().acceptRa, accepting.acceptRa], [false, true])
})
