import { aJob, aNode, anEndedJob, start } from '../controller.fixture.ts'
import { checkRetryDelay, checkRound } from './check-schedule.ts'
import { addFinalizer, aStatus, config, configured, createJob, testPlans, withStatus } from './plan.fixture.ts'

const drift = (intervalMs: number, policy: 'report' | 'repair' = 'report') => ({
  checkIntervalMs: intervalMs,
  policy: { drift: policy, cleanupTimeoutMs: 600_000, jobTtlMs: 600_000 },
})
const round = (intervalMs: number) => checkRound(config.metadata.uid ?? '', intervalMs, start, start - 60_000)
const requeueAfter = (ms: number) => `no status update (requeue after ${ms / 1_000}s)`
const check = createJob(round(30_000).number, { action: 'check', rate: 'check' })
const drifted = { mode: 'check', verdict: 'Drifted', message: 'multinic0: mtu is 1500, not 1450' } as const
const older = {
  mode: 'check',
  verdict: 'Drifted',
  reason: 'ConfiguredByOlderAgent',
  message: 'multinic0: remove rule',
} as const

testPlans({
  'a check runs when its interval has passed': [
    { ...withStatus(configured), ...drift(30_000) },
    'no status update (requeue after 2s)',
    addFinalizer,
    check,
  ],
  'a check does not run before its interval has passed': [
    { ...withStatus(configured), ...drift(3_600_000) },
    requeueAfter(round(3_600_000).nextMs),
  ],
  'a check waits while the check limit is reached': [
    { ...withStatus(configured), ...drift(30_000), checkLimitReached: true },
    requeueAfter(checkRetryDelay(config.metadata.uid ?? '')),
  ],
  'a check waits while the namespace is paused': [
    { ...withStatus(configured), ...drift(30_000), namespacePaused: true },
    requeueAfter(checkRetryDelay(config.metadata.uid ?? '')),
  ],
  'a check that cannot run now leaves the config ready': [
    { ...withStatus(configured), ...drift(30_000), node: aNode({ reachable: false }) },
    requeueAfter(checkRetryDelay(config.metadata.uid ?? '')),
  ],
  'a check does not run beside another agent': [
    { ...withStatus(configured), ...drift(30_000), jobs: [aJob(config, { configUid: 'another' })] },
    requeueAfter(checkRetryDelay(config.metadata.uid ?? '')),
  ],
  'a running check leaves the config ready': [
    { ...withStatus(configured), ...drift(30_000), jobs: [aJob(config, { action: 'check' })] },
    'no status update',
  ],
  'a check without findings leaves the config ready': [
    {
      ...withStatus(configured),
      jobs: [anEndedJob(config, { mode: 'check', verdict: 'InSync' }, { action: 'check' })],
    },
    'Configured AllInterfacesConfigured: All 2 interfaces configured successfully',
  ],
  'drift is reported': [
    { ...withStatus(configured), jobs: [anEndedJob(config, drifted, { action: 'check' })] },
    'Failed Drifted: multinic0: mtu is 1500, not 1450',
  ],
  'reported drift is not repaired': [
    { ...withStatus(aStatus('Failed', 'Drifted', 1)), ...drift(30_000) },
    requeueAfter(round(30_000).nextMs),
  ],
  'drift is repaired if the policy says so': [
    { ...withStatus(aStatus('Failed', 'Drifted', 1)), ...drift(30_000, 'repair') },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0, { takesSlot: true }),
  ],
  'a node of the Go implementation is no drift, and stays as it is until somebody asks for a run': [
    { ...withStatus(configured), jobs: [anEndedJob(config, older, { action: 'check' })] },
    'Configured ConfiguredByOlderAgent: The Go implementation configured the interfaces; to configure them again, run multinic rollout agent',
  ],
  'the next check of a node of the Go implementation comes in its turn, whatever the policy is': [
    {
      ...withStatus({ ...configured, ...aStatus('Configured', 'ConfiguredByOlderAgent', 1) }),
      ...drift(30_000, 'repair'),
    },
    requeueAfter(round(30_000).nextMs),
  ],
  'a node that a config takes over stays as it is': [
    { jobs: [anEndedJob(config, older, { action: 'check' })] },
    'Failed Drifted: multinic0: remove rule',
  ],
  'a check waits while the cluster has had its share of checks': [
    { ...withStatus(configured), ...drift(30_000), checkRateReached: true },
    requeueAfter(checkRetryDelay(config.metadata.uid ?? '')),
  ],
  'a node is not checked soon after it was configured': [
    { ...withStatus(aStatus('Configured', 'AllInterfacesConfigured', 14)), ...drift(30_000) },
    requeueAfter(round(30_000).nextMs),
  ],
  'the check annotation starts a check at once, whatever the rate is': [
    {
      ...withStatus(configured, { annotations: { 'multinic.io/check': 'now' } }),
      ...drift(3_600_000),
      checkRateReached: true,
    },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0, { action: 'check' }),
    { do: 'clearRequests' },
  ],
  'a node is checked after the API server was restored from a backup, whatever its status says': [
    { ...withStatus(configured), ...drift(3_600_000), checkRateReached: true, restoredAt: start - 1_000 },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0, { action: 'check' }),
  ],
  'a node that was checked since the restore is not checked again': [
    { ...withStatus(configured), ...drift(3_600_000), restoredAt: start - 3_600_000 },
    requeueAfter(round(3_600_000).nextMs),
  ],
  'a check has a Job name that no earlier check had': [
    {
      ...withStatus(
        { ...configured, lastJobName: 'multinic-agent-w1-g3-job' },
        { annotations: { 'multinic.io/check': 'now' } },
      ),
      jobs: [anEndedJob(config, { mode: 'check', verdict: 'InSync' }, { action: 'check' })],
    },
    'no status update (requeue after 2s)',
    addFinalizer,
    { do: 'deleteJob', name: 'multinic-agent-w1-g3-job', uid: 'job-uid' },
    createJob(1, { action: 'check' }),
    { do: 'clearRequests' },
  ],
  'a check of an edited status has a Job name that no earlier check had': [
    {
      ...withStatus({ ...configured, nics: '9/9', lastJobName: 'multinic-agent-w1-g3-job' }),
      jobs: [anEndedJob(config, { mode: 'check', verdict: 'InSync' }, { action: 'check' })],
    },
    'no status update (requeue after 2s)',
    addFinalizer,
    { do: 'deleteJob', name: 'multinic-agent-w1-g3-job', uid: 'job-uid' },
    createJob(1, { action: 'check', rate: 'check' }),
  ],
  'the check annotation works while periodic checks are off': [
    withStatus(configured, { annotations: { 'multinic.io/check': 'now' } }),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0, { action: 'check' }),
    { do: 'clearRequests' },
  ],
  'a check that leaves no report says nothing about the node': [
    {
      ...withStatus(configured),
      jobs: [aJob(config, { action: 'check', phase: 'ended', result: { missing: 'killed' } })],
    },
    'Configured AllInterfacesConfigured: ',
  ],
})
