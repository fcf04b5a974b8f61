import assert from 'node:assert/strict'
import { test } from 'node:test'
import { interfaceHash } from '../contract/interface-hash.ts'
import { mergePatch } from '../contract/json.ts'
import { type NodeConfigStatus, nodeConfigStatus } from '../contract/node-config.ts'
import { aConfig, aNic, aReport, hashFor, start } from './controller.fixture.ts'
import { requestedOf } from './plan/requested.ts'
import type { StatusUpdate } from './plan/step.ts'
import { nextStatus } from './status.ts'

const at = new Date(start)
const now = '2026-01-01T00:00:00Z'
const before = '2025-12-31T00:00:00Z'
const config = aConfig()

const success: StatusUpdate = {
  state: 'Configured',
  reason: 'AllInterfacesConfigured',
  message: 'All 2 interfaces configured successfully',
  progressing: false,
  failedAttempts: 0,
  job: 'job-1',
  result: { bootID: 'boot-1', report: aReport(config) },
}
const waiting: StatusUpdate = {
  state: 'Pending',
  reason: 'NodeNotFound',
  message: 'node w1 is not in this cluster',
  progressing: true,
  failedAttempts: 0,
}

function updated(status: NodeConfigStatus | undefined, update: StatusUpdate, generation = 3): NodeConfigStatus {
  const next = nextStatus(aConfig({ generation, ...(status && { status }) }), update, at)
  assert.ok(next, 'no new status')
  nodeConfigStatus.parse(next)
  return next
}
const configured = updated(undefined, success)

test('a successful report fills the whole status', () => {
  const nic = (id: number) => ({
    id,
    name: `multinic${id}`,
    portId: `port-${id}`,
    macAddress: `fa:16:3e:00:00:0${id}`,
    status: 'Configured',
    reason: 'Configured',
    lastConfigured: now,
    lastChecked: now,
    specHash: interfaceHash(requestedOf(config).interfaces[id] ?? assert.fail()),
    observed: { name: `multinic${id}`, mtu: 1450, addresses: [`192.168.${id}.10/24`], link: 'up' },
  })
  const same = { reason: success.reason, message: success.message, lastTransitionTime: now, observedGeneration: 3 }
  assert.deepEqual(configured, {
    observedGeneration: 3,
    observedSpecHash: hashFor(config),
    lastProcessed: now,
    lastJobName: 'job-1',
    state: 'Configured',
    nics: '2/2',
    conditions: [
      { type: 'Ready', status: 'True', ...same },
      { type: 'Progressing', status: 'False', ...same },
      { type: 'Degraded', status: 'False', ...same },
    ],
    interfaceStatuses: [nic(0), nic(1)],
    failedAttempts: 0,
    bootID: 'boot-1',
  })
})

test('a status that is up to date is not written', () => {
  assert.equal(nextStatus(aConfig({ status: configured }), success, at), undefined)
  const wait = updated(undefined, waiting)
  assert.equal(nextStatus(aConfig({ status: wait }), waiting, new Date(start + 60_000)), undefined)
})

test('observedSpecHash repeats the specHash of the spec', () => {
  const hashed = aConfig()
  hashed.spec.specHash = 'a1b2'
  assert.equal(nextStatus(hashed, waiting, at)?.observedSpecHash, 'a1b2')
})

test('only a transition changes lastTransitionTime', () => {
  const earlier = {
    ...configured,
    conditions: configured.conditions?.map(one => ({ ...one, lastTransitionTime: before })),
  }
  const { conditions } = updated(earlier, waiting)
  assert.deepEqual(
    conditions?.map(one => [one.type, one.status, one.lastTransitionTime]),
    [
      ['Ready', 'False', now],
      ['Progressing', 'True', now],
      ['Degraded', 'False', before],
    ],
  )
})

test('a wait keeps the interface statuses', () => {
  const { interfaceStatuses, nics, lastProcessed, bootID } = updated(configured, waiting)
  assert.deepEqual(interfaceStatuses, configured.interfaceStatuses)
  assert.deepEqual([nics, lastProcessed, bootID], ['2/2', now, 'boot-1'])
})

/** The status after a change of the spec: multinic1 gets another MTU, and multinic2 is new. */
function afterChange(update: StatusUpdate, status = configured): NodeConfigStatus {
  const changed = aConfig({ generation: 4, nics: 3, status })
  const [, second] = changed.spec.interfaces
  if (second) second.mtu = 9000
  return nextStatus(changed, update, new Date(start + 60_000)) ?? assert.fail('no new status')
}
const linesOf = ({ interfaceStatuses = [] }: NodeConfigStatus) =>
  interfaceStatuses.map(({ name, status, reason, pending, lastChecked }) =>
    [name, status, reason, lastChecked, pending && `pending ${pending.reason}: ${pending.message}`]
      .filter(Boolean)
      .join(' '),
  )

test('experience H4: a NIC keeps its last observed state while another one changes, and says what is pending for it', () => {
  const applying: StatusUpdate = { ...waiting, state: 'InProgress', reason: 'Applying', message: 'job-2 is running' }
  const rollout: StatusUpdate = { ...waiting, reason: 'RolloutWaiting', message: 'at most 1 at a time' }
  for (const update of [applying, rollout]) {
    const next = afterChange(update)
    assert.deepEqual(linesOf(next), [
      `multinic0 Configured Configured ${now}`,
      `multinic1 Configured Configured ${now} pending ${update.reason}: ${update.message}`,
      `multinic2 ${update.state} ${update.reason}`,
    ])
    assert.equal(next.nics, '1/3')
    assert.deepEqual(next.interfaceStatuses?.[1]?.observed, configured.interfaceStatuses?.[1]?.observed)
  }
})

test('an interface that failed stays Failed with its message while the controller tries again', () => {
  const failed = aReport(config, {
    interfaces: [aNic(0), aNic(1, { status: 'Failed', reason: 'LinkDown', message: 'no' })],
  })
  const before = updated(undefined, { ...success, state: 'Failed', result: { bootID: 'boot-1', report: failed } })
  const again = updated(before, { ...waiting, state: 'InProgress', reason: 'Applying', message: 'job-2 is running' })
  const [first, second] = again.interfaceStatuses ?? []
  assert.equal(first?.pending, undefined)
  assert.deepEqual([second?.status, second?.reason, second?.message], ['Failed', 'LinkDown', 'no'])
  assert.deepEqual(second?.pending, { reason: 'Applying', message: 'job-2 is running' })
})

test('a NIC that was not in the guest stays so while the config is paused', () => {
  const report = aReport(config, { interfaces: [aNic(0), aNic(1, { status: 'Pending', reason: 'NicMissing' })] })
  const missing = updated(undefined, { ...success, state: 'Pending', result: { bootID: 'boot-1', report } })
  const paused = updated(missing, { ...waiting, reason: 'Paused', message: 'paused' })
  const [, second] = paused.interfaceStatuses ?? []
  assert.deepEqual([second?.status, second?.reason, second?.pending?.reason], ['Pending', 'NicMissing', 'Paused'])
})

test('after a reboot every NIC is pending, and none counts as ready', () => {
  const next = updated(configured, { ...waiting, reason: 'NodeUnreachable', pendingForAll: true })
  assert.equal(next.nics, '0/2')
  assert.deepEqual(
    next.interfaceStatuses?.map(({ status, pending }) => [status, pending?.reason]),
    [
      ['Configured', 'NodeUnreachable'],
      ['Configured', 'NodeUnreachable'],
    ],
  )
})

test('a status of the Go implementation keeps its NICs, and all of them wait for a new spec', () => {
  const older = {
    ...configured,
    interfaceStatuses: configured.interfaceStatuses?.map(({ specHash: _, ...nic }) => nic),
  }
  assert.equal(updated(older, waiting).nics, '2/2')
  const next = updated(older, waiting, 4)
  assert.deepEqual([next.nics, next.interfaceStatuses?.[0]?.status], ['0/2', 'Configured'])
})

test('a result without a report fails only the NICs that are not as requested', () => {
  const lost: StatusUpdate = { ...success, state: 'Failed', reason: 'ReportMissing', result: { bootID: 'boot-1' } }
  assert.deepEqual(
    afterChange(lost).interfaceStatuses?.map(({ status, reason }) => [status, reason]),
    [
      ['Configured', 'Configured'],
      ['Failed', 'ReportMissing'],
      ['Failed', 'ReportMissing'],
    ],
  )
})

test('lastConfigured moves only for the NICs that the agent changed', () => {
  const earlier = configured.interfaceStatuses?.map(one => ({ ...one, lastConfigured: before, lastChecked: before }))
  const times = (report: ReturnType<typeof aReport>) =>
    updated(
      { ...configured, interfaceStatuses: earlier },
      { ...success, result: { bootID: 'boot-1', report } },
    ).interfaceStatuses?.map(({ lastConfigured }) => lastConfigured)
  const one = [aNic(0, { changed: 0 }), aNic(1, { changed: 3 })]
  assert.deepEqual(times(aReport(config, { changed: 3, interfaces: one })), [before, now])
  // A report of an older agent counts the changes of the whole run only.
  assert.deepEqual(times(aReport(config, { changed: 3 })), [now, now])
})

test('one failed interface does not hide the configured one', () => {
  const report = aReport(config, {
    verdict: 'Failed',
    interfaces: [aNic(0), aNic(1, { status: 'Failed', reason: 'InterfaceNameInUse', message: 'eth9 has the name' })],
  })
  const failure: StatusUpdate = {
    ...success,
    state: 'Failed',
    reason: 'ApplyFailed',
    result: { bootID: 'boot-1', report },
  }
  const { nics, interfaceStatuses, conditions } = updated(undefined, failure)
  assert.equal(nics, '1/2')
  assert.deepEqual(
    interfaceStatuses?.map(({ status, reason, message }) => [status, reason, message]),
    [
      ['Configured', 'Configured', undefined],
      ['Failed', 'InterfaceNameInUse', 'eth9 has the name'],
    ],
  )
  assert.equal(conditions?.find(({ type }) => type === 'Degraded')?.status, 'True')
})

test('a missing report leaves no interface InProgress', () => {
  const applying = updated(undefined, { ...waiting, state: 'InProgress', reason: 'Applying' })
  const missing: StatusUpdate = { ...success, state: 'Failed', reason: 'ReportMissing', result: { bootID: 'boot-1' } }
  assert.deepEqual(
    updated(applying, missing).interfaceStatuses?.map(({ status, reason }) => [status, reason]),
    [
      ['Failed', 'ReportMissing'],
      ['Failed', 'ReportMissing'],
    ],
  )
})

test('an observation has the time at which the agent ended, not the time at which its report was read', () => {
  const endedAt = Date.parse(now) - 600_000
  const late = updated(undefined, { ...success, result: { bootID: 'boot-1', report: aReport(config), endedAt } })
  const { lastChecked, lastConfigured } = late.interfaceStatuses?.[0] ?? {}
  assert.deepEqual([lastChecked, lastConfigured], ['2025-12-31T23:50:00Z', '2025-12-31T23:50:00Z'])
  assert.equal(late.lastProcessed, now)
})

test('a run without changes updates only lastChecked', () => {
  const earlier = configured.interfaceStatuses?.map(one => ({ ...one, lastConfigured: before, lastChecked: before }))
  const again = { ...success, result: { bootID: 'boot-1', report: aReport(config, { changed: 0 }) } }
  const [first] = updated({ ...configured, interfaceStatuses: earlier }, again).interfaceStatuses ?? []
  assert.deepEqual([first?.lastConfigured, first?.lastChecked], [before, now])
})

test('a removed interface is in the status once', () => {
  const report = aReport(config, { interfaces: [aNic(0), aNic(1), aNic(4, { status: 'Removed', reason: 'Removed' })] })
  const { interfaceStatuses, nics } = updated(undefined, { ...success, result: { bootID: 'boot-1', report } })
  assert.equal(nics, '2/2')
  assert.deepEqual(interfaceStatuses?.[2], {
    id: 4,
    name: 'multinic4',
    portId: 'port-4',
    macAddress: 'fa:16:3e:00:00:04',
    status: 'Removed',
    reason: 'Removed',
  })
})

test('a patch contains only the differences', () => {
  const next = { ...configured, failedAttempts: 2 }
  assert.deepEqual(mergePatch(configured, next), { failedAttempts: 2 })
  const { bootID: _, ...without } = configured
  assert.deepEqual(mergePatch(configured, without), { bootID: null })
  assert.deepEqual(mergePatch({}, configured), configured)
})

test('texts of a report are shown without control characters and marks of the writing direction', () => {
  const message = '\u202egnp.exe\u001b[2J\ud800'
  const report = aReport(config, { interfaces: [aNic(0, { status: 'Failed', reason: 'X', message }), aNic(1)] })
  const status = nextStatus(config, { ...success, message, result: { bootID: 'b', report } }, new Date(now))
  const shown = '\\u202egnp.exe\\u001b[2J\\ud800'
  assert.equal(status?.interfaceStatuses?.[0]?.message, shown)
  assert.equal(status?.conditions?.find(({ type }) => type === 'Ready')?.message, shown)
})
