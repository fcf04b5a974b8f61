import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aWrite } from '../../test/support/inventory.ts'
import type { InventoryRecord, InventoryWrite } from '../contract/inventory.ts'
import { planWrite } from './plan.ts'

const [t1, t2] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:01:00.000Z']
const status = { macAddress: '02:00:00:00:00:0A', portId: 'port-1', id: 0, name: 'multinic0' }

function after(write: InventoryWrite, before?: InventoryRecord): InventoryRecord {
  return planWrite(before, write, t1)?.after ?? assert.fail('nothing was planned')
}

const configured = aWrite('n', { state: 'Configured', reason: 'AllInterfacesConfigured' })
const known = after(configured)
const checked = after(aWrite('n', { interfaces: [{ ...status, status: 'Configured', lastChecked: t1 }] }))

const verified = after(
  aWrite('n', { interfaces: [{ ...status, status: 'Configured', stages: { applied: t1, verified: t1 } }] }),
)

const cases: Record<string, [before: InventoryRecord | undefined, write: InventoryWrite, says: string]> = {
  'a first write is a creation': [undefined, configured, 'created, told, delivered'],
  'the same again is nothing': [known, configured, 'nothing'],
  'the same for another reason is nothing': [known, { ...configured, why: 'another' }, 'nothing'],
  'the same in another spelling is nothing': [
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
  'another state is a change of status': [known, { ...configured, state: 'Failed' }, 'status, told'],
  'another config is a change of config, and delivered': [known, aWrite('n', { nics: 2 }), 'config, told, delivered'],
  'another VM under the name is a change of config': [known, { ...configured, instanceId: 'vm-2' }, 'config, told'],
  'a later check of the same is kept and not told': [
    checked,
    aWrite('n', { interfaces: [{ ...status, status: 'Configured', lastChecked: t2 }] }),
    'status',
  ],
  'a later time of verification of the same is nothing': [
    verified,
    aWrite('n', { interfaces: [{ ...status, status: 'Configured', stages: { applied: t1, verified: t2 } }] }),
    'nothing',
  ],
  'a removal ends the record': [known, { ...configured, removed: true }, 'removed, told'],
  'the removal of what is not there is nothing': [undefined, { ...configured, removed: true }, 'nothing'],
}

for (const [name, [before, write, says]] of Object.entries(cases)) {
  test(name, () => {
    const change = planWrite(before, write, t2)
    const words = change && [change.what, change.told && 'told', change.delivered && 'delivered']
    assert.equal(words ? words.filter(Boolean).join(', ') : 'nothing', says)
  })
}

test('a stage that was passed stays passed when a later write does not know of it', () => {
  const seen = after(aWrite('n', { interfaces: [{ ...status, stages: { seen: t1, delivered: t1 } }] }))
  const change = planWrite(seen, aWrite('n', { interfaces: [{ ...status, stages: { verified: t2 } }] }), t2)
  assert.deepEqual(change?.after?.interfaces?.[0]?.stages, { seen: t1, delivered: t1, verified: t2 })
  assert.deepEqual(change?.events, [{ mac: '02:00:00:00:00:0a', portId: 'port-1', what: 'stage/verified', at: t2 }])
})

test('times on the node stay when a sibling is changed, and move when the interface itself is', () => {
  const times = (record: InventoryRecord | undefined) =>
    record?.interfaces?.map(({ stages }) => `${stages?.applied ?? 'none'} ${stages?.verified ?? 'none'}`)
  /** All that was told, in turn: what each record becomes. */
  const story = (...writes: InventoryWrite[]) =>
    writes.reduce<InventoryRecord | undefined>(
      (record, write) => planWrite(record, write, t2)?.after ?? record,
      undefined,
    )
  const asked = (nics: number, mtu: number, at?: string, status: 'Configured' | 'Failed' = 'Configured') => {
    const write = aWrite('n', { nics, lastConfigHash: `${nics} ${mtu}` })
    const [first] = write.config.interfaces
    if (first) first.mtu = mtu
    const told = at === undefined ? { status: 'Pending' as const } : { status, stages: { applied: at, verified: at } }
    const states = write.config.interfaces.map(({ portId, macAddress }) => ({ portId, macAddress, ...told }))
    return { ...write, interfaces: states } as InventoryWrite
  }
  const one = [asked(1, 1450), asked(1, 1450, t1)]
  assert.deepEqual(times(story(...one)), [`${t1} ${t1}`])
  assert.deepEqual(times(story(...one, asked(2, 1450))), [`${t1} ${t1}`, 'none none'])
  assert.deepEqual(times(story(...one, asked(2, 1450), asked(2, 1450, t2))), [`${t1} ${t1}`, `${t2} ${t2}`])
  assert.deepEqual(times(story(...one, asked(1, 9000))), ['none none'])
  assert.deepEqual(times(story(...one, asked(1, 9000), asked(1, 9000, t2))), [`${t2} ${t2}`])
  assert.deepEqual(times(story(...one, asked(1, 1450, t1, 'Failed'), asked(1, 1450, t2))), [`${t2} ${t2}`])
})

test('a change of state is an event with its reason', () => {
  const before = after(aWrite('n', { interfaces: [{ ...status, status: 'InProgress' }] }))
  const failed = { ...status, status: 'Failed', reason: 'InterfaceNameInUse' } as const
  const change = planWrite(before, aWrite('n', { interfaces: [failed] }), t2)
  assert.deepEqual(
    change?.events.map(({ what, reason }) => [what, reason]),
    [['status/Failed', 'InterfaceNameInUse']],
  )
})

test('a delivery that says nothing of states leaves those of the interfaces that stay', () => {
  const two = aWrite('n', { nics: 2 })
  const macs = two.config.interfaces.map(({ macAddress }) => macAddress)
  const before = after({ ...two, interfaces: macs.map(macAddress => ({ macAddress, status: 'Configured' as const })) })
  const change = planWrite(before, aWrite('n', { nics: 1 }), t2)
  assert.deepEqual(
    change?.after?.interfaces?.map(({ macAddress }) => macAddress),
    macs.slice(0, 1),
  )
})

test('nothing beside the contract gets in', () => {
  const sly = { ...configured, password: 's3cret', interfaces: [{ ...status, token: 's3cret' }] }
  const config = { ...configured.config, secret: 's3cret' }
  assert.doesNotMatch(JSON.stringify(planWrite(undefined, { ...sly, config }, t1)), /s3cret/)
})
