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

/** The config of node n, whose network has this name. */
function withNetwork(networkName: string): InventoryWrite['config'] {
  const { config } = aWrite('n')
  return { ...config, interfaces: config.interfaces.map(nic => ({ ...nic, networkName })) }
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
  'the first write creates the record': [undefined, configured, 'created, in history, delivered, searchable'],
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
    'config, in history, delivered, searchable',
  ],
  'another VM with the same node name is a config change': [
    known,
    { ...configured, instanceId: 'vm-2' },
    'config, in history, searchable',
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
  'another name alone is stored, found by a search, and is no history entry': [
    known,
    { ...configured, providerName: 'Seoul', instanceName: 'web-1', config: withNetwork('front') },
    'status, searchable',
  ],
  'another name together with another state is a history entry': [
    known,
    { ...configured, instanceName: 'web-1', state: 'Failed' },
    'status, in history, searchable',
  ],
  'the name of a network in the request alone is no history entry': [
    after({ ...configured, config: { ...configured.config, requested: withNetwork('back').interfaces } }),
    { ...configured, config: { ...configured.config, requested: withNetwork('front').interfaces } },
    'status, searchable',
  ],
  'another request behind the same interfaces is a config change': [
    known,
    { ...configured, config: { ...configured.config, requested: [] } },
    'config, in history, searchable',
  ],
  'another MTU together with another name is a config change': [
    known,
    {
      ...configured,
      config: { ...configured.config, interfaces: withNetwork('x').interfaces.map(nic => ({ ...nic, mtu: 9000 })) },
    },
    'config, in history, searchable',
  ],
  'the place in a rollout of the agent is no history entry': [
    known,
    { ...configured, agentRollout: { request: 'r1', state: 'Waiting' } },
    'status',
  ],
  'another hash of the same config is a delivery': [
    known,
    { ...configured, lastConfigHash: 'other' },
    'config, in history, delivered, searchable',
  ],
  'a node that is configured after a failure is a history entry': [
    failed,
    aWrite('n', { state: 'Configured', interfaces: [{ ...status, status: 'Configured' }] }),
    'status, in history',
  ],
  'another config of a failed node is a history entry': [
    failed,
    aWrite('n', { nics: 2, state: 'InProgress', interfaces: [failedNic] }),
    'config, in history, delivered, searchable',
  ],
  'a removal deletes the record': [known, { ...configured, removed: true }, 'removed, in history, searchable'],
  'the removal of an unknown node changes nothing': [undefined, { ...configured, removed: true }, 'nothing'],
}

for (const [name, [before, write, expected]] of Object.entries(cases)) {
  test(name, () => {
    const change = planWrite(before, write, t2)
    const { what, inHistory, delivered, searchable } = change ?? {}
    const parts = change && [what, inHistory && 'in history', delivered && 'delivered', searchable && 'searchable']
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

test('stages on the node keep their times if another object takes the interface over, and not if it was not requested', () => {
  const write = (nics: number, at: string, source: string): InventoryWrite => {
    const { config, ...rest } = aWrite('n', { nics, state: at === t1 ? 'InProgress' : 'Configured' })
    const states = aWrite('n', { nics: 2 }).config.interfaces.map(({ portId }) => ({ portId, stages: { applied: at } }))
    const interfaces = config.interfaces.map(nic => ({ ...nic, source }))
    return { ...rest, config: { ...config, interfaces }, interfaces: states } as InventoryWrite
  }
  const applied = (record: InventoryRecord | undefined) => record?.interfaces?.map(({ stages }) => stages?.applied)
  const before = after(write(1, t1, 'ns/a'))
  assert.deepEqual(applied(planWrite(before, write(1, t2, 'ns/b'), t2)?.after), [t1, t1])
  assert.deepEqual(applied(planWrite(before, write(2, t2, 'ns/a'), t2)?.after), [t1, t2])
})

test('interfaces without a port are known by their MAC addresses', () => {
  const write = (...stages: object[]): InventoryWrite => {
    const { config, ...rest } = aWrite('n', { nics: 2 })
    const interfaces = config.interfaces.map(({ portId: _, ...nic }) => nic)
    const states = interfaces.map(({ macAddress }, n) => ({ macAddress: macAddress.toUpperCase(), stages: stages[n] }))
    return { ...rest, config: { ...config, interfaces }, interfaces: states } as InventoryWrite
  }
  const change = planWrite(after(write({ seen: t1 }, {})), write({}, { seen: t2 }), t2)
  assert.deepEqual(
    change?.after?.interfaces?.map(({ stages }) => stages),
    [{ seen: t1 }, { seen: t2 }],
  )
})

test('a state change is an event with its reason and its time', () => {
  const before = after(aWrite('n', { interfaces: [{ ...status, status: 'InProgress' }] }))
  const eventsAfter = (...interfaces: NonNullable<InventoryWrite['interfaces']>) =>
    planWrite(before, aWrite('n', { state: 'Failed', interfaces }), t2)?.events
  const of = { macAddress: '02:00:00:00:00:0a', portId: 'port-1', at: t2 }
  assert.deepEqual(eventsAfter({ ...status, status: 'Failed', reason: 'InterfaceNameInUse' }), [
    { ...of, what: 'status/Failed', reason: 'InterfaceNameInUse' },
  ])
  assert.deepEqual(eventsAfter({ ...status, status: 'Configured' }), [{ ...of, what: 'status/Configured' }])
  assert.deepEqual(eventsAfter({ ...status, status: 'InProgress', reason: 'Applying' }), [
    { ...of, what: 'status/InProgress', reason: 'Applying' },
  ])
  assert.deepEqual(eventsAfter({ ...status, status: 'InProgress' }), [])
  assert.deepEqual(eventsAfter(status), [], 'no state is no change of it')
  assert.deepEqual(eventsAfter({ status: 'Pending' }), [{ macAddress: '', what: 'status/Pending', at: t2 }])
})

test('the first write has the stages and states of its interfaces as events', () => {
  const interfaces = [{ ...status, status: 'Configured' as const, stages: { seen: t1, verified: t2 } }]
  const change = planWrite(undefined, aWrite('n', { interfaces }), t2)
  const of = { macAddress: '02:00:00:00:00:0a', portId: 'port-1' }
  assert.deepEqual(change?.events, [
    { ...of, what: 'stage/seen', at: t1 },
    { ...of, what: 'stage/verified', at: t2 },
    { ...of, what: 'status/Configured', at: t2 },
  ])
  assert.deepEqual(planWrite(undefined, configured, t2)?.events, [])
  assert.deepEqual(planWrite(known, { ...configured, removed: true }, t2)?.events, [])
})

test('a node that fails again as the history has it is no history entry', () => {
  const retried = after(aWrite('n', { state: 'InProgress', interfaces: [failedNic] }), failed)
  const again = aWrite('n', { state: 'Failed', reason: 'InterfacesFailed', interfaces: [failedNic] })
  assert.equal(planWrite(retried, again, t2, failed)?.inHistory, false)
  assert.equal(planWrite(retried, again, t2)?.inHistory, true)
})

test('a change has the record before and after it', () => {
  const write = { ...configured, state: 'Failed' as const }
  const { before, after: now } = planWrite(known, write, t2) ?? {}
  assert.equal(before, known)
  assert.deepEqual([now?.state, now?.updatedAt], ['Failed', t2])
  assert.equal(planWrite(known, { ...configured, removed: true }, t2)?.before, known)
})

test('all fields of a write are stored', () => {
  const nic = {
    ...{ ...status, status: 'Failed' as const, reason: 'NicMissing', message: 'no NIC', lastConfigured: t1 },
    ...{ lastChecked: t2, checkIntervalSeconds: 60, specHash: 'abc', observed: { mtu: 1450 } },
    pending: { reason: 'Waiting', message: 'for the NIC' },
  }
  const write = aWrite('n', {
    ...{ providerName: 'Seoul', instanceName: 'web-1', state: 'Failed', reason: 'InterfacesFailed', message: 'no NIC' },
    ...{ agentRollout: { request: 'r1', state: 'Updated' }, interfaces: [nic] },
  })
  const { why: _, ...stored } = write
  assert.deepEqual(after(write), {
    ...stored,
    updatedAt: t1,
    interfaces: [{ ...nic, macAddress: '02:00:00:00:00:0a' }],
  })
})

test('fields without a value are not stored', () => {
  const write = aWrite('n', { providerName: '', instanceId: '', instanceName: '', reason: '', message: '' })
  const { providerId, nodeName, instanceId, lastConfigHash } = write
  const config = { nodeName: 'n', interfaces: [] }
  assert.deepEqual(after({ ...write, config }), {
    ...{ providerId, nodeName, instanceId, lastConfigHash, config, updatedAt: t1 },
  })
})

test('the VM of a write is also the VM of its config', () => {
  const { config, ...write } = aWrite('n')
  assert.equal(after({ ...write, config: { ...config, instanceId: undefined } }).config.instanceId, 'vm-n')
  assert.equal(after({ ...write, config: { ...config, instanceId: 'vm-2' } }).config.instanceId, 'vm-2')
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
