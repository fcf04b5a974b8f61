/**
 * Jobs on the node of a config: which one counts, which ones are deleted, and when the status shows them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aConfig, aJob, aNode, anEndedJob, observedWith, start } from '../controller.fixture.ts'
import { newestJob } from './agent-job.ts'
import { addFinalizer, aStatus, config, configured, createJob, testPlans, withStatus } from './plan.fixture.ts'
import { planNodeConfig } from './plan.ts'

const running = aJob(config)
const deleteJob = (name: string) => ({ do: 'deleteJob', name, uid: 'job-uid' }) as const
const recorded = { ...configured, lastJobName: running.name }
const failedBefore = { interfaceStatuses: [], failedAttempts: 1, lastJobName: running.name }
const adopts = { 'multinic.io/adopt': 'true' }
const legacy = { configUid: '', generation: 0, specHash: '', name: 'of-the-go-controller' }

testPlans({
  'an ended Job of another config stays, and its attempts do not count': [
    { jobs: [anEndedJob(config, {}, { configUid: 'another', attempt: 4 })] },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0),
  ],
  'the number of an apply does not depend on checks': [
    {
      ...withStatus(aStatus('Failed', 'Drifted', 1, { lastJobName: running.name })),
      jobs: [anEndedJob(config, { mode: 'check', verdict: 'Drifted' }, { action: 'check', attempt: 7 })],
      policy: { drift: 'repair', cleanupTimeoutMs: 600_000, jobTtlMs: 600_000 },
    },
    'no status update (requeue after 2s)',
    addFinalizer,
    deleteJob(running.name),
    createJob(0, { takesSlot: true }),
  ],
  'an older Job whose Pod may still start is waited for': [
    { jobs: [aJob(config, { generation: 2, phase: 'waiting' })] },
    `Pending PreviousJobRunning: ${running.name} must end before the next agent starts (requeue after 25s)`,
  ],
  'an older Job whose Pod has not started for 30 s is deleted': [
    { jobs: [aJob(config, { generation: 2, phase: 'waiting', createdAt: start - 30_000 })] },
    `Pending PreviousJobRunning: ${running.name} must end before the next agent starts`,
    deleteJob(running.name),
  ],
  'a Pod without its Job has to end by itself': [
    { jobs: [aJob(config, { ...legacy, uid: '', phase: 'waiting', createdAt: start - 90_000 })] },
    'Pending PreviousJobRunning: of-the-go-controller must end before the next agent starts',
  ],
  'a Job of another spec with the same generation is not the current one': [
    { jobs: [aJob(config, { specHash: 'other' })] },
    `Pending PreviousJobRunning: ${running.name} must end before the next agent starts`,
  ],
  'a running cleanup is no apply': [
    { jobs: [aJob(config, { action: 'cleanup' })] },
    `Pending PreviousJobRunning: ${running.name} must end before the next agent starts`,
  ],
  'an agent that runs is in the status, even if its node disappeared': [
    { node: undefined, jobs: [running] },
    `InProgress Applying: ${running.name} is running`,
  ],
  'an agent that was killed is not said to run': [
    { jobs: [aJob(config, { restartsAfter: 137 })] },
    `InProgress Applying: ${running.name} ended with exit code 137, and is started again`,
  ],
  'a Pod that has not started for exactly 30 s is in the status': [
    { jobs: [aJob(config, { phase: 'waiting', createdAt: start - 30_000 })] },
    `InProgress PodNotStarting: ${running.name}: Pod has not started within 30s (requeue after 5s)`,
  ],
  'a Job is in the status after two seconds': [
    { jobs: [aJob(config, { createdAt: start - 2_000 })] },
    `InProgress Applying: ${running.name} is running`,
  ],
  'a Job that just started does not replace a failure': [
    { ...withStatus(aStatus('Failed', 'ApplyFailed', 60)), jobs: [aJob(config, { createdAt: start - 500 })] },
    'no status update (requeue after 1.5s)',
  ],
  'an ended Job is deleted as soon as its TTL and a minute have passed': [
    { ...withStatus(recorded), jobs: [anEndedJob(config, {}, { endedAt: start - 660_000 })] },
    'no status update',
    addFinalizer,
    deleteJob(running.name),
  ],
  'of several ended Jobs, the one that expires first decides when to look again': [
    {
      ...withStatus(recorded),
      jobs: [
        anEndedJob(config, {}, { endedAt: start - 10_000 }),
        anEndedJob(config, {}, { name: 'older', generation: 2, endedAt: start - 20_000 }),
      ],
    },
    'no status update (requeue after 640s)',
    addFinalizer,
  ],
  'a running Job of an older generation is not deleted as expired': [
    { ...withStatus(configured), jobs: [aJob(config, { generation: 2, createdAt: start - 900_000 })] },
    'no status update',
  ],
  'an ended Job of the Go controller is deleted': [
    { ...withStatus(configured), jobs: [anEndedJob(config, {}, legacy)] },
    'no status update',
    deleteJob('of-the-go-controller'),
  ],
  'a running Job of the Go controller is not deleted': [
    { ...withStatus(configured), jobs: [aJob(config, legacy)] },
    'no status update',
  ],
  'an ended Pod without its Job has nothing to delete': [
    { ...withStatus(configured), jobs: [anEndedJob(config, {}, { ...legacy, uid: '' })] },
    'no status update',
  ],
  'a paused annotation with the value false does not pause': [
    { config: aConfig({ metadata: { annotations: { 'multinic.io/paused': 'false' } } }) },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0),
  ],
  'a node that a config takes over waits for a missing NIC without a check': [
    withStatus(aStatus('Pending', 'NicMissing', 1, { interfaceStatuses: [] }), { annotations: adopts }),
    'no status update (requeue after 29s)',
  ],
  'the number of the first check follows that of earlier checks': [
    {
      ...withStatus(aStatus('Failed', 'VerifyFailed', 3_600, failedBefore), { annotations: adopts }),
      jobs: [anEndedJob(config, {}, { action: 'check', attempt: 4 })],
    },
    'no status update (requeue after 2s)',
    addFinalizer,
    deleteJob(running.name),
    createJob(5, { action: 'check' }),
  ],
  'the first check of a node that a config takes over waits for the check limit': [
    {
      config: aConfig({ metadata: { annotations: adopts } }),
      checkLimitReached: true,
    },
    'no status update (requeue after 1s)',
  ],
})

test('the newest Job counts, and of two from the same second the later attempt', () => {
  const jobs = [
    aJob(config, { name: 'old', createdAt: start - 9_000, attempt: 5 }),
    aJob(config, { name: 'first', attempt: 1 }),
    aJob(config, { name: 'second', attempt: 2 }),
    aJob(config, { name: 'oldest', createdAt: start - 90_000, attempt: 7 }),
  ]
  assert.equal(newestJob(jobs)?.name, 'second')
  assert.equal(newestJob(jobs.toReversed())?.name, 'second')
})

test('a change without a slot is in the queue, and a first configuration is not', () => {
  const rollout = { available: false, message: 'full' }
  const changed = withStatus({ ...configured, observedGeneration: 2 })
  assert.equal(planNodeConfig(observedWith({ ...changed, rollout })).queued, true)
  assert.equal(planNodeConfig(observedWith({ rollout })).queued, undefined)
})

test('a wait after a reboot, and one for a node that is gone, says that nothing is known about any interface', () => {
  const waitOf = (bootID: string) =>
    planNodeConfig(observedWith({ ...withStatus(configured), node: aNode({ bootID, reachable: false }) })).statusUpdate
  assert.equal(waitOf('boot-2')?.pendingForAll, true)
  const gone = planNodeConfig(observedWith({ ...withStatus(configured), node: undefined }))
  assert.equal(gone.statusUpdate?.pendingForAll, true)
  const waiting = planNodeConfig(
    observedWith({ ...withStatus({ ...configured, observedGeneration: 2 }), namespacePaused: true }),
  )
  assert.equal(waiting.statusUpdate && 'pendingForAll' in waiting.statusUpdate, false)
})
