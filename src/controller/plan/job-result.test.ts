/**
 * What an ended Job makes of the status: state, message, progress, and what the next run needs to know.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentReport } from '../../contract/agent-report.ts'
import {
  aConfig,
  aJob,
  aNic,
  anEndedJob,
  aReport,
  type ObservedValues,
  observedWith,
  start,
} from '../controller.fixture.ts'
import { aStatus, config, configured, testPlans, withStatus } from './plan.fixture.ts'
import { planNodeConfig } from './plan.ts'

const { name } = aJob(config)
const empty = aConfig({ nics: 0 })
const removed: Partial<AgentReport> = { verdict: 'Removed', interfaces: [] }
const refused: Partial<AgentReport> = {
  ...{ verdict: 'Failed', reason: 'InterfaceNameInUse', message: 'no' },
  interfaces: [aNic(0), aNic(1, { status: 'Failed', reason: 'InterfaceNameInUse' })],
}
const missing = { verdict: 'Pending', message: 'multinic1 is not in the guest yet' } as const
const drifted = { mode: 'check', verdict: 'Drifted', message: 'mtu is 1500' } as const
const older = { ...drifted, reason: 'ConfiguredByOlderAgent' } as const

testPlans({
  'an apply that ended without a report is a failure, even on a Configured node': [
    { ...withStatus(configured), jobs: [aJob(config, { phase: 'ended' })] },
    `Failed ReportMissing: ${name}: the agent left no report (requeue after 10s)`,
  ],
  'a removal is no success while interfaces are requested': [
    { jobs: [anEndedJob(config, removed)] },
    `Failed ReportMissing: ${name}: reports a removal instead of an apply (requeue after 10s)`,
  ],
  'a removal is a success when no interface is requested': [
    { config: empty, jobs: [anEndedJob(empty, removed)] },
    'Configured AllInterfacesConfigured: No interfaces requested, and none is left on the node',
  ],
  'a report that lacks several interfaces names them': [
    { jobs: [anEndedJob(config, { interfaces: [] })] },
    `Failed ReportMissing: ${name}: report does not mention multinic0, multinic1 (requeue after 10s)`,
  ],
  'a report of success with an interface that failed is no success': [
    { jobs: [anEndedJob(config, { interfaces: [aNic(0), aNic(1, { status: 'Failed', reason: 'VerifyFailed' })] })] },
    `Failed ReportMissing: ${name}: report says Configured, and multinic1 Failed (requeue after 10s)`,
  ],
  'a report of success with an interface that waits is no success': [
    { jobs: [anEndedJob(config, { verdict: 'InSync', interfaces: [aNic(0, { status: 'Pending' }), aNic(1)] })] },
    `Failed ReportMissing: ${name}: report says InSync, and multinic0 Pending (requeue after 10s)`,
  ],
  'a report that lists an interface twice is no success': [
    { jobs: [anEndedJob(config, { interfaces: [aNic(0), aNic(1), aNic(1, { status: 'Failed' })] })] },
    `Failed ReportMissing: ${name}: report lists multinic1 twice (requeue after 10s)`,
  ],
  'one interface is counted in the singular': [
    { config: aConfig({ nics: 1 }), jobs: [anEndedJob(aConfig({ nics: 1 }))] },
    'Configured AllInterfacesConfigured: 1 interface configured successfully',
  ],
  'a failure does not list what was removed or configured': [
    {
      jobs: [
        anEndedJob(config, {
          ...{ verdict: 'Failed', reason: 'Failed' },
          interfaces: [aNic(0, { status: 'Removed', reason: 'Removed' }), aNic(1)],
        }),
      ],
    },
    'Failed ApplyFailed: Failed (requeue after 10s)',
  ],
})

const updateOf = (values: ObservedValues) =>
  planNodeConfig(observedWith(values)).statusUpdate ?? assert.fail('no update')

test('a config progresses while the controller will continue by itself, and not when it waits for a person', () => {
  const repair = { policy: { drift: 'repair', cleanupTimeoutMs: 600_000, jobTtlMs: 600_000 } } as const
  const found = [anEndedJob(config, drifted, { action: 'check' })]
  const progress: [ObservedValues, boolean][] = [
    [{ jobs: [anEndedJob(config)] }, false],
    [{ jobs: [anEndedJob(config, missing)] }, true],
    [{ jobs: [anEndedJob(config, { verdict: 'Failed', message: 'no' })] }, true],
    [{ jobs: [anEndedJob(config, refused)] }, false],
    [{ ...withStatus(configured), jobs: found }, false],
    [{ ...withStatus(configured), jobs: found, ...repair }, true],
    [{ ...withStatus(configured), jobs: [anEndedJob(config, older, { action: 'check' })] }, false],
    [{ config: { ...config, spec: { nodeName: 'w1', interfaces: [{ macAddress: 'nonsense' }] } } }, false],
    [{ node: undefined }, true],
  ]
  for (const [values, expected] of progress) {
    const { progressing, reason } = updateOf(values)
    assert.equal(progressing, expected, reason)
  }
})

test('the status shows when a failure is retried, and no time while it waits for a person', () => {
  assert.equal(
    updateOf({ jobs: [anEndedJob(config, { verdict: 'Failed', message: 'no' })] }).nextAttempt,
    start + 10_000,
  )
  assert.equal(updateOf({ jobs: [anEndedJob(config, refused)] }).nextAttempt, undefined)
})

test('a result carries what the next runs and the status need', () => {
  const jobs = [anEndedJob(config, {}, { agentHash: 'now' })]
  const base = { bootID: 'boot-1', endedAt: start - 1_000 }
  assert.deepEqual(updateOf({ jobs, checkIntervalMs: 60_000 }).result, {
    ...{ ...base, report: aReport(config), agentHash: 'now', checkIntervalMs: 60_000 },
  })
  const lost = [aJob(config, { phase: 'ended', endedAt: start - 1_000, result: { missing: 'killed' } })]
  assert.deepEqual(updateOf({ jobs: lost }).result, base)
})

test('a check without a report keeps the state, and the next check is due an interval later', () => {
  const jobs = [aJob(config, { action: 'check', phase: 'ended', result: { missing: 'killed' } })]
  const after = (
    conditions: NonNullable<typeof configured.conditions>,
    state: 'Configured' | 'Failed' = 'Configured',
  ) => updateOf({ ...withStatus({ ...aStatus(state, 'Drifted', 60, { failedAttempts: 3 }), conditions }), jobs })
  const ready = { type: 'Ready', status: 'True', reason: 'Drifted', message: 'mtu is 1500' } as const
  const kept = after([ready], 'Failed')
  assert.deepEqual(kept, {
    ...{ state: 'Failed', reason: 'Drifted', message: 'mtu is 1500', failedAttempts: 3, job: name },
    ...{ progressing: false, checkedAt: true },
  })
  assert.equal(after([ready, { ...ready, type: 'Progressing' }]).progressing, true)
  assert.equal(after([ready, { ...ready, type: 'Progressing', status: 'False' }]).progressing, false)
  const { conditions: _, ...bare } = configured
  const update = updateOf({ ...withStatus(bare), jobs })
  assert.deepEqual([update.state, update.reason, update.progressing], ['Configured', 'ReportMissing', false])
})
