/** Which new ports are selected, and the interface that a port becomes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Port } from '../cloud.ts'
import type { SelectedSubnet, SelectionRules } from './observed-state.ts'
import { aNic, aPort, baseline, me, observed, planText, storage } from './plan.fixture.ts'
import { planNodes } from './plan.ts'
import { addressesIn, byCreation, byReason, interfaceOf, placesOf, refusalOfNew, verdictsWith } from './verdicts.ts'

const rules: SelectionRules = { allowedStatuses: ['ACTIVE'], owners: ['compute:*', 'trunk:subport'], baseline }
const reasonOf = (port: Partial<Port>, more: Partial<SelectionRules> = {}) =>
  refusalOfNew(aPort(1, port), { ...rules, ...more })?.reason ?? 'selected'

test('the device owner has to match one of the patterns, as a whole or up to the star', () => {
  const owners = [
    'compute:nova',
    'compute:',
    'trunk:subport',
    'trunk:subports',
    'trunk:subpor',
    'cloud:nova',
    'xcompute:a',
  ]
  assert.deepEqual(
    owners.map(owner => reasonOf({ owner })),
    [
      ...['selected', 'selected', 'selected', 'DeviceOwnerNotAllowed'],
      ...['DeviceOwnerNotAllowed', 'DeviceOwnerNotAllowed', 'DeviceOwnerNotAllowed'],
    ],
  )
})

test('a time of creation is read with and without a time zone, wherever the operator runs', t => {
  const { TZ = 'UTC' } = process.env
  t.after(() => Object.assign(process.env, { TZ }))
  Object.assign(process.env, { TZ: 'Asia/Seoul' })
  const reasons = (time: string) => reasonOf({ createdAt: time })
  for (const time of ['00:55:00Z', '00:55:00', '09:55:00+09:00', '09:55:00+0900', '00:55:00.000-00:00'])
    assert.equal(reasons(`2026-11-15T${time}`), 'selected', time)
  for (const time of ['00:54:59Z', '00:54:59', '09:54:59+09:00', '09:54:59+0900'])
    assert.equal(reasons(`2026-11-15T${time}`), 'PortTooOld', time)
  assert.equal(reasons('2026-11-14T19:55:00-05:00'), 'selected')
  assert.equal(reasons('2026-11-14T19:54:59-05:00'), 'PortTooOld')
})

test('ports are ordered by creation, and those without a time come last', () => {
  const times = ['', '2026-11-15T03:00:00Z', '2026-11-15T01:00:00Z', '2026-11-15T02:00:00Z']
  const sorted = times.map((createdAt, n) => aPort(n, { createdAt })).sort(byCreation)
  assert.deepEqual(
    sorted.map(({ id }) => id),
    ['port-2', 'port-3', 'port-1', 'port-0'],
  )
  const without = aPort(1, { createdAt: '' })
  assert.deepEqual(
    [byCreation(without, aPort(2)), byCreation(aPort(2), without), byCreation(without, without)],
    [1, -1, 0],
  )
})

test('the older port gets the lower index, whatever the MAC addresses are', () => {
  const ports = [aPort(1, { createdAt: '2026-11-15T03:00:00Z' }), aPort(2, { createdAt: '2026-11-15T02:00:00Z' })]
  assert.deepEqual(planText(planNodes(observed({ ports }))), ['send worker-1 0=port-2 1=port-1'])
})

const verdicts = [
  { portId: 'p1', vm: 'x', reason: 'PortStatusNotAllowed', message: '' },
  { portId: 'p2', vm: 'x', reason: 'PortTooOld', message: '' },
  { vm: 'y', reason: 'VmNotFound', message: '' },
  { portId: 'p3', vm: 'x', reason: 'PortTooOld', message: '' },
] as const

test('verdicts are grouped by reason, in the order of the alphabet', () => {
  assert.deepEqual(byReason(verdicts), [
    { reason: 'PortStatusNotAllowed', count: 1, portIds: ['p1'] },
    { reason: 'PortTooOld', count: 2, portIds: ['p2', 'p3'] },
    { reason: 'VmNotFound', count: 1, portIds: [] },
  ])
})

test('verdicts of several reasons keep their order', () => {
  const of = (...reasons: string[]) =>
    verdictsWith(verdicts, reason => reasons.includes(reason)).map(({ portId }) => portId)
  assert.deepEqual(of('PortTooOld', 'PortStatusNotAllowed'), ['p1', 'p2', 'p3'])
  assert.deepEqual(of('VmNotFound', 'PortTooOld'), ['p2', undefined, 'p3'])
  assert.deepEqual(of('Selected'), [])
})

const v6: SelectedSubnet = { ...storage, id: 'v6', cidr: 'fd00::/64' }
const storage3: SelectedSubnet = { ...storage, index: 3, alias: 'data' }
const at = (subnetId: string, address: string) => ({ subnetId, address })

test('a port with one address has no list, and a subnet without an index gives none', () => {
  assert.deepEqual(addressesIn(aPort(1), placesOf([v6, storage])), {
    order: 1,
    subnet: storage,
    address: '10.1.0.1',
    addresses: [],
  })
})

test('one subnet with an index gives it, and its alias, to the whole port', () => {
  const addresses = [at('storage', '10.1.0.1'), at('v6', 'fd00::1')]
  assert.deepEqual(addressesIn(aPort(1, { addresses }), placesOf([v6, storage3])), {
    ...{ order: 0, subnet: v6, address: 'fd00::1', addresses: ['fd00::1/64', '10.1.0.1/24'] },
    ...{ index: 3, alias: 'data' },
  })
})

test('subnets with different indexes are in conflict, those without one are not named', () => {
  const addresses = [at('storage', '10.1.0.1'), at('v6', 'fd00::1'), at('plain', '10.5.0.1')]
  const subnets = [storage3, { ...v6, index: 4 }, { ...storage, id: 'plain', cidr: '10.5.0.0/24' }]
  const match = addressesIn(aPort(1, { addresses }), placesOf(subnets))
  assert.deepEqual('conflicting' in match && match.conflicting?.map(({ id }) => id), ['storage', 'v6'])
})

test('addresses that do not fit their subnet are left out of the list', () => {
  const broken: SelectedSubnet[] = [
    storage,
    { ...storage, id: 'no-cidr', cidr: 'none' },
    { ...storage, id: 'no-ip', cidr: '10.6.0.0/24' },
    { ...storage, id: 'outside', cidr: '10.7.0.0/24' },
    { ...storage, id: 'other-family', cidr: '10.8.0.0/24' },
  ]
  const addresses = [
    at('no-cidr', '10.5.0.1'),
    at('no-ip', 'none'),
    at('outside', '10.9.0.1'),
    at('other-family', 'fd00::1'),
  ]
  const match = addressesIn(aPort(1, { addresses: [...addresses, at('storage', '10.1.0.1')] }), placesOf(broken))
  assert.deepEqual('addresses' in match && match.addresses, ['10.1.0.1/24'])
})

const matchOf = (subnet: SelectedSubnet, address = '10.1.0.1') => ({ order: 0, subnet, address, addresses: [] })

test('an interface has what is known of its port, subnet and network, and no empty fields', () => {
  const plain = { ...storage, name: '' }
  assert.deepEqual(interfaceOf(2, aPort(1), matchOf(plain), { source: me, networks: new Map(), places: new Map() }), {
    ...{ index: 2, name: 'multinic2', macAddress: 'fa:16:3e:00:00:01', portId: 'port-1', address: '10.1.0.1' },
    ...{ cidr: '10.1.0.0/24', networkId: 'net-s', subnetId: 'storage', source: me },
  })
  const routes = [{ destination: '10.9.0.0/16', nexthop: '10.1.0.254' }]
  const full = { ...storage3, gateway: '10.1.0.254', routes }
  const networks = new Map([['net-s', { id: 'net-s', name: 'backbone', mtu: 9000 }]])
  const match = { ...matchOf(full), addresses: ['10.1.0.1/24', 'fd00::1/64'], index: 3, alias: 'data' }
  const upper = aPort(1, { macAddress: 'FA:16:3E:00:00:01' })
  assert.deepEqual(
    interfaceOf(3, upper, match, { source: me, networks, places: new Map() }, aNic(1, 3, { mtu: 1400 })),
    {
      ...{ index: 3, name: 'multinic3', macAddress: 'fa:16:3e:00:00:01', portId: 'port-1', address: '10.1.0.1' },
      ...{ cidr: '10.1.0.0/24', mtu: 9000, addresses: ['10.1.0.1/24', 'fd00::1/64'], gateway: '10.1.0.254', routes },
      ...{ networkId: 'net-s', subnetId: 'storage', source: me },
      ...{ subnetName: 'storage', networkName: 'backbone', alias: 'data' },
    },
  )
})

test('an interface under another index than its subnet has no alias', () => {
  const match = { ...matchOf(storage3), index: 3, alias: 'data' }
  assert.equal(interfaceOf(4, aPort(1), match, { source: me, networks: new Map(), places: new Map() }).alias, undefined)
})
