/** What a sync writes into the fields of the status, what an error keeps, and when an unchanged status is written again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type OpenstackConfigStatus, openstackConfigStatus } from '../../contract/openstack-config.ts'
import type { Findings, SyncOutcome } from '../record/sync-outcome.ts'
import { nextStatus } from '../status/status.ts'

const now = new Date('2026-11-15T01:00:00.500Z')
const later = (ms: number) => new Date(now.getTime() + ms)
const slowMs = 120_000

const reserved = { vmId: 'vm-1', portId: 'p3', index: 2, until: '2026-11-15T01:10:00.500Z' }
const findings: Findings = {
  verdicts: [
    { portId: 'p1', vm: 'vm-1', reason: 'Selected', message: 'multinic0', name: 'multinic0' },
    { portId: 'p2', vm: 'vm-1', reason: 'PortTooOld', message: 'too old' },
    { vm: 'vm-2', reason: 'VmNotFound', message: 'server vm-2 not found' },
  ],
  nodes: [
    { nodeName: 'w1', state: 'Configured' },
    { nodeName: 'w2', state: 'Failed' },
    { nodeName: 'w3', state: 'Pending' },
    { nodeName: 'w4', state: 'InProgress' },
    { nodeName: 'w5', state: 'Configured' },
  ],
  nodesReported: true,
  removalsOnHold: ['w1 multinic0 (port p1)'],
  approveCommand: 'kubectl approve',
  resolvedNames: { web: 'vm-1' },
  resolvedSubnets: { storage: 'subnet-1' },
  reservedIndexes: [reserved],
  refusedRemovals: [],
  events: { state: 'connected', message: 'listening', lastEventAt: 1_000, lagMs: 2 },
  target: { viola: 'https://viola', providerId: 'biz-1' },
  targetKnown: true,
  approval: 'yes',
  renumber: { request: 'r1', state: 'Done', total: 1, done: 1 },
}
const downPortRetry = { hash: 'h', fastAttempts: 1 }
const good: SyncOutcome = { generation: 2, changed: 1, findings, downPortRetry, nextSyncMs: 20_000 }
const empty: Findings = {
  ...findings,
  ...{ verdicts: [], nodes: [], removalsOnHold: [], resolvedNames: {}, resolvedSubnets: {} },
  ...{ reservedIndexes: [], events: undefined },
}
delete empty.renumber
delete empty.approval
const error = { reason: 'NovaError', message: 'HTTP 500' } as const
const failing: SyncOutcome = { generation: 3, changed: 0, error, nextSyncMs: 5_000 }

function after(outcome: SyncOutcome, before?: OpenstackConfigStatus, at = now): OpenstackConfigStatus {
  return openstackConfigStatus.parse(nextStatus(before, outcome, at, slowMs) ?? assert.fail('not written'))
}

const { conditions: _, ...fields } = after(good)
const found = {
  downPortRetry,
  events: { lastEventAt: '1970-01-01T00:00:01.000Z', lagMs: 2 },
  nodes: { total: 5, configured: 2, failed: 1, pending: 2, ready: '2/5' },
  ports: {
    ...{ total: 2, selected: 1, skipped: { PortTooOld: 1 }, summary: '1/2' },
    first: ['port p2 of vm-1: PortTooOld, too old', 'vm-2: VmNotFound, server vm-2 not found'],
  },
  heldRemovals: ['w1 multinic0 (port p1)'],
  resolvedNames: { web: 'vm-1' },
  resolvedSubnets: { storage: 'subnet-1' },
  reservedIndexes: [reserved],
  renumber: { request: 'r1', state: 'Done', total: 1, done: 1 },
  approvedRemovals: 'yes',
  deliveredTo: { viola: 'https://viola', providerId: 'biz-1' },
}

test('the status has everything that a sync found', () => {
  assert.deepEqual(fields, {
    observedGeneration: 2,
    nextSyncAt: '2026-11-15T01:00:20.500Z',
    lastSyncedAt: '2026-11-15T01:00:00.500Z',
    lastChangeAt: '2026-11-15T01:00:00.500Z',
    ...found,
  })
})

test('an error keeps what the last sync found, and the times of the last sync and change', () => {
  const { conditions, ...status } = after(
    failing,
    { ...after(good), orphanedNodes: [{ ...findings.target, nodes: 1 }] },
    later(1_000),
  )
  assert.deepEqual(status, {
    observedGeneration: 3,
    nextSyncAt: '2026-11-15T01:00:06.500Z',
    lastSyncedAt: '2026-11-15T01:00:00.500Z',
    lastChangeAt: '2026-11-15T01:00:00.500Z',
    lastError: 'NovaError: HTTP 500',
    orphanedNodes: [{ ...findings.target, nodes: 1 }],
    ...found,
  })
  const times = conditions?.map(({ type, status, observedGeneration, lastTransitionTime }) =>
    [type, status, observedGeneration, lastTransitionTime?.slice(17)].join(' '),
  )
  assert.deepEqual(times, [
    'Ready False 3 01Z',
    'Degraded True 3 00Z',
    'NodesReady False 2 00Z',
    'RemovalHeld True 2 00Z',
    'Renumbering False 2 00Z',
    'EventsConnected True 2 00Z',
  ])
})

test('the first status of an object whose sync fails has the error only', () => {
  const { conditions, ...status } = after(failing)
  assert.deepEqual(status, {
    ...{ observedGeneration: 3, nextSyncAt: '2026-11-15T01:00:05.500Z', lastError: 'NovaError: HTTP 500' },
  })
  assert.deepEqual(
    conditions?.map(({ type }) => type),
    ['Ready', 'Degraded'],
  )
})

test('a sync that finds nothing clears what an earlier one found, but not where it was delivered', () => {
  const { conditions: _, ...status } = after(
    { ...good, changed: 0, downPortRetry: undefined, findings: empty },
    after(good),
  )
  assert.deepEqual(status, {
    observedGeneration: 2,
    nextSyncAt: '2026-11-15T01:00:20.500Z',
    lastSyncedAt: '2026-11-15T01:00:00.500Z',
    lastChangeAt: '2026-11-15T01:00:00.500Z',
    nodes: { total: 0, configured: 0, failed: 0, pending: 0, ready: '0/0' },
    ports: { total: 0, selected: 0, summary: '0/0' },
    deliveredTo: { viola: 'https://viola', providerId: 'biz-1' },
    approvedRemovals: 'yes',
  })
})

test('the status lists the first hundred removals on hold', () => {
  const removalsOnHold = Array.from({ length: 101 }, (_, n) => `w${n}`)
  const { heldRemovals } = after({ ...good, findings: { ...findings, removalsOnHold } })
  assert.deepEqual(heldRemovals, removalsOnHold.slice(0, 100))
})

test('the delay of the last notification fits its field, and is absent before the first one', () => {
  const eventsWith = (more: object) =>
    after({ ...good, findings: { ...findings, events: { state: 'connected', message: 'listening', ...more } } }).events
  assert.equal(eventsWith({}), undefined)
  assert.equal(eventsWith({ lagMs: 5 }), undefined)
  assert.deepEqual(eventsWith({ lastEventAt: 0 }), { lastEventAt: '1970-01-01T00:00:00.000Z' })
  assert.equal(eventsWith({ lastEventAt: 0, lagMs: 1e12 })?.lagMs, 2_147_483_647)
  assert.equal(eventsWith({ lastEventAt: 0, lagMs: 1.5 })?.lagMs, 2)
})

test('a condition without a transition time gets one, and one that changes gets the time of the change', () => {
  const before = after(good)
  const timeOf = (status: OpenstackConfigStatus, type: string) =>
    status.conditions?.find(one => one.type === type)?.lastTransitionTime
  const without = { ...before, conditions: before.conditions?.map(({ lastTransitionTime: _, ...one }) => one) }
  assert.equal(timeOf(after(good, without, later(2_000)), 'Ready'), '2026-11-15T01:00:02Z')
  const failed = after(failing, before, later(3_000))
  assert.equal(timeOf(failed, 'Ready'), '2026-11-15T01:00:03Z')
  assert.equal(timeOf(after({ ...failing, generation: 4 }, failed, later(9_000)), 'Ready'), '2026-11-15T01:00:03Z')
})

const isWritten = (before: SyncOutcome, outcome: SyncOutcome, ms: number) =>
  nextStatus(after(before), outcome, later(ms), slowMs) !== undefined

test('an unchanged status is written after a slow interval, and that of an error after it is overdue', () => {
  assert.equal(isWritten(good, { ...good, changed: 0 }, slowMs - 1), false)
  assert.equal(isWritten(good, { ...good, changed: 0 }, slowMs), true)
  assert.equal(isWritten(failing, failing, slowMs + failing.nextSyncMs - 1), false)
  assert.equal(isWritten(failing, failing, slowMs + failing.nextSyncMs), true)
})

test('a change of the cause is written at once, and that from Synced to NoChange is not', () => {
  assert.equal(isWritten(failing, { ...failing, error: { ...error, message: 'HTTP 503' } }, 1), true)
  assert.equal(isWritten(good, { ...good, changed: 0 }, 1), false)
  const others = { ...findings, nodes: findings.nodes.map(one => ({ ...one, state: 'Configured' as const })) }
  assert.equal(isWritten(good, { ...good, changed: 0, findings: others }, 1), true)
  const elsewhere = { ...findings, events: { ...findings.events, state: 'connected', message: 'other' } as const }
  assert.equal(isWritten(good, { ...good, changed: 0, findings: elsewhere }, 1), true)
  const busy = { ...findings, events: { state: 'unreachable', message: 'bus' } as const }
  assert.equal(isWritten(good, { ...good, changed: 0, findings: busy }, 1), true)
})
