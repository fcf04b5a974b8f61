/** Plans for a node that another config managed before: a BizConfig, a MultiNicNodeConfig, or the Go implementation. */
import { aConfig, aJob, anEndedJob } from '../controller.fixture.ts'
import { addFinalizer, aStatus, config, configured, createJob, testPlans, withStatus } from '../plan/plan.fixture.ts'

const adopting = { annotations: { 'multinic.io/adopt': 'true' } }
const adopted = aConfig({ metadata: adopting })
const check = createJob(0, { action: 'check' })
const { bootID: _, interfaceStatuses: __, ...byGo } = aStatus('Configured', 'JobSucceeded', 60)
const entry = { ...config, kind: 'MultiNicBizConfig' }
const owner = { name: 'w1', older: true, deleting: false, hasFinalizer: true }
const oldJob = aJob(config, { configUid: '', name: 'multinic-agent-w1-g3', uid: 'old' })
const deleteOldJob = { do: 'deleteJob', name: 'multinic-agent-w1-g3', uid: 'old' } as const

const neverConfigured = [0, 1].map(id => ({ id, macAddress: `fa:16:3e:00:00:0${id}`, status: 'Failed' as const }))

testPlans({
  'a node of a BizConfig waits for a MultiNicNodeConfig of the same node, whichever is older': [
    { config: entry, duplicates: [owner] },
    'Pending OwnedByNodeConfig: MultiNicNodeConfig w1 manages node w1',
  ],
  'of two BizConfigs that name a node, the older one manages it': [
    { config: entry, duplicates: [{ ...owner, name: 'other:vm', legacy: true }] },
    'Pending DuplicateNode: other:vm is older and names the same node w1',
  ],
  'a config that takes over a node checks it first': [
    { config: adopted },
    'no status update (requeue after 2s)',
    addFinalizer,
    check,
  ],
  'a first check waits for a running agent': [
    { config: adopted, jobs: [aJob(config, { configUid: 'another', name: 'running' })] },
    'Pending PreviousJobRunning: running must end before the next agent starts',
  ],
  'first checks count against the check limit': [
    { config: adopted, checkLimitReached: true },
    'no status update (requeue after 1s)',
  ],
  'a node that matches is taken over by the check': [
    { config: adopted, jobs: [anEndedJob(adopted, { verdict: 'InSync', mode: 'check' }, { action: 'check' })] },
    'Configured AllInterfacesConfigured: All 2 interfaces configured successfully',
  ],
  'a node that differs is left unchanged': [
    withStatus(aStatus('Failed', 'Drifted', 60, { interfaceStatuses: neverConfigured }), adopting),
    'no status update',
  ],
  'the retry annotation applies the spec to a node that differs, which takes a slot': [
    withStatus(aStatus('Failed', 'Drifted', 60, { interfaceStatuses: neverConfigured }), {
      annotations: { ...adopting.annotations, 'multinic.io/retry': 'now' },
    }),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0, { takesSlot: true }),
    { do: 'clearRequests' },
  ],
  'the repair policy applies the spec to a node that differs, which takes a slot': [
    {
      ...withStatus(aStatus('Failed', 'Drifted', 60, { interfaceStatuses: neverConfigured }), adopting),
      policy: { drift: 'repair', cleanupTimeoutMs: 600_000, jobTtlMs: 600_000 },
    },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0, { takesSlot: true }),
  ],
  'a first check without a report is repeated with a new Job name': [
    withStatus(
      aStatus('Failed', 'ReportMissing', 60, { failedAttempts: 1, interfaceStatuses: neverConfigured }),
      adopting,
    ),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(1, { action: 'check' }),
  ],
  'after the takeover a new spec is applied': [
    withStatus({ ...configured, observedGeneration: 2 }, adopting),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0, { takesSlot: true }),
  ],
  'a node that returns from a MultiNicNodeConfig to its BizConfig is checked first': [
    { config: { ...entry, status: aStatus('Pending', 'OwnedByNodeConfig', 60) } },
    'no status update (requeue after 2s)',
    addFinalizer,
    check,
  ],
  'a node configured by the Go implementation waits for a rollout slot': [
    { ...withStatus(byGo), rollout: { available: false, message: 'slots in use' } },
    'Pending RolloutWaiting: slots in use',
  ],
  'a node configured by the Go implementation with another spec waits for a rollout slot': [
    { ...withStatus({ ...byGo, observedGeneration: 2 }), rollout: { available: false, message: 'slots in use' } },
    'Pending RolloutWaiting: slots in use',
  ],
  'an ended Job of the Go implementation is deleted before ours starts': [
    { ...withStatus(byGo), jobs: [{ ...oldJob, phase: 'ended' }] },
    'no status update (requeue after 2s)',
    addFinalizer,
    deleteOldJob,
    createJob(0, { takesSlot: true }),
  ],
  'a running Job of the Go implementation keeps running': [
    { ...withStatus(byGo), jobs: [oldJob] },
    'Pending PreviousJobRunning: multinic-agent-w1-g3 must end before the next agent starts',
  ],
  'an ended Job of the Go implementation beside a settled config is deleted': [
    { ...withStatus(configured), jobs: [{ ...oldJob, phase: 'ended' }] },
    'no status update',
    deleteOldJob,
  ],
})
