import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type OpenstackConfigStatus, openstackConfigStatus } from '../contract/openstack-config.ts'
import { type Findings, nextStatus, type Outcome, stateOf } from './status.ts'

const now = new Date('2026-11-15T01:00:00Z')
const slowMs = 120_000
const later = (ms: number) => new Date(now.getTime() + ms)

const nothing: Findings = {
  verdicts: [],
  nodes: [],
  nodesTold: true,
  heldRemovals: [],
  refusedRemovals: [],
  events: undefined,
  place: { viola: 'https://viola', providerId: 'biz-1' },
  placeKnown: false,
}
const good: Outcome = { generation: 2, changed: 0, findings: nothing, nextSyncMs: 20_000 }
const taken = { portId: 'p1', vm: 'vm-1', reason: 'Selected', message: 'multinic0', name: 'multinic0' } as const
const old = { portId: 'p2', vm: 'vm-1', reason: 'BeforeBaseline', message: 'too old' } as const

function after(outcome: Partial<Outcome>, before?: OpenstackConfigStatus): OpenstackConfigStatus {
  const status = nextStatus(before, { ...good, ...outcome }, now, slowMs)
  assert.ok(status)
  openstackConfigStatus.parse(status)
  return status
}

function said(status: OpenstackConfigStatus, type: string): string {
  const found = status.conditions?.find(one => one.type === type)
  return found ? `${found.status} ${found.reason}: ${found.message}` : 'absent'
}

const cases: Record<string, [given: Partial<Outcome>, type: string, expected: string]> = {
  'a delivery is Synced': [{ changed: 2 }, 'Ready', 'True Synced: delivered 2 nodes'],
  'nothing to do is NoChange': [
    { findings: { ...nothing, verdicts: [taken], nodes: [{ nodeName: 'w', state: 'Configured' }] } },
    'Ready',
    'True NoChange: 1 node as delivered',
  ],
  'nothing found is said, with why': [
    { findings: { ...nothing, verdicts: [old] } },
    'Ready',
    'True NoChange: no port is taken; not taken: BeforeBaseline 1',
  ],
  'an error is the reason of Ready': [
    { error: { reason: 'NeutronPortError', message: 'HTTP 500' }, findings: undefined },
    'Ready',
    'False NeutronPortError: HTTP 500',
  ],
  'and of Degraded': [
    { error: { reason: 'NeutronPortError', message: 'HTTP 500' } },
    'Degraded',
    'True NeutronPortError: HTTP 500',
  ],
  'a VM that is gone degrades, the sync is good': [
    { findings: { ...nothing, verdicts: [{ vm: 'x', reason: 'VmNotFound', message: 'Nova knows no server x' }] } },
    'Degraded',
    'True VmNotFound: Nova knows no server x',
  ],
  'a good sync is healthy': [{}, 'Degraded', 'False Healthy: the last sync had no error'],
  'nodes that are all configured are ready': [
    { findings: { ...nothing, nodes: [{ nodeName: 'w', state: 'Configured' }] } },
    'NodesReady',
    'True Healthy: 1 of 1 node configured',
  ],
  'nodes at work are pending, each with its reason': [
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
  'a failed node is told in the words of the node': [
    { findings: { ...nothing, nodes: [{ nodeName: 'w1', state: 'Failed', message: 'NicMissing' }] } },
    'NodesReady',
    'False NodesFailed: 0 of 1 node configured; w1: NicMissing',
  ],
  'a Viola that tells nothing of nodes leaves it open': [
    { findings: { ...nothing, nodesTold: false } },
    'NodesReady',
    'Unknown NodesPending: this Viola does not tell the state of nodes',
  ],
  'held removals are named': [
    { findings: { ...nothing, heldRemovals: ['w1 multinic0 (port p1)'] } },
    'RemovalHeld',
    'True RemovalHeld: many ports vanished at once, so nothing was removed: w1 multinic0 (port p1)',
  ],
  'without held removals there is no such condition': [{}, 'RemovalHeld', 'absent'],
  'a bus whose password does not open is told': [
    { findings: { ...nothing, events: { is: 'unusable', message: 'rabbitMQPw of Contrabass does not open' } } },
    'EventsConnected',
    'False EventBusConfigError: rabbitMQPw of Contrabass does not open',
  ],
  'a bus that is listened to is told': [
    { findings: { ...nothing, events: { is: 'connected', message: 'listening to neutron' } } },
    'EventsConnected',
    'True EventBusConnected: listening to neutron',
  ],
  'a bus that is being connected to is told': [
    { findings: { ...nothing, events: { is: 'connecting', message: 'bus:5672' } } },
    'EventsConnected',
    'Unknown EventBusConnecting: bus:5672',
  ],
  'a bus that is away is told': [
    { findings: { ...nothing, events: { is: 'away', message: 'bus:5672: ECONNREFUSED' } } },
    'EventsConnected',
    'False EventBusUnreachable: bus:5672: ECONNREFUSED',
  ],
  'without a bus there is no such condition': [{}, 'EventsConnected', 'absent'],
  'a refused removal waits': [
    { findings: { ...nothing, refusedRemovals: ['w1: HTTP 400'] } },
    'RemovalPending',
    'True RemovalPending: Viola refused to take away: w1: HTTP 400',
  ],
}
for (const [name, [given, type, expected]] of Object.entries(cases))
  test(name, () => assert.equal(said(after(given), type), expected))

test('a bus that is no longer known is told as off', () => {
  const before = after({ findings: { ...nothing, events: { is: 'connected', message: 'listening' } } })
  assert.equal(
    said(after({}, before), 'EventsConnected'),
    'Unknown EventBusNotConfigured: no message bus is known for this cloud',
  )
})

test('the time of the last event moves with the time of the last sync, and alone writes nothing', () => {
  const heard = (lastEventAt: number) => ({
    ...good,
    findings: { ...nothing, events: { is: 'connected', message: 'listening', lastEventAt, lagMs: 12.4 } } as Findings,
  })
  const before = nextStatus({}, heard(1_000), later(0), slowMs)
  assert.deepEqual(before?.events, { lastEventAt: '1970-01-01T00:00:01.000Z', lagMs: 12 })
  assert.equal(nextStatus(before, heard(2_000), later(1), slowMs), undefined)
  const moved = nextStatus(before, heard(2_000), later(slowMs), slowMs)
  assert.equal(moved?.events?.lastEventAt, '1970-01-01T00:00:02.000Z')
})

test('ports and nodes are counted', () => {
  const { nodes, ports } = after({
    findings: { ...nothing, verdicts: [taken, old, old], nodes: [{ nodeName: 'w', state: 'InProgress' }] },
  })
  assert.deepEqual(nodes, { total: 1, configured: 0, failed: 0, pending: 1, ready: '0/1' })
  const first = Array(2).fill('port p2 of vm-1: BeforeBaseline, too old')
  assert.deepEqual(ports, { total: 3, taken: 1, skipped: { BeforeBaseline: 2 }, first, summary: '1/3' })
})

test('of very many that were not taken the first are told, and each fits', () => {
  const verdicts = Array.from({ length: 1_000 }, (_, n) => ({ ...old, portId: `p${n}`, message: 'x'.repeat(500) }))
  const { ports } = after({ findings: { ...nothing, verdicts } })
  assert.deepEqual([ports?.first?.length, ports?.first?.[0]?.length, ports?.total], [10, 300, 1_000])
})

test('an error keeps what earlier syncs found, and the time of the last good one', () => {
  const before = after({ findings: { ...nothing, verdicts: [taken] } })
  const status = nextStatus(
    before,
    { ...good, findings: undefined, error: { reason: 'KeystoneError', message: 'HTTP 401' } },
    later(1),
    slowMs,
  )
  assert.deepEqual([status?.ports, status?.lastSyncedAt], [before.ports, before.lastSyncedAt])
  assert.equal(status?.lastError, 'KeystoneError: HTTP 401')
  assert.equal(said(status ?? {}, 'NodesReady'), said(before, 'NodesReady'))
})

test('the next good sync ends the error', () => {
  const before = after({ error: { reason: 'KeystoneError', message: 'HTTP 401' }, findings: undefined })
  const status = nextStatus(before, good, later(1), slowMs)
  assert.equal(status?.lastError, undefined)
  assert.equal(said(status ?? {}, 'Ready'), 'True NoChange: no port is taken')
})

test('an error text of any length fits', () => {
  const { lastError, conditions } = after({ error: { reason: 'ViolaPostError', message: 'x'.repeat(1_000_000) } })
  assert.equal(lastError?.length, 4_096)
  assert.ok(conditions?.every(({ message = '' }) => message.length <= 2_048))
})

test('a condition keeps its time as long as its status stays', () => {
  const before = after({ changed: 1 })
  const status = nextStatus(before, { ...good, changed: 1 }, later(5_000), slowMs)
  assert.equal(status?.conditions?.[0]?.lastTransitionTime, now.toISOString())
})

test('held removals that were let go are no longer held', () => {
  const before = after({ findings: { ...nothing, heldRemovals: ['w1 multinic0 (port p1)'] } })
  const status = nextStatus(before, { ...good, findings: { ...nothing, released: 'yes' } }, later(1), slowMs)
  assert.equal(said(status ?? {}, 'RemovalHeld'), 'False Healthy: no removal waits')
  assert.deepEqual([status?.heldRemovals, status?.releasedRemovals], [undefined, 'yes'])
})

const writes: Record<string, [given: Partial<Outcome>, before: Partial<Outcome>, afterMs: number, written: boolean]> = {
  'a second sync with nothing new writes nothing': [{}, {}, 1_000, false],
  'Synced and NoChange tell the same': [{}, { changed: 1 }, 1_000, false],
  'after a slow interval the time of the last sync moves': [{}, {}, slowMs, true],
  'a new generation is written at once': [{ generation: 3 }, {}, 1_000, true],
  'a changed count is written at once': [{ findings: { ...nothing, verdicts: [old] } }, {}, 1_000, true],
  'an error is written at once': [{ error: { reason: 'NovaError', message: 'x' } }, {}, 1_000, true],
  'the same error again is not': [
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

test('the state of a node counts only for the generation that it was reported for', () => {
  const node = { nodeName: 'w', specHash: 'h', generation: 2, interfaces: [] }
  assert.equal(stateOf(node).state, 'Pending')
  assert.equal(stateOf({ ...node, status: { state: 'Configured', observedGeneration: 1 } }).state, 'Pending')
  assert.equal(stateOf({ ...node, status: { state: 'Configured', observedGeneration: 2 } }).state, 'Configured')
})

const one = { nodeName: 'w', state: 'Configured' } as const
const here: Findings = { ...nothing, nodes: [one], placeKnown: true }
const there = { viola: 'https://viola', providerId: 'biz-2' }

test('what stays at the place before is told until the object points back', () => {
  const first = after({ findings: here })
  assert.deepEqual(first.deliveredTo, here.place)
  const moved = after({ findings: { ...here, place: there, placeKnown: false } }, first)
  assert.deepEqual(moved.leftBehind, [{ ...here.place, nodes: 1 }])
  assert.equal(
    said(moved, 'RemovalPending'),
    'True NodesOrphaned: the object delivers elsewhere now: 1 node of provider biz-1 behind https://viola stay as they were delivered',
  )
  assert.equal(nextStatus(moved, { ...good, findings: { ...here, place: there } }, now, slowMs), undefined)
  const back = after({ findings: here }, moved)
  assert.deepEqual(back.leftBehind, [{ ...there, nodes: 1 }])
})

test('what stays at the place before is no longer told when a person knows', () => {
  const moved = after({ findings: { ...here, place: there, placeKnown: false } }, after({ findings: here }))
  const known = after({ findings: { ...here, place: there, released: 'I know' } }, moved)
  assert.equal(known.leftBehind, undefined)
  assert.equal(said(known, 'RemovalPending'), 'False Healthy: no removal waits')
})

test('the same Viola under a new address leaves nothing behind', () => {
  const renamed = { viola: 'https://viola.new', providerId: 'biz-1' }
  const status = after({ findings: { ...here, place: renamed } }, after({ findings: here }))
  assert.deepEqual([status.deliveredTo, status.leftBehind], [renamed, undefined])
})

test('an object that has delivered nothing leaves nothing behind, and an error forgets no place', () => {
  assert.equal(after({ findings: { ...here, place: there } }, after({})).leftBehind, undefined)
  const error = { reason: 'ViolaPostError', message: 'away' } as const
  assert.deepEqual(after({ error, findings: undefined }, after({ findings: here })).deliveredTo, here.place)
})
