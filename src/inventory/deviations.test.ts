import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aWrite } from '../../test/support/inventory.ts'
import type { InventoryRecord } from '../contract/inventory.ts'
import { csvOf } from './csv.ts'
import { deviationsOf } from './deviations.ts'
import { planWrite } from './plan.ts'

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

const cases: Record<string, [InventoryRecord, ...says: string[]]> = {
  'an interface as it was asked for is none, whatever the kernel added': [record(good)],
  'one that nobody has told of is waited for': [record(), 'multinic0 Pending:'],
  'one that failed is told with its remedy': [
    record({ ...good, status: 'Failed', reason: 'InterfaceNameInUse' }),
    'multinic0 Failed: Rename that device.',
  ],
  'one that was changed behind our back is told by field': [
    record({ ...good, observed: { ...good.observed, mtu: 1500, addresses: [], link: 'down' } }),
    `multinic0 Configured: mtu 1450≠1500 link up≠down address ${nic?.address}/16≠`,
  ],
}

for (const [name, [given, ...says]] of Object.entries(cases)) {
  test(name, () => {
    const said = deviationsOf(given).map(({ interface: nic, status, remedy, differences }) =>
      [`${nic} ${status}:`, remedy, ...differences.map(one => `${one.field} ${one.wanted}≠${one.observed}`)]
        .filter(Boolean)
        .join(' '),
    )
    assert.deepEqual(said, says)
  })
}

test('a table has one line an interface, quoted where needed, and no formula', () => {
  const given = record({ ...good, reason: 'a "b", c' })
  const [head, line, rest] = csvOf([{ ...given, nodeName: '=cmd()' }]).split('\r\n')
  assert.match(head ?? '', /^providerId,nodeName,instanceId,interface,/)
  assert.equal(
    line,
    `p1,'=cmd(),vm-n,multinic0,${nic?.macAddress},${nic?.address}/16,1450,port-n-0,,,Configured,"a ""b"", c",${at}`,
  )
  assert.equal(rest, '')
})
