import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergePatch } from '../contract/json.ts'
import { type NodeConfigStatus, nodeConfigStatus } from '../contract/node-config.ts'
import { aConfig, aNic, aReport, hashFor, start } from './controller.fixture.ts'
import type { Said } from './plan/work.ts'
import { nextStatus } from './status.ts'

const at = new Date(start)
const now = '2026-01-01T00:00:00Z'
const before = '2025-12-31T00:00:00Z'
const config = aConfig()

const good: Said = {
  state: 'Configured',
  reason: 'AllInterfacesConfigured',
  message: 'All 2 interfaces configured successfully',
  progressing: false,
  failedAttempts: 0,
  job: 'job-1',
  result: { bootID: 'boot-1', report: aReport(config) },
}
const waiting: Said = {
  state: 'Pending',
  reason: 'NodeNotFound',
  message: 'node w1 is not in this cluster',
  progressing: true,
  failedAttempts: 0,
}

function told(status: NodeConfigStatus | undefined, said: Said, generation = 3): NodeConfigStatus {
  const next = nextStatus(aConfig({ generation, ...(status && { status }) }), said, at)
  assert.ok(next, 'nothing was said')
  nodeConfigStatus.parse(next)
  return next
}
const settled = told(undefined, good)

test('a good report fills the whole status', () => {
  const nic = (id: number) => ({
    id,
    name: `multinic${id}`,
    portId: `port-${id}`,
    macAddress: `fa:16:3e:00:00:0${id}`,
    status: 'Configured',
    reason: 'Configured',
    lastConfigured: now,
    lastChecked: now,
    observed: { name: `multinic${id}`, mtu: 1450, addresses: [`192.168.${id}.10/24`], link: 'up' },
  })
  const same = { reason: good.reason, message: good.message, lastTransitionTime: now, observedGeneration: 3 }
  assert.deepEqual(settled, {
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

test('what is said already is not written', () => {
  assert.equal(nextStatus(aConfig({ status: settled }), good, at), undefined)
  const wait = told(undefined, waiting)
  assert.equal(nextStatus(aConfig({ status: wait }), waiting, new Date(start + 60_000)), undefined)
})

test('the hash of the spec is repeated where it is given', () => {
  const given = aConfig()
  given.spec.specHash = 'a1b2'
  assert.equal(nextStatus(given, waiting, at)?.observedSpecHash, 'a1b2')
})

test('a transition has its time, and only a transition', () => {
  const earlier = { ...settled, conditions: settled.conditions?.map(one => ({ ...one, lastTransitionTime: before })) }
  const { conditions } = told(earlier, waiting)
  assert.deepEqual(
    conditions?.map(one => [one.type, one.status, one.lastTransitionTime]),
    [
      ['Ready', 'False', now],
      ['Progressing', 'True', now],
      ['Degraded', 'False', before],
    ],
  )
})

test('a wait keeps what is known of the interfaces', () => {
  const { interfaceStatuses, nics, lastProcessed, bootID } = told(settled, waiting)
  assert.deepEqual(interfaceStatuses, settled.interfaceStatuses)
  assert.deepEqual([nics, lastProcessed, bootID], ['2/2', now, 'boot-1'])
})

test('a new spec makes every interface open again, with the times it had', () => {
  const applying: Said = { ...waiting, state: 'InProgress', reason: 'Applying', message: 'job-2 is running' }
  const { interfaceStatuses, nics } = told(settled, applying, 4)
  assert.equal(nics, '0/2')
  const [first] = interfaceStatuses ?? []
  assert.deepEqual([first?.status, first?.reason, first?.lastConfigured], ['InProgress', 'Applying', now])
})

test('one bad interface does not hide the good one', () => {
  const report = aReport(config, {
    verdict: 'Failed',
    interfaces: [aNic(0), aNic(1, { status: 'Failed', reason: 'InterfaceNameInUse', message: 'eth9 has the name' })],
  })
  const said: Said = { ...good, state: 'Failed', reason: 'ApplyFailed', result: { bootID: 'boot-1', report } }
  const { nics, interfaceStatuses, conditions } = told(undefined, said)
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

test('a lost report leaves no interface in progress', () => {
  const applying = told(undefined, { ...waiting, state: 'InProgress', reason: 'Applying' })
  const lost: Said = { ...good, state: 'Failed', reason: 'ReportMissing', result: { bootID: 'boot-1' } }
  assert.deepEqual(
    told(applying, lost).interfaceStatuses?.map(({ status, reason }) => [status, reason]),
    [
      ['Failed', 'ReportMissing'],
      ['Failed', 'ReportMissing'],
    ],
  )
})

test('a run that changed nothing moves the time of the check only', () => {
  const earlier = settled.interfaceStatuses?.map(one => ({ ...one, lastConfigured: before, lastChecked: before }))
  const again = { ...good, result: { bootID: 'boot-1', report: aReport(config, { changed: 0 }) } }
  const [first] = told({ ...settled, interfaceStatuses: earlier }, again).interfaceStatuses ?? []
  assert.deepEqual([first?.lastConfigured, first?.lastChecked], [before, now])
})

test('an interface that was taken away is told once', () => {
  const report = aReport(config, { interfaces: [aNic(0), aNic(1), aNic(4, { status: 'Removed', reason: 'Removed' })] })
  const { interfaceStatuses, nics } = told(undefined, { ...good, result: { bootID: 'boot-1', report } })
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

test('a patch holds only what differs', () => {
  const next = { ...settled, failedAttempts: 2 }
  assert.deepEqual(mergePatch(settled, next), { failedAttempts: 2 })
  const { bootID: _, ...without } = settled
  assert.deepEqual(mergePatch(settled, without), { bootID: null })
  assert.deepEqual(mergePatch({}, settled), settled)
})
