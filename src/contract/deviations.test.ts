import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aWrite } from '../../test/support/inventory.ts'
import { planWrite } from '../inventory/plan.ts'
import { comparisonsOf, deviationsOf, type InterfaceRecord } from './deviations.ts'
import type { InventoryRecord } from './inventory.ts'

const at = '2026-01-01T00:00:00.000Z'
const [nic] = aWrite('n').config.interfaces
const good: InterfaceRecord = {
  portId: 'port-n-0',
  macAddress: nic?.macAddress ?? '',
  status: 'Configured',
  observed: { name: 'multinic0', mtu: 1450, addresses: [`${nic?.address}/16`, 'fe80::1/64'], link: 'up' },
}

function record(...interfaces: InterfaceRecord[]): InventoryRecord {
  return planWrite(undefined, aWrite('n', interfaces.length > 0 ? { interfaces } : {}), at)?.after ?? assert.fail()
}

const cases: Record<string, [InventoryRecord, ...expected: string[]]> = {
  'an interface as requested is no deviation, even with addresses that the kernel added': [record(good)],
  'an interface without a reported state is Pending': [record(), 'multinic0 Pending:'],
  'a failed interface is listed with its remedy': [
    record({ ...good, status: 'Failed', reason: 'InterfaceNameInUse' }),
    'multinic0 Failed: Rename that device.',
  ],
  'an interface that waits for its newest request is listed': [
    record({ ...good, pending: { reason: 'Paused', message: 'the rollout is paused' } }),
    'multinic0 Configured:',
  ],
  'an interface that was changed on the node is listed with each different field': [
    record({ ...good, observed: { ...good.observed, mtu: 1500, addresses: [], link: 'down' } }),
    `multinic0 Configured: mtu 1450≠1500 link up≠down address ${nic?.address}/16≠`,
  ],
  'an interface with another name and other addresses is listed with all of them': [
    record({ ...good, observed: { name: 'eth1', addresses: ['10.9.9.9/16', 'FE80::0:1/64'] } }),
    `multinic0 Configured: name multinic0≠eth1 address ${nic?.address}/16≠10.9.9.9/16 fe80::1/64`,
  ],
  'what was not observed does not differ': [record({ ...good, observed: {} })],
  'a configured interface without an observation is no deviation': [
    record({ portId: 'port-n-0', macAddress: good.macAddress, status: 'Configured' }),
  ],
  'a reason without a remedy is listed without one': [
    record({ ...good, status: 'Failed', reason: 'a reason of a newer agent' }),
    'multinic0 Failed:',
  ],
}

for (const [name, [given, ...expected]] of Object.entries(cases)) {
  test(name, () => {
    const shown = deviationsOf(given).map(({ interface: nic, status, remedy, differences }) =>
      [`${nic} ${status}:`, remedy, ...differences.map(one => `${one.field} ${one.wanted}≠${one.observed}`)]
        .filter(Boolean)
        .join(' '),
    )
    assert.deepEqual(shown, expected)
  })
}

test('a request that could not be delivered is a deviation from what was delivered', () => {
  const { config } = aWrite('n')
  const [first] = config.interfaces
  const mtu = { ...config, requested: [{ ...first, macAddress: first?.macAddress ?? '', mtu: 9000 }] }
  const more = { ...config, requested: aWrite('n', { nics: 2 }).config.interfaces }
  const less = { ...config, requested: [] }
  const shown = (config: InventoryRecord['config']) => {
    const write = { ...aWrite('n', { interfaces: [good] }), config }
    const after = planWrite(undefined, write, at)?.after ?? assert.fail()
    return deviationsOf(after).map(({ interface: nic, differences }) =>
      [nic, ...differences.map(one => `${one.field} requested ${one.wanted} delivered ${one.delivered}`)].join(': '),
    )
  }
  assert.deepEqual(shown(config), [])
  assert.deepEqual(shown(mtu), ['multinic0: mtu requested 9000 delivered 1450'])
  assert.deepEqual(shown(more), ['multinic1: interface requested multinic1 delivered '])
  assert.deepEqual(shown(less), ['multinic0: interface requested  delivered multinic0'])
})

test('a deviation has all that is known of its interface, and nothing else', () => {
  const pending = { reason: 'Paused', message: 'the rollout is paused' }
  const state: InterfaceRecord = {
    ...{ ...good, status: 'Failed', reason: 'InterfaceNameInUse', pending },
    ...{ lastChecked: at, lastConfigured: at, checkIntervalSeconds: 60 },
  }
  const whole = { ...record(), providerName: 'Seoul 1', interfaces: [state] }
  assert.deepEqual(deviationsOf(whole), [
    {
      ...{ providerId: 'p1', providerName: 'Seoul 1', nodeName: 'n', interface: 'multinic0', portId: 'port-n-0' },
      ...{ status: 'Failed', reason: 'InterfaceNameInUse', remedy: 'Rename that device.', differences: [], pending },
      ...{ lastChecked: at, lastConfigured: at, checkIntervalSeconds: 60 },
    },
  ])
  const { portId: _, ...unknownPort } = whole.config.interfaces[0] ?? assert.fail()
  const { providerName: __, interfaces: ___, ...bare } = whole
  assert.deepEqual(deviationsOf({ ...bare, config: { ...bare.config, interfaces: [unknownPort] } }), [
    { providerId: 'p1', nodeName: 'n', interface: 'multinic0', status: 'Pending', differences: [] },
  ])
})

const mac = (n: number) => `02:00:00:00:00:0${n}`
const delivered = (index: number, more: object = {}) => ({
  ...{ id: index, name: `multinic${index}`, macAddress: mac(index) },
  ...more,
})

function compared(config: Partial<InventoryRecord['config']>, ...interfaces: InterfaceRecord[]) {
  const given = { ...record(), interfaces }
  return comparisonsOf({ ...given, config: { ...given.config, ...config } })
}

test('the state of an interface is that of its port, else that of its MAC address', () => {
  const configured = { status: 'Configured' as const }
  const states = (nics: object[], ...interfaces: InterfaceRecord[]) =>
    compared({ interfaces: nics as InventoryRecord['config']['interfaces'] }, ...interfaces).map(
      ({ state, matches }) => `${state?.message ?? 'none'} ${matches}`,
    )
  const byPort = { ...configured, portId: 'port-1', macAddress: mac(9), message: 'by port' }
  const byMac = { ...configured, macAddress: mac(1), message: 'by MAC' }
  const other = { ...configured, portId: 'port-2', macAddress: mac(2), message: 'other' }
  assert.deepEqual(states([delivered(1, { portId: 'port-1' })], other, byPort), ['by port true'])
  assert.deepEqual(states([delivered(1, { portId: 'port-1' })], other, byMac), ['by MAC true'])
  assert.deepEqual(states([delivered(1)], other, byMac), ['by MAC true'])
  // Neither has a port: that is nothing in common.
  assert.deepEqual(states([delivered(3)], byMac), ['none false'])
  assert.deepEqual(states([delivered(3)]), ['none false'])
})

test('an interface matches only if it is configured, waits for nothing and differs in nothing', () => {
  const state = { portId: 'port-n-0', macAddress: good.macAddress }
  const matches = (more: Partial<InterfaceRecord>) => compared({}, { ...state, ...more }).map(one => one.matches)
  assert.deepEqual(matches({ status: 'Configured' }), [true])
  assert.deepEqual(matches({ status: 'InProgress' }), [false])
  assert.deepEqual(matches({ status: 'Configured', pending: { reason: 'Paused', message: '' } }), [false])
  assert.deepEqual(matches({ status: 'Configured', observed: { link: 'no-carrier' } }), [false])
})

test('each field of a request that could not be delivered is listed beside what was delivered', () => {
  const address = { address: '10.0.0.1', cidr: '10.0.0.0/24' }
  const before = delivered(1, { portId: 'port-1', ...address, mtu: 1450, gateway: '10.0.0.254' })
  const after = delivered(2, { portId: 'port-1', addresses: ['10.0.0.2/24', 'fd00::2/64'] })
  const [one, ...none] = compared({ interfaces: [before], requested: [after] })
  assert.deepEqual(none, [])
  assert.equal(one?.requested, before)
  assert.deepEqual(one?.differences, [
    { field: 'interface', wanted: 'multinic2', delivered: 'multinic1', observed: 'multinic1' },
    { field: 'mtu', wanted: '', delivered: '1450', observed: '1450' },
    { field: 'address', wanted: '10.0.0.2/24 fd00::2/64', delivered: '10.0.0.1/24', observed: '10.0.0.1/24' },
    { field: 'gateway', wanted: '', delivered: '10.0.0.254', observed: '10.0.0.254' },
  ])
  const [back] = compared({ interfaces: [after], requested: [before] })
  assert.deepEqual(
    back?.differences.map(({ field, wanted }) => `${field} ${wanted}`),
    ['interface multinic1', 'mtu 1450', 'address 10.0.0.1/24', 'gateway 10.0.0.254'],
  )
})

test('of several interfaces, each is compared with its own request', () => {
  const both = [delivered(1), delivered(2, { portId: 'port-2' })]
  const shown = compared({ interfaces: both, requested: both }).map(({ requested }) => requested.name)
  assert.deepEqual(shown, ['multinic1', 'multinic2'])
})

test('what nobody requested does not differ', () => {
  const observed = { name: 'multinic1', mtu: 1500, addresses: ['10.0.0.1/24'] }
  const state = { macAddress: mac(1), status: 'Configured' as const, observed }
  assert.deepEqual(
    compared({ interfaces: [delivered(1)] }, state).map(({ differences }) => differences),
    [[]],
  )
})

test('a port keeps its identity with a new MAC address; without a port, the MAC address is the identity', () => {
  const shown = (before: object, after: object) =>
    compared({ interfaces: [before], requested: [after] } as Partial<InventoryRecord['config']>).map(
      ({ requested, differences, matches }) =>
        [requested.macAddress, ...differences.map(one => `${one.wanted}≠${one.delivered}`), matches].join(' '),
    )
  const port = { portId: 'port-1' }
  assert.deepEqual(shown(delivered(1, port), delivered(1, { ...port, macAddress: mac(2) })), [`${mac(1)} false`])
  assert.deepEqual(shown(delivered(1), delivered(1)), [`${mac(1)} false`])
  assert.deepEqual(shown(delivered(1), delivered(2)), [`${mac(1)} ≠multinic1 false`, `${mac(2)} multinic2≠ false`])
  assert.deepEqual(shown(delivered(1, port), delivered(1, { portId: 'port-2' })), [
    `${mac(1)} ≠multinic1 false`,
    `${mac(1)} multinic1≠ false`,
  ])
})
