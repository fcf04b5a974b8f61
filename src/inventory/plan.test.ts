import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aWrite } from '../../test/support/inventory.ts'
import type { InventoryRecord, InventoryWrite } from '../contract/inventory.ts'
import { planWrite } from './plan.ts'

const [t1, t2] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:01:00.000Z']
const status = { macAddress: '02:00:00:00:00:0A', portId: 'port-1', id: 0, name: 'multinic0' }

function after(write: InventoryWrite, before?: InventoryRecord): InventoryRecord {
  return planWrite(before, write, t1)?.after ?? assert.fail('no change')
}

const configured = aWrite('n', { state: 'Configured', reason: 'AllInterfacesConfigured' })
const known = after(configured)
const checked = after(aWrite('n', { interfaces: [{ ...status, status: 'Configured', lastChecked: t1 }] }))

const verified = after(
  aWrite('n', { interfaces: [{ ...status, status: 'Configured', stages: { applied: t1, verified: t1 } }] }),
)

const failedNic = { ...status, status: 'Failed', reason: 'InterfaceNameInUse', message: 'attempt 1' } as const
const failed = after(aWrite('n', { state: 'Failed', reason: 'InterfacesFailed', interfaces: [failedNic] }))

const cases: Record<string, [before: InventoryRecord | undefined, write: InventoryWrite, expected: string]> = {
  'the first write creates the record': [undefined, configured, 'created, in history, delivered'],
  'a repeated write changes nothing': [known, configured, 'nothing'],
  'a repeated write with another cause changes nothing': [known, { ...configured, why: 'another' }, 'nothing'],
  'a write that differs only in spelling changes nothing': [
    known,
    {
      ...configured,
      config: {
        ...configured.config,
        interfaces: configured.config.interfaces.map(({ id: _id, ...nic }) => ({
          ...nic,
          macAddress: nic.macAddress.toUpperCase(),
        })),
      },
    },
    'nothing',
  ],
  'another state is a status change': [known, { ...configured, state: 'Failed' }, 'status, in history'],
  'another config is a config change and a delivery': [
    known,
    aWrite('n', { nics: 2 }),
    'config, in history, delivered',
  ],
  'another VM with the same node name is a config change': [
    known,
    { ...configured, instanceId: 'vm-2' },
    'config, in history',
  ],
  'a later check is stored but is no history entry': [
    checked,
    aWrite('n', { interfaces: [{ ...status, status: 'Configured', lastChecked: t2, checkIntervalSeconds: 7_200 }] }),
    'status',
  ],
  'a later verification of an unchanged interface changes nothing': [
    verified,
    aWrite('n', { interfaces: [{ ...status, status: 'Configured', stages: { applied: t1, verified: t2 } }] }),
    'nothing',
  ],
  'a retry of a failed node is no history entry': [
    failed,
    aWrite('n', { state: 'InProgress', reason: 'Applying', interfaces: [failedNic] }),
    'status',
  ],
  'another failure of a node is a history entry': [
    failed,
    aWrite('n', { state: 'Failed', reason: 'InterfacesFailed', interfaces: [{ ...failedNic, reason: 'NicMissing' }] }),
    'status, in history',
  ],
  'a NIC that a retry configures is a history entry': [
    failed,
    aWrite('n', { state: 'InProgress', reason: 'Applying', interfaces: [{ ...status, status: 'Configured' }] }),
    'status, in history',
  ],
  'a removal deletes the record': [known, { ...configured, removed: true }, 'removed, in history'],
  'the removal of an unknown node changes nothing': [undefined, { ...configured, removed: true }, 'nothing'],
}

for (const [name, [before, write, expected]] of Object.entries(cases)) {
  test(name, () => {
    const change = planWrite(before, write, t2)
    const parts = change && [change.what, change.inHistory && 'in history', change.delivered && 'delivered']
    assert.equal(parts ? parts.filter(Boolean).join(', ') : 'nothing', expected)
  })
}

test('a stage keeps its time if a later write does not contain it', () => {
  const seen = after(aWrite('n', { interfaces: [{ ...status, stages: { seen: t1, delivered: t1 } }] }))
  const change = planWrite(seen, aWrite('n', { interfaces: [{ ...status, stages: { verified: t2 } }] }), t2)
  assert.deepEqual(change?.after?.interfaces?.[0]?.stages, { seen: t1, delivered: t1, verified: t2 })
  assert.deepEqual(change?.events, [
    { macAddress: '02:00:00:00:00:0a', portId: 'port-1', what: 'stage/verified', at: t2 },
  ])
})

test('stages on the node keep their times if another interface changes, and get new ones if the interface itself changes', () => {
  const times = (record: InventoryRecord | undefined) =>
    record?.interfaces?.map(({ stages }) => `${stages?.applied ?? 'none'} ${stages?.verified ?? 'none'}`)
  /** The record after these writes. */
  const afterAll = (...writes: InventoryWrite[]) =>
    writes.reduce<InventoryRecord | undefined>(
      (record, write) => planWrite(record, write, t2)?.after ?? record,
      undefined,
    )
  const write = (nics: number, mtu: number, at?: string, status: 'Configured' | 'Failed' = 'Configured') => {
    const request = aWrite('n', { nics, lastConfigHash: `${nics} ${mtu}` })
    const [first] = request.config.interfaces
    if (first) first.mtu = mtu
    const state = at === undefined ? { status: 'Pending' as const } : { status, stages: { applied: at, verified: at } }
    const states = request.config.interfaces.map(({ portId, macAddress }) => ({ portId, macAddress, ...state }))
    return { ...request, interfaces: states } as InventoryWrite
  }
  const one = [write(1, 1450), write(1, 1450, t1)]
  assert.deepEqual(times(afterAll(...one)), [`${t1} ${t1}`])
  assert.deepEqual(times(afterAll(...one, write(2, 1450))), [`${t1} ${t1}`, 'none none'])
  assert.deepEqual(times(afterAll(...one, write(2, 1450), write(2, 1450, t2))), [`${t1} ${t1}`, `${t2} ${t2}`])
  assert.deepEqual(times(afterAll(...one, write(1, 9000))), ['none none'])
  assert.deepEqual(times(afterAll(...one, write(1, 9000), write(1, 9000, t2))), [`${t2} ${t2}`])
  // A repair is no new request.
  assert.deepEqual(times(afterAll(...one, write(1, 1450, t1, 'Failed'), write(1, 1450, t2))), [`${t1} ${t1}`])
})

test('a state change is an event with its reason', () => {
  const before = after(aWrite('n', { interfaces: [{ ...status, status: 'InProgress' }] }))
  const failed = { ...status, status: 'Failed', reason: 'InterfaceNameInUse' } as const
  const change = planWrite(before, aWrite('n', { interfaces: [failed] }), t2)
  assert.deepEqual(
    change?.events.map(({ what, reason }) => [what, reason]),
    [['status/Failed', 'InterfaceNameInUse']],
  )
})

test('a delivery without states keeps the states of the remaining interfaces', () => {
  const two = aWrite('n', { nics: 2 })
  const macs = two.config.interfaces.map(({ macAddress }) => macAddress)
  const before = after({ ...two, interfaces: macs.map(macAddress => ({ macAddress, status: 'Configured' as const })) })
  const change = planWrite(before, aWrite('n', { nics: 1 }), t2)
  assert.deepEqual(
    change?.after?.interfaces?.map(({ macAddress }) => macAddress),
    macs.slice(0, 1),
  )
})

test('fields outside the contract are not stored', () => {
  const withSecrets = { ...configured, password: 's3cret', interfaces: [{ ...status, token: 's3cret' }] }
  const config = { ...configured.config, secret: 's3cret' }
  assert.doesNotMatch(JSON.stringify(planWrite(undefined, { ...withSecrets, config }, t1)), /s3cret/)
})
