import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { states } from '../../contract/node-config.ts'
import { type OpenstackConfigStatus, openstackConfigStatus } from '../../contract/openstack-config.ts'
import { needsAttention } from '../../contract/reasons/catalogue.ts'
import { type Findings, type SyncOutcome, stateOf } from '../record/sync-outcome.ts'
import { nextStatus } from './status.ts'

const now = new Date('2026-11-15T01:00:00Z')
const slowMs = 120_000
const later = (ms: number) => new Date(now.getTime() + ms)

const nothing: Findings = {
  verdicts: [],
  nodes: [],
  nodesReported: true,
  removalsOnHold: [],
  approveCommand: 'kubectl approve',
  resolvedNames: {},
  resolvedSubnets: {},
  reservedIndexes: [],
  refusedRemovals: [],
  events: undefined,
  target: { viola: 'https://viola', providerId: 'biz-1' },
  targetKnown: false,
}
const good: SyncOutcome = { generation: 2, changed: 0, findings: nothing, nextSyncMs: 20_000 }
const selected = { portId: 'p1', vm: 'vm-1', reason: 'Selected', message: 'multinic0', name: 'multinic0' } as const
const old = { portId: 'p2', vm: 'vm-1', reason: 'PortTooOld', message: 'too old' } as const

function after(outcome: Partial<SyncOutcome>, before?: OpenstackConfigStatus): OpenstackConfigStatus {
  const status = nextStatus(before, { ...good, ...outcome }, now, slowMs)
  assert.ok(status)
  openstackConfigStatus.parse(status)
  return status
}

function conditionText(status: OpenstackConfigStatus, type: string): string {
  const found = status.conditions?.find(one => one.type === type)
  return found ? `${found.status} ${found.reason}: ${found.message}` : 'absent'
}

const cases: Record<string, [given: Partial<SyncOutcome>, type: string, expected: string]> = {
  'Ready is Synced after a delivery': [{ changed: 2 }, 'Ready', 'True Synced: delivered 2 nodes'],
  'Ready is NoChange if nothing was sent': [
    { findings: { ...nothing, verdicts: [selected], nodes: [{ nodeName: 'w', state: 'Configured' }] } },
    'Ready',
    'True NoChange: 1 node up to date',
  ],
  'ignored ports are counted by reason': [
    { findings: { ...nothing, verdicts: [old] } },
    'Ready',
    'True NoChange: no port is selected; ignored: PortTooOld 1',
  ],
  'Ready shows the error': [
    { error: { reason: 'NeutronPortError', message: 'HTTP 500' }, findings: undefined },
    'Ready',
    'False NeutronPortError: HTTP 500',
  ],
  'texts of a cloud are shown without control characters and marks of the writing direction': [
    { error: { reason: 'NovaError', message: 'name \u202egnp.exe\u001b[2J\ud800' }, findings: undefined },
    'Ready',
    'False NovaError: name \\u202egnp.exe\\u001b[2J\\ud800',
  ],
  'Degraded shows the error': [
    { error: { reason: 'NeutronPortError', message: 'HTTP 500' } },
    'Degraded',
    'True NeutronPortError: HTTP 500',
  ],
  'a missing VM degrades the object, although the sync succeeds': [
    { findings: { ...nothing, verdicts: [{ vm: 'x', reason: 'VmNotFound', message: 'server x not found' }] } },
    'Degraded',
    'True VmNotFound: server x not found',
  ],
  'a successful sync is healthy': [{}, 'Degraded', 'False Healthy: the last sync had no errors'],
  'nodes are ready if all are configured': [
    { findings: { ...nothing, nodes: [{ nodeName: 'w', state: 'Configured' }] } },
    'NodesReady',
    'True Healthy: 1 of 1 node configured',
  ],
  'pending nodes are listed with their reason': [
    {
      findings: {
        ...nothing,
        nodes: [
          { nodeName: 'w1', state: 'Configured' },
          { nodeName: 'w2', state: 'InProgress', reason: 'Applying' },
        ],
      },
    },
    'NodesReady',
    'False NodesPending: 1 of 2 nodes configured; w2: Applying',
  ],
  'a failed node is listed with its message': [
    { findings: { ...nothing, nodes: [{ nodeName: 'w1', state: 'Failed', message: 'NicMissing' }] } },
    'NodesReady',
    'False NodesFailed: 0 of 1 node configured; w1: NicMissing',
  ],
  'NodesReady is Unknown if Viola does not report nodes': [
    { findings: { ...nothing, nodesReported: false } },
    'NodesReady',
    'Unknown NodesPending: this Viola does not report the state of nodes',
  ],
  'removals on hold are listed': [
    { findings: { ...nothing, removalsOnHold: ['w1 multinic0 (port p1)'] } },
    'RemovalHeld',
    'True RemovalHeld: 1 removal on hold until you approve with kubectl approve: w1 multinic0 (port p1)',
  ],
  'without removals on hold the condition is absent': [{}, 'RemovalHeld', 'absent'],
  'EventsConnected: the password cannot be decrypted': [
    {
      findings: {
        ...nothing,
        events: { state: 'misconfigured', message: 'rabbitMQPw of Contrabass: cannot decrypt it' },
      },
    },
    'EventsConnected',
    'False EventBusConfigError: rabbitMQPw of Contrabass: cannot decrypt it',
  ],
  'EventsConnected: connected': [
    { findings: { ...nothing, events: { state: 'connected', message: 'listening to neutron' } } },
    'EventsConnected',
    'True EventBusConnected: listening to neutron',
  ],
  'EventsConnected: connecting': [
    { findings: { ...nothing, events: { state: 'connecting', message: 'bus:5672' } } },
    'EventsConnected',
    'Unknown EventBusConnecting: bus:5672',
  ],
  'EventsConnected: unreachable': [
    { findings: { ...nothing, events: { state: 'unreachable', message: 'bus:5672: ECONNREFUSED' } } },
    'EventsConnected',
    'False EventBusUnreachable: bus:5672: ECONNREFUSED',
  ],
  'EventsConnected: no bus': [
    {},
    'EventsConnected',
    'Unknown EventBusNotConfigured: the operator listens to no message bus for this cloud; it polls',
  ],
  'a refused removal is pending': [
    { findings: { ...nothing, refusedRemovals: ['w1: HTTP 400'] } },
    'RemovalPending',
    'True RemovalPending: Viola refused the removal: w1: HTTP 400',
  ],
}
for (const [name, [given, type, expected]] of Object.entries(cases))
  test(name, () => assert.equal(conditionText(after(given), type), expected))

test('the time of the last event is written only together with the time of the last sync', () => {
  const withEvent = (lastEventAt: number) => ({
    ...good,
    findings: {
      ...nothing,
      events: { state: 'connected', message: 'listening', lastEventAt, lagMs: 12.4 },
    } as Findings,
  })
  const before = nextStatus({}, withEvent(1_000), later(0), slowMs)
  assert.deepEqual(before?.events, { lastEventAt: '1970-01-01T00:00:01.000Z', lagMs: 12 })
  assert.equal(nextStatus(before, withEvent(2_000), later(1), slowMs), undefined)
  const moved = nextStatus(before, withEvent(2_000), later(slowMs), slowMs)
  assert.equal(moved?.events?.lastEventAt, '1970-01-01T00:00:02.000Z')
})

test('experience M2: ports outside the selection are neither counted nor listed', () => {
  const primary = { portId: 'p0', vm: 'vm-1', reason: 'PrimaryPort', message: 'primary' } as const
  const other = { portId: 'p9', vm: 'vm-1', reason: 'NotSelected', message: 'elsewhere' } as const
  const status = after({ findings: { ...nothing, verdicts: [primary, other, selected] } })
  assert.deepEqual(status.ports, { total: 1, selected: 1, summary: '1/1' })
  assert.equal(conditionText(status, 'Ready'), 'True NoChange: no port is selected')
})

test('ports and nodes are counted', () => {
  const { nodes, ports } = after({
    findings: { ...nothing, verdicts: [selected, old, old], nodes: [{ nodeName: 'w', state: 'InProgress' }] },
  })
  assert.deepEqual(nodes, { total: 1, configured: 0, failed: 0, pending: 1, ready: '0/1' })
  const first = Array(2).fill('port p2 of vm-1: PortTooOld, too old')
  assert.deepEqual(ports, { total: 3, selected: 1, skipped: { PortTooOld: 2 }, first, summary: '1/3' })
})

test('ignored ports and VMs are listed with the name and the ID of the VM', () => {
  const named = { ...old, vmName: 'worker-1' }
  const unusable = {
    vm: 'vm-2',
    vmName: `bad${'-'.repeat(252)}`,
    reason: 'VmNameInvalid',
    message: 'too long',
  } as const
  const verdicts = [named, unusable, { vm: 'x', vmName: 'x', reason: 'VmNotFound', message: 'not found' } as const]
  assert.deepEqual(after({ findings: { ...nothing, verdicts } }).ports?.first, [
    'port p2 of worker-1 (vm-1): PortTooOld, too old',
    `bad${'-'.repeat(59)}… (vm-2): VmNameInvalid, too long`,
    'x: VmNotFound, not found',
  ])
})

test('the first ten ignored ports are listed, each truncated', () => {
  const verdicts = Array.from({ length: 1_000 }, (_, n) => ({ ...old, portId: `p${n}`, message: 'x'.repeat(500) }))
  const { ports } = after({ findings: { ...nothing, verdicts } })
  assert.deepEqual([ports?.first?.length, ports?.first?.[0]?.length, ports?.total], [10, 300, 1_000])
})

test('an error keeps earlier findings and the time of the last successful sync', () => {
  const before = after({ findings: { ...nothing, verdicts: [selected] } })
  const status = nextStatus(
    before,
    { ...good, findings: undefined, error: { reason: 'KeystoneError', message: 'HTTP 401' } },
    later(1),
    slowMs,
  )
  assert.deepEqual([status?.ports, status?.lastSyncedAt], [before.ports, before.lastSyncedAt])
  assert.equal(status?.lastError, 'KeystoneError: HTTP 401')
  assert.equal(conditionText(status ?? {}, 'NodesReady'), conditionText(before, 'NodesReady'))
})

test('the next successful sync clears the error', () => {
  const before = after({ error: { reason: 'KeystoneError', message: 'HTTP 401' }, findings: undefined })
  const status = nextStatus(before, good, later(1), slowMs)
  assert.equal(status?.lastError, undefined)
  assert.equal(conditionText(status ?? {}, 'Ready'), 'True NoChange: no port is selected')
})

test('a long error text is truncated', () => {
  const { lastError, conditions } = after({ error: { reason: 'ViolaPostError', message: 'x'.repeat(1_000_000) } })
  assert.equal(lastError?.length, 4_096)
  assert.ok(conditions?.every(({ message = '' }) => message.length <= 2_048))
})

test('a condition keeps its transition time as long as its status', () => {
  const before = after({ changed: 1 })
  const status = nextStatus(before, { ...good, changed: 1 }, later(5_000), slowMs)
  assert.equal(status?.conditions?.[0]?.lastTransitionTime, `${now.toISOString().slice(0, 19)}Z`)
})

test('approved removals are no longer on hold', () => {
  const before = after({ findings: { ...nothing, removalsOnHold: ['w1 multinic0 (port p1)'] } })
  const status = nextStatus(before, { ...good, findings: { ...nothing, approval: 'yes' } }, later(1), slowMs)
  assert.equal(conditionText(status ?? {}, 'RemovalHeld'), 'False Healthy: no removal is pending')
  assert.deepEqual([status?.heldRemovals, status?.approvedRemovals], [undefined, 'yes'])
})

const writes: Record<
  string,
  [given: Partial<SyncOutcome>, before: Partial<SyncOutcome>, afterMs: number, written: boolean]
> = {
  'a second sync without changes writes nothing': [{}, {}, 1_000, false],
  'Synced and NoChange count as equal': [{}, { changed: 1 }, 1_000, false],
  'after a slow interval the time of the last sync is written': [{}, {}, slowMs, true],
  'a new generation is written at once': [{ generation: 3 }, {}, 1_000, true],
  'a changed count is written at once': [{ findings: { ...nothing, verdicts: [old] } }, {}, 1_000, true],
  'an error is written at once': [{ error: { reason: 'NovaError', message: 'x' } }, {}, 1_000, true],
  'the same error is not written again': [
    { error: { reason: 'NovaError', message: 'x' } },
    { error: { reason: 'NovaError', message: 'x' } },
    30_000,
    false,
  ],
}
for (const [name, [given, before, afterMs, written]] of Object.entries(writes))
  test(name, () => {
    const status = nextStatus(after(before), { ...good, ...given }, later(afterMs), slowMs)
    assert.equal(status !== undefined, written)
  })

test('the state of a node applies only to the generation that it was reported for', () => {
  const node = { nodeName: 'w', specHash: 'h', generation: 2, interfaces: [] }
  assert.equal(stateOf(node).state, 'Pending')
  assert.equal(stateOf({ ...node, status: { state: 'Configured', observedGeneration: 1 } }).state, 'Pending')
  assert.equal(stateOf({ ...node, status: { state: 'Configured', observedGeneration: 2 } }).state, 'Configured')
})

const one = { nodeName: 'w', state: 'Configured' } as const
const here: Findings = { ...nothing, nodes: [one], targetKnown: true }
const there = { viola: 'https://viola', providerId: 'biz-2' }

test('nodes of the previous target are reported until the object points back', () => {
  const first = after({ findings: here })
  assert.deepEqual(first.deliveredTo, here.target)
  const moved = after({ findings: { ...here, target: there, targetKnown: false } }, first)
  assert.deepEqual(moved.orphanedNodes, [{ ...here.target, nodes: 1 }])
  assert.equal(
    conditionText(moved, 'RemovalPending'),
    'True NodesOrphaned: the target of the object changed: 1 node keeps its configuration at the previous target: provider biz-1 at https://viola',
  )
  assert.equal(nextStatus(moved, { ...good, findings: { ...here, target: there } }, now, slowMs), undefined)
  const back = after({ findings: here }, moved)
  assert.deepEqual(back.orphanedNodes, [{ ...there, nodes: 1 }])
})

test('nodes of the previous target are no longer reported after confirmation', () => {
  const moved = after({ findings: { ...here, target: there, targetKnown: false } }, after({ findings: here }))
  const known = after({ findings: { ...here, target: there, approval: 'confirmed' } }, moved)
  assert.equal(known.orphanedNodes, undefined)
  assert.equal(conditionText(known, 'RemovalPending'), 'False Healthy: no removal is pending')
})

test('the same Viola under a new address is not a previous target', () => {
  const renamed = { viola: 'https://viola.new', providerId: 'biz-1' }
  const status = after({ findings: { ...here, target: renamed } }, after({ findings: here }))
  assert.deepEqual([status.deliveredTo, status.orphanedNodes], [renamed, undefined])
})

test('an object without nodes has no previous target, and an error keeps the target', () => {
  assert.equal(after({ findings: { ...here, target: there } }, after({})).orphanedNodes, undefined)
  const error = { reason: 'ViolaPostError', message: 'unreachable' } as const
  assert.deepEqual(after({ error, findings: undefined }, after({ findings: here })).deliveredTo, here.target)
})

test('operator 2, 9: Ready and Degraded never contradict each other or another condition', () => {
  const reason = fc.constantFrom('Selected', 'VmNotFound', 'NotSelected', 'LimitReached' as const)
  const texts = fc.array(fc.constantFrom('a', 'b'), { maxLength: 2 })
  const outcome = fc.record({
    error: fc.option(fc.constant({ reason: 'ViolaPostError' as const, message: 'conflict' }), { nil: undefined }),
    verdicts: fc.array(
      reason.map(one => ({ vm: 'x', reason: one, message: one })),
      { maxLength: 2 },
    ),
    nodes: fc.array(
      fc.constantFrom(...states).map(state => ({ nodeName: 'w', state })),
      { maxLength: 2 },
    ),
    removalsOnHold: texts,
    refusedRemovals: texts,
  })
  fc.assert(
    fc.property(fc.array(outcome, { minLength: 1, maxLength: 3 }), outcomes => {
      let status: OpenstackConfigStatus | undefined
      for (const { error, ...more } of outcomes)
        status = nextStatus(status, { ...good, error, findings: { ...nothing, ...more } }, now, 0) ?? status
      const of = (type: string) => status?.conditions?.find(one => one.type === type)
      const bad = status?.conditions?.filter(
        one => one.type !== 'Degraded' && one.status !== 'Unknown' && needsAttention(one.reason ?? ''),
      )
      if (of('Degraded')?.status === 'True') return
      assert.deepEqual([of('Ready')?.status, bad], ['True', []])
    }),
  )
})

test('experience Low: the times of conditions have no fractions of a second', () => {
  const after = nextStatus({}, good, new Date('2026-01-01T10:00:00.123Z'), 60_000)
  assert.deepEqual([...new Set(after?.conditions?.map(one => one.lastTransitionTime))], ['2026-01-01T10:00:00Z'])
})

test('experience M1: an object without ports of its own says where the ports of its VMs are, and counts none', () => {
  const other = { portId: 'p1', vm: 'vm-1', reason: 'SelectedByOther', message: 'multinic0 of ns/main' } as const
  const status = nextStatus({}, { ...good, findings: { ...nothing, verdicts: [other] } }, now, slowMs)
  assert.deepEqual([status?.nodes?.ready, status?.ports?.summary], ['0/0', '0/0'])
  assert.equal(
    conditionText(status ?? {}, 'Ready'),
    'True NoChange: no port is selected; other OpenstackConfigs have 1 port of these VMs',
  )
})
