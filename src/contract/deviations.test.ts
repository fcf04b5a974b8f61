import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aWrite } from '../../test/support/inventory.ts'
import { planWrite } from '../inventory/plan.ts'
import { deviationsOf } from './deviations.ts'
import type { InventoryRecord } from './inventory.ts'

const at = '2026-01-01T00:00:00.000Z'
const [nic] = aWrite('n').config.interfaces
const good: NonNullable<InventoryRecord['interfaces']>[number] = {
  portId: 'port-n-0',
  macAddress: nic?.macAddress ?? '',
  status: 'Configured',
  observed: { name: 'multinic0', mtu: 1450, addresses: [`${nic?.address}/16`, 'fe80::1/64'], link: 'up' },
}

function record(...interfaces: NonNullable<InventoryRecord['interfaces']>): InventoryRecord {
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
