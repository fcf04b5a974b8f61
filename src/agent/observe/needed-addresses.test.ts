/** Addresses that the node needs elsewhere: who needs them, and which ones a NIC may have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interface } from '../../contract/interfaces.ts'
import { hostPaths } from '../paths.ts'
import { planRun } from '../plan/plan.ts'
import { ifindexes, type Neighbour, type Observed, parseRoutes } from '../state/observed.ts'
import {
  afterPlan,
  aNode,
  anAddress,
  anInterface,
  aRoute,
  macOf,
  primaryMac,
  settingsFrom,
} from '../test/agent.fixture.ts'
import { resolversIn } from './needed-addresses.ts'

const inPrimary = (address: string): Partial<Interface> => ({ address, cidr: '10.0.0.0/24', gateway: '10.0.0.254' })
const neighbour = (address: string, values: Partial<Neighbour> = {}): Partial<Observed> => ({
  neighbours: [{ ifindex: 2, address, macAddress: 'fa:16:3e:aa:00:01', states: ['STALE'], ...values }],
})
const withRoutes = (...routes: Observed['routes']): Partial<Observed> => ({ routes: [...aNode(1).routes, ...routes] })
const nodes = { addressesOfNodes: [{ address: '10.0.0.53', nodeName: 'worker-2' }] }
const services = { serviceCIDRs: ['10.96.0.0/16', 'fd00:96::/112'] }

const refusalOf = (nic: Partial<Interface>, observed: Partial<Observed>, more: object = {}) => {
  const { refused, accepted } = planRun({
    ...{ interfaces: [anInterface(0, nic)], nodeAddresses: ['10.0.0.10'], settings: settingsFrom(), paths: hostPaths },
    ...{ observed: aNode(1, observed), ...more },
  })
  const refusal = refused.get(0)
  assert.equal(accepted.length, refusal ? 0 : 1)
  return refusal && `${refusal.reason}: ${refusal.message}`
}

type Case = [nic: Partial<Interface>, observed: Partial<Observed>, message: string | undefined, more?: object]

const cases: Record<string, Case> = {
  'the gateway of the node': [inPrimary('10.0.0.1'), {}, '10.0.0.1 is the next hop of the route to default on ens3'],
  'the next hop of a route in a foreign table': [
    inPrimary('10.0.0.7'),
    withRoutes(aRoute(2, '172.16.0.0/12', { gateway: '10.0.0.7', table: 500 })),
    '10.0.0.7 is the next hop of the route to 172.16.0.0/12 on ens3',
  ],
  'a next hop of a multipath route': [
    inPrimary('10.0.0.8'),
    withRoutes(aRoute(2, '172.16.0.0/12', { gateways: ['10.0.0.7', '10.0.0.8'] })),
    '10.0.0.8 is the next hop of the route to 172.16.0.0/12 on ens3',
  ],
  'an IPv6 next hop in another notation': [
    { addresses: ['fd00:0:0::1/64'] },
    withRoutes(aRoute(2, 'default', { family: 6, gateway: 'fd00::1' })),
    'fd00::1 is the next hop of the route to default on ens3',
  ],
  'a next hop over the NIC itself': [
    {},
    withRoutes(aRoute(3, '172.16.0.0/12', { gateway: '10.100.0.10', table: 100 })),
    undefined,
    { settings: settingsFrom({ PREFLIGHT_ALLOW_UP: 'true', NETWORK_ROUTING_TABLE_BASE: '300' }) },
  ],
  'a DNS server': [
    inPrimary('10.0.0.2'),
    { resolvers: ['10.0.0.2'] },
    '10.0.0.2 is a DNS server of this node (/etc/resolv.conf)',
  ],
  'the address of another Node': [inPrimary('10.0.0.53'), {}, '10.0.0.53 is the address of the Node worker-2', nodes],
  'an address beside those of other Nodes': [inPrimary('10.0.0.54'), {}, undefined, nodes],
  'an address of a Service': [
    { address: '10.96.0.10', cidr: '10.96.0.0/24', gateway: '10.96.0.254' },
    {},
    '10.96.0.10 is in the range of Services 10.96.0.0/16',
    services,
  ],
  'an IPv6 address of a Service': [
    { addresses: ['fd00:96::a/64'] },
    {},
    'fd00:96::a is in the range of Services fd00:96::/112',
    services,
  ],
  'an address of a Pod': [
    { address: '10.244.0.10', cidr: '10.244.0.0/24', gateway: '10.244.0.254' },
    {},
    undefined,
    { podCIDRs: ['10.244.0.0/24'] },
  ],
  'a neighbour of the node': [
    inPrimary('10.0.0.77'),
    neighbour('10.0.0.77'),
    '10.0.0.77 is the address of the machine fa:16:3e:aa:00:01 on ens3, in the neighbour table of this node',
  ],
  'a neighbour that the node looks for': [
    inPrimary('10.0.0.77'),
    { neighbours: [{ ifindex: 2, address: '10.0.0.77', states: ['INCOMPLETE'] }] },
    '10.0.0.77 is the address of a machine on ens3, in the neighbour table of this node',
  ],
  'a neighbour that did not reply': [inPrimary('10.0.0.77'), neighbour('10.0.0.77', { states: ['FAILED'] }), undefined],
  'the NIC itself as a neighbour': [
    inPrimary('10.0.0.77'),
    neighbour('10.0.0.77', { macAddress: macOf(0) }),
    undefined,
  ],
  'a neighbour outside the networks of its device': [{}, neighbour('10.100.0.10'), undefined],
  'a neighbour on the NIC itself': [
    {},
    { ...neighbour('10.100.0.10', { ifindex: 3 }), addresses: [...aNode(1).addresses, anAddress(3, '10.100.0.10/24')] },
    undefined,
  ],
  'an ordinary address': [{}, { resolvers: ['10.0.0.2'] }, undefined, { ...nodes, ...services }],
}

for (const [what, [nic, observed, message, more]] of Object.entries(cases))
  test(`${what}: ${message === undefined ? 'no obstacle' : 'refused'}`, () =>
    assert.equal(refusalOf(nic, observed, more), message && `AddressConflict: ${message}`))

test('a configured NIC keeps its address while the kernel still has an old neighbour', () => {
  const nic = anInterface(0, inPrimary('10.0.0.77'))
  const configured = afterPlan(aNode(1), [nic])
  const { refused } = planRun({
    ...{ interfaces: [nic], nodeAddresses: ['10.0.0.10'], settings: settingsFrom(), paths: hostPaths },
    observed: { ...configured, ...neighbour('10.0.0.77') },
  })
  assert.deepEqual([...refused], [])
})

test('our own gateways do not stand in the way of another NIC that has their address', () => {
  const first = anInterface(0, { address: '10.100.0.10', gateway: '10.100.0.1' })
  const configured = afterPlan(aNode(2), [first])
  const second = anInterface(1, { address: '10.100.0.1', cidr: '10.100.0.0/24', gateway: '10.100.0.254' })
  const { refused } = planRun({
    ...{ interfaces: [first, second], nodeAddresses: ['10.0.0.10'], settings: settingsFrom(), paths: hostPaths },
    observed: configured,
  })
  assert.deepEqual([...refused], [])
})

test('a NIC whose address is its own gateway is refused', () =>
  assert.equal(
    refusalOf({ address: '10.100.0.1' }, {}),
    "AddressConflict: 10.100.0.1 is the gateway of the NIC's own network",
  ))

test('a route to a special destination is refused before anything changes', () => {
  const routes = [{ destination: '224.0.0.0/4', nexthop: '10.100.0.2' }]
  assert.equal(
    refusalOf({ routes }, {}),
    'RouteInvalid: cannot set the route to 224.0.0.0/4 via 10.100.0.2: 224.0.0.0/4 is for multicast',
  )
})

test('DNS servers are read from a resolv.conf, except those on the node itself', () => {
  const text = [
    '# nameserver 10.0.0.9',
    'nameserver 127.0.0.53',
    'nameserver  10.0.0.2 # first',
    '  nameserver FD00:0::2',
    'nameserver fe80::1%ens3',
    'nameserver ::1',
    'nameserver x',
    'search nameserver 10.0.0.8',
  ].join('\n')
  assert.deepEqual(resolversIn({ text, mode: 0o644, uid: 0, gid: 0 }), ['10.0.0.2', 'fd00::2', 'fe80::1'])
  assert.deepEqual(resolversIn(undefined), [])
})

test('a multipath route has the next hops of all its ways', () => {
  const links = aNode(1).links
  const nexthops = [{ dev: 'ens3', gateway: '10.0.0.7' }, { dev: 'ens3', via: { host: 'fd00::1' } }, { dev: 'ens4' }]
  const [route] = parseRoutes([{ dst: '172.16.0.0/12', nexthops }], ifindexes(links))
  assert.deepEqual(
    [route?.gateways, route?.devices],
    [
      ['10.0.0.7', 'fd00::1'],
      [2, 2, 3],
    ],
  )
  assert.equal(links.find(({ ifindex }) => ifindex === 2)?.macAddress, primaryMac)
})
