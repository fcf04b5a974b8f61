/**
 * Fields of a status beside the interfaces: what a write keeps, what it replaces, warnings and the progress of an agent rollout.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfig, NodeConfigStatus } from '../contract/node-config.ts'
import { aConfig, aNic, aReport, start } from './controller.fixture.ts'
import type { StatusUpdate } from './plan/step.ts'
import { hasWarning, nextNotes, nextStatus } from './status.ts'

const at = new Date(start)
const now = '2026-01-01T00:00:00Z'
const before = '2025-12-31T00:00:00Z'
const config = aConfig()
const warning = { reason: 'SecondaryInternalIP', message: 'listed' } as const
const request = { request: 'monday', state: 'Waiting', reason: 'Paused', message: 'paused' } as const

const success: StatusUpdate = {
  ...{ state: 'Configured', reason: 'AllInterfacesConfigured', message: 'done', progressing: false, failedAttempts: 0 },
  job: 'job-1',
  result: { bootID: 'boot-1', report: aReport(config) },
}
const waiting: StatusUpdate = {
  ...{ state: 'Pending', reason: 'NodeNotFound', message: 'no node', progressing: true, failedAttempts: 0 },
}
const statusAfter = (status: NodeConfigStatus | undefined, update: StatusUpdate, more: Partial<NodeConfig> = {}) =>
  nextStatus({ ...aConfig(status ? { status } : {}), ...more }, update, at) ?? assert.fail('no new status')
const configured = statusAfter(undefined, success)

test('a first status has no field that nothing is known about', () => {
  const { conditions, interfaceStatuses, ...rest } = statusAfter(undefined, waiting)
  assert.deepEqual(Object.keys(rest).sort(), [
    'failedAttempts',
    'nics',
    'observedGeneration',
    'observedSpecHash',
    'state',
  ])
  assert.deepEqual(
    conditions?.map(({ lastTransitionTime }) => lastTransitionTime),
    [now, now, now],
  )
  assert.deepEqual(
    interfaceStatuses?.map(nic => Object.keys(nic).sort().join(' ')),
    ['id macAddress name portId reason status', 'id macAddress name portId reason status'],
  )
  const { metadata } = aConfig()
  const { generation: _, ...unnumbered } = metadata
  const status = statusAfter(undefined, waiting, { metadata: unnumbered })
  assert.equal('observedGeneration' in status, false)
  assert.equal('observedGeneration' in (status.conditions?.[0] ?? {}), false)
})

test('a result replaces what is known about the agent, and a wait keeps it', () => {
  const result = { bootID: 'boot-2', agentHash: 'now', agentRollout: { request: 'monday', state: 'Updated' } as const }
  const known = statusAfter(configured, { ...success, result: { ...result, checkIntervalMs: 59_500 } })
  const factsOf = ({ bootID, agentHash, agentRollout, checkIntervalSeconds, lastJobName }: NodeConfigStatus) => ({
    ...{ bootID, agentHash, agentRollout, checkIntervalSeconds, lastJobName },
  })
  const facts = { ...result, checkIntervalSeconds: 60, lastJobName: 'job-1' }
  assert.deepEqual(factsOf(known), facts)
  assert.deepEqual(factsOf(statusAfter(known, waiting)), facts)
  const next = statusAfter(known, { ...success, job: 'job-2', result: { bootID: 'boot-3' } })
  assert.deepEqual(factsOf(next), {
    ...{ bootID: 'boot-3', agentHash: undefined, agentRollout: result.agentRollout },
    ...{ checkIntervalSeconds: undefined, lastJobName: 'job-2' },
  })
  assert.equal('agentHash' in next, false)
  assert.equal('checkIntervalSeconds' in next, false)
})

test('the status says when the controller retries, only while it will', () => {
  const failed = statusAfter(undefined, { ...waiting, state: 'Failed', nextAttempt: start + 10_000 })
  assert.equal(failed.nextAttempt, '2026-01-01T00:00:10Z')
  assert.equal('nextAttempt' in statusAfter(failed, waiting), false)
})

test('the status lists the addresses of the node, and keeps them when none are given', () => {
  const listed = nextStatus(config, waiting, at, undefined, ['10.0.0.11'])
  assert.deepEqual(listed?.nodeAddresses, ['10.0.0.11'])
  assert.deepEqual(statusAfter(listed, success).nodeAddresses, ['10.0.0.11'])
  assert.equal('nodeAddresses' in configured, false)
})

test('a check without a report moves lastProcessed and keeps the interfaces', () => {
  const failed = configured.interfaceStatuses?.map(nic => ({ ...nic, status: 'Failed' as const, reason: 'LinkDown' }))
  const kept = statusAfter(
    { ...configured, lastProcessed: before, ...(failed && { interfaceStatuses: failed }) },
    {
      ...{ ...waiting, state: 'Configured', checkedAt: true },
    },
  )
  assert.equal(kept.lastProcessed, now)
  assert.deepEqual(kept.interfaceStatuses, failed)
})

const warned = nextStatus(aConfig({ status: configured }), success, at, warning) ?? assert.fail('no new status')

test('a warning is a condition beside the others, since its first appearance', () => {
  const expected = { type: 'Warning', status: 'True', ...warning, lastTransitionTime: now, observedGeneration: 3 }
  assert.deepEqual(warned.conditions?.at(-1), expected)
  assert.equal(warned.conditions?.length, 4)
  const older = {
    ...warned,
    conditions:
      warned.conditions?.map(one => (one.type === 'Warning' ? { ...one, lastTransitionTime: before } : one)) ?? [],
  }
  const again = nextStatus(aConfig({ status: older }), success, at, { ...warning, message: 'more' })
  assert.deepEqual(again?.conditions?.at(-1), { ...expected, message: 'more', lastTransitionTime: before })
  assert.deepEqual(statusAfter(warned, success).conditions, configured.conditions)
})

test('a warning appears on a ready config and disappears again', () => {
  const ready = aConfig({ status: configured })
  assert.equal(hasWarning(ready), false)
  assert.equal(hasWarning(aConfig()), false)
  assert.equal(hasWarning(aConfig({ status: {} })), false)
  assert.equal(nextNotes(ready, { warning: undefined }, at), undefined, 'nothing to write')
  assert.equal(nextNotes(aConfig(), { warning }, at), undefined, 'no status yet')
  assert.equal(nextNotes(aConfig({ status: {} }), { warning }, at), undefined, 'no conditions yet')
  const noted = nextNotes(ready, { warning }, at) ?? assert.fail('no new status')
  assert.deepEqual(noted, warned)
  assert.equal(hasWarning(aConfig({ status: noted })), true)
  assert.deepEqual(nextNotes(aConfig({ status: noted }), { warning: undefined }, at), configured)
})

test('the progress of an agent rollout is kept, replaced or removed', () => {
  const noted = nextNotes(aConfig({ status: configured }), { warning: undefined, agentRollout: request }, at)
  assert.deepEqual(noted, { ...configured, agentRollout: request })
  const waits = aConfig({ status: noted ?? {} })
  assert.equal(nextNotes(waits, { warning: undefined }, at), undefined)
  assert.deepEqual(nextNotes(waits, { warning: undefined, agentRollout: null }, at), configured)
})

const result = (interfaces: ReturnType<typeof aNic>[], more = {}) => ({
  ...success,
  result: { bootID: 'boot-1', report: aReport(config, { interfaces, ...more }) },
})
const nicsOf = (status: NodeConfigStatus) => status.interfaceStatuses ?? []

test('a report about another NIC with the same index, or about the same NIC with another index, says nothing', () => {
  const swapped = [aNic(0, { macAddress: 'fa:16:3e:00:00:01' }), aNic(1, { macAddress: 'fa:16:3e:00:00:00' })]
  assert.deepEqual(
    nicsOf(statusAfter(undefined, result(swapped))).map(({ status, lastChecked }) => [status, lastChecked]),
    [
      ['Pending', undefined],
      ['Pending', undefined],
    ],
  )
  const spelled = [aNic(0, { macAddress: 'FA:16:3E:00:00:00' }), aNic(1)]
  assert.equal(statusAfter(undefined, result(spelled)).nics, '2/2')
})

test('what is known about another NIC with the same index is forgotten', () => {
  const swapped = nicsOf(configured).map(nic => ({ ...nic, macAddress: `fa:16:3e:00:00:0${nic.id === 0 ? 1 : 0}` }))
  const next = statusAfter({ ...configured, interfaceStatuses: swapped }, waiting)
  assert.deepEqual(
    nicsOf(next).map(({ status, lastConfigured }) => [status, lastConfigured]),
    [
      ['Pending', undefined],
      ['Pending', undefined],
    ],
  )
})

test('a removed interface is listed with its message until its index is requested again', () => {
  const gone = (id: number) =>
    aNic(id, { status: 'Removed', reason: 'Removed', message: 'gone', macAddress: 'FA:16:3E:00:00:09' })
  const listed = nicsOf(statusAfter(undefined, result([aNic(0), aNic(1), gone(4), aNic(5)])))
  assert.deepEqual(
    listed.slice(2).map(({ id, macAddress, message }) => [id, macAddress, message]),
    [[4, 'fa:16:3e:00:00:09', 'gone']],
  )
  assert.equal(nicsOf(statusAfter(undefined, result([aNic(0), aNic(1), gone(1)]))).length, 2)
})

test('an interface has a time of configuration once an agent configured it', () => {
  const untouched = [aNic(0, { changed: 0 }), aNic(1, { changed: 0, status: 'Failed', reason: 'LinkDown' })]
  const [first, second] = nicsOf(statusAfter(undefined, result(untouched)))
  assert.equal(first?.lastConfigured, now, 'it was configured before the controller knew it')
  assert.equal(second && 'lastConfigured' in second, false)
  const failing = [aNic(0), aNic(1, { status: 'Failed', reason: 'LinkDown' })]
  const older = nicsOf(configured).map(nic => ({ ...nic, lastConfigured: before }))
  const next = nicsOf(statusAfter({ ...configured, interfaceStatuses: older }, result(failing)))
  assert.deepEqual(
    next.map(({ lastConfigured }) => lastConfigured),
    [now, before],
  )
})

test('an interface of an older agent counts as configured', () => {
  const drifted = { status: 'Pending', reason: 'ConfiguredByOlderAgent' } as const
  const next = statusAfter(configured, result([aNic(0, drifted), aNic(1, drifted)], { verdict: 'Drifted' }))
  assert.deepEqual(
    nicsOf(next).map(({ status, reason }) => [status, reason]),
    [
      ['Configured', 'ConfiguredByOlderAgent'],
      ['Configured', 'ConfiguredByOlderAgent'],
    ],
  )
  assert.equal(next.nics, '2/2')
})

test('an interface that a lost report leaves unknown keeps what was observed last', () => {
  const changed = aConfig({ generation: 4, status: configured })
  for (const nic of changed.spec.interfaces) nic.mtu = 9000
  const lost: StatusUpdate = { ...success, state: 'Failed', reason: 'ReportMissing', result: { bootID: 'boot-1' } }
  const [first] = nextStatus(changed, lost, at)?.interfaceStatuses ?? []
  const [old] = nicsOf(configured)
  assert.deepEqual(
    [first?.status, first?.lastConfigured, first?.lastChecked, first?.observed],
    ['Failed', old?.lastConfigured, old?.lastChecked, old?.observed],
  )
  const unmentioned = nextStatus(changed, { ...lost, state: 'Configured' }, at)
  assert.equal(unmentioned?.interfaceStatuses?.[0]?.status, 'Pending', 'nothing is Configured without a report')
})

test('a failed interface of the Go implementation keeps its state while the next run is pending', () => {
  const older = nicsOf(configured).map(({ specHash: _, ...nic }) => ({ ...nic, status: 'Failed' as const }))
  const update = { ...waiting, message: 'x'.repeat(2_000) }
  const [first] = nicsOf(statusAfter({ ...configured, interfaceStatuses: older }, update))
  assert.equal(first?.status, 'Failed')
  assert.equal(first?.pending?.message.length, 1_024)
})
