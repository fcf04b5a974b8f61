import { bizConfigs } from '../../contract/legacy/biz-config.ts'
import { aConfig, aJob, aNic, anEndedJob, start } from '../controller.fixture.ts'
import { addFinalizer, aStatus, config, configured, createJob, testPlans, withStatus } from './plan.fixture.ts'

const running = aJob(config)
const noSlot = { available: false, message: 'full' }
const bad = { verdict: 'Failed', message: 'no device has fa:16:3e:00:00:01' } as const
const refused = {
  verdict: 'Failed' as const,
  reason: 'InterfaceNameInUse',
  interfaces: [aNic(0), aNic(1, { status: 'Failed', reason: 'InterfaceNameInUse' })],
}
const refusedStatuses = refused.interfaces.map(nic => ({ ...nic, lastConfigured: '2025-12-01T00:00:00Z' }))

testPlans({
  'experience M9: the sixth failure is retried after 10 min': [
    { ...withStatus(aStatus('Failed', 'ApplyFailed', 0, { failedAttempts: 5 })), jobs: [anEndedJob(config, bad)] },
    'Failed ApplyFailed: no device has fa:16:3e:00:00:01 (requeue after 600s)',
  ],
  'after a day of failures a spec is retried every hour': [
    { ...withStatus(aStatus('Failed', 'ApplyFailed', 0, { failedAttempts: 149 })), jobs: [anEndedJob(config, bad)] },
    'Failed ApplyFailed: no device has fa:16:3e:00:00:01 (requeue after 3600s)',
  ],
  'experience M9: a spec that failed often is retried': [
    withStatus(aStatus('Failed', 'ApplyFailed', 601, { failedAttempts: 6 })),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(6, { takesSlot: true, rate: 'retry' }),
  ],
  'a retry waits while the cluster has had its share of retries': [
    { ...withStatus(aStatus('Failed', 'ApplyFailed', 601, { failedAttempts: 6 })), retryRateReached: true },
    'no status update (requeue after 5s)',
  ],
  'a refusal waits for a change': [
    { jobs: [anEndedJob(config, { ...refused, message: 'multinic1: eth9 has the name.; ' })] },
    'Failed ApplyFailed: multinic1: eth9 has the name; waiting for a change of the spec, the Node or the agent, or for annotation multinic.io/retry',
  ],
  'a refusal beside a failure is retried': [
    {
      jobs: [
        anEndedJob(config, {
          ...refused,
          interfaces: [aNic(0, { status: 'Failed', reason: 'LinkDown' }), ...refused.interfaces.slice(1)],
        }),
      ],
    },
    'Failed ApplyFailed: multinic0: LinkDown; multinic1: InterfaceNameInUse (requeue after 10s)',
  ],
  'a refused spec is not retried by itself': [
    withStatus(aStatus('Failed', 'ApplyFailed', 99_999, { failedAttempts: 1, interfaceStatuses: refusedStatuses })),
    'no status update',
  ],
  'a refused spec is tried again with another agent or Node': [
    {
      ...withStatus(
        aStatus('Failed', 'ApplyFailed', 1, {
          failedAttempts: 1,
          interfaceStatuses: refusedStatuses,
          agentHash: 'before',
        }),
      ),
      agentHash: 'now',
    },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(1, { takesSlot: true }),
  ],
  'a failed spec does not wait for its delay after a change of the agent or the Node': [
    {
      ...withStatus(aStatus('Failed', 'ApplyFailed', 1, { failedAttempts: 6, agentHash: 'before' })),
      agentHash: 'now',
    },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(6, { takesSlot: true }),
  ],
  'experience H2: the retry annotation applies a Configured node again': [
    withStatus(configured, { annotations: { 'multinic.io/retry': 'now' } }),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0, { takesSlot: true }),
    { do: 'clearRequests' },
  ],
  'controller M5: a Job that does not start is replaced when the agent would run with something else': [
    { jobs: [aJob(config, { phase: 'waiting', createdAt: start - 30_000, agentHash: 'before' })], agentHash: 'now' },
    'no status update (requeue after 2s)',
    addFinalizer,
    { do: 'deleteJob', name: running.name, uid: 'job-uid' },
    createJob(1),
  ],
  'controller M5: a Job that cannot start is replaced by a retry': [
    {
      config: aConfig({ metadata: { annotations: { 'multinic.io/retry': 'now' } } }),
      jobs: [
        aJob(config, { phase: 'waiting', podStartError: { reason: 'ImagePullFailed', message: 'no such image' } }),
      ],
    },
    'no status update (requeue after 2s)',
    addFinalizer,
    { do: 'deleteJob', name: running.name, uid: 'job-uid' },
    createJob(1),
    { do: 'clearRequests' },
  ],
  'a Job that starts normally is not replaced by a retry': [
    {
      config: aConfig({ metadata: { annotations: { 'multinic.io/retry': 'now' } } }),
      jobs: [aJob(config, { phase: 'waiting' })],
    },
    `InProgress Applying: ${running.name} is starting (requeue after 5s)`,
  ],
  'a running agent is never replaced': [
    { jobs: [aJob(config, { agentHash: 'before', createdAt: start - 90_000 })], agentHash: 'now' },
    `InProgress Applying: ${running.name} is running`,
  ],
  'a Job that does not start stays while its agent would run with the same': [
    { jobs: [aJob(config, { phase: 'waiting', createdAt: start - 31_000, agentHash: 'now' })], agentHash: 'now' },
    `InProgress PodNotStarting: ${running.name}: Pod has not started within 30s (requeue after 4s)`,
  ],
  'a Job of a controller without agent hashes stays, even if it does not start': [
    { jobs: [aJob(config, { phase: 'waiting', createdAt: start - 31_000 })], agentHash: 'now' },
    `InProgress PodNotStarting: ${running.name}: Pod has not started within 30s (requeue after 4s)`,
  ],
  'a failure that blames no interface is retried, even if its reason is a refusal': [
    { jobs: [anEndedJob(config, { ...refused, message: 'no', interfaces: [aNic(0), aNic(1)] })] },
    'Failed ApplyFailed: no (requeue after 10s)',
  ],
  'a NIC that is missing for long is retried every 30 s, within the rate of the cluster': [
    withStatus(aStatus('Pending', 'NicMissing', 30)),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0, { rate: 'retry' }),
  ],
  'a NIC that is missing for long is not retried before 30 s': [
    withStatus(aStatus('Pending', 'NicMissing', 29)),
    'no status update (requeue after 1s)',
  ],
  'a spec that the Go implementation rejected is applied like a new one': [
    withStatus(aStatus('Failed', 'SpecInvalid', 1)),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0, { takesSlot: true }),
  ],
  'a failed spec waits for its delay if the agent is the same': [
    {
      ...withStatus(aStatus('Failed', 'ApplyFailed', 0, { failedAttempts: 1, agentHash: 'now' })),
      agentHash: 'now',
    },
    'no status update (requeue after 10s)',
  ],
  'a failed spec waits for its delay if its agent is not known': [
    { ...withStatus(aStatus('Failed', 'ApplyFailed', 4, { failedAttempts: 1 })), agentHash: 'now' },
    'no status update (requeue after 6s)',
  ],
  'a failed spec is retried as soon as its delay has passed': [
    withStatus(aStatus('Failed', 'ApplyFailed', 10, { failedAttempts: 1 })),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(1, { takesSlot: true, rate: 'retry' }),
  ],
  'a refused spec with a time for its next attempt is retried then': [
    withStatus(
      aStatus('Failed', 'ApplyFailed', 10, {
        ...{ failedAttempts: 1, interfaceStatuses: refusedStatuses, nextAttempt: '2026-01-01T00:00:00Z' },
      }),
    ),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(1, { takesSlot: true, rate: 'retry' }),
  ],
  'a failed node that gets another agent does not wait for a slot': [
    {
      ...withStatus(aStatus('Failed', 'ApplyFailed', 1, { failedAttempts: 6, agentHash: 'before' })),
      ...{ agentHash: 'now', rollout: noSlot },
    },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(6, { takesSlot: true }),
  ],
  'a failed node whose status contradicts itself does not wait for a slot': [
    { ...withStatus(aStatus('Failed', 'ApplyFailed', 1, { failedAttempts: 2, nics: '9/9' })), rollout: noSlot },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(2, { takesSlot: true, rate: 'retry' }),
  ],
  'the retry annotation does not wait for a slot': [
    { ...withStatus(configured, { annotations: { 'multinic.io/retry': 'now' } }), rollout: noSlot },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0, { takesSlot: true }),
    { do: 'clearRequests' },
  ],
  'the retry annotation on a settled node of a MultiNicBizConfig is for other nodes': [
    {
      config: {
        ...withStatus({ ...configured, nics: '' }, { annotations: { 'multinic.io/retry': 'now' } }).config,
        kind: bizConfigs.kind,
      },
    },
    'no status update',
  ],
  'a retry of a node that a config takes over applies instead of a check': [
    { config: aConfig({ metadata: { annotations: { 'multinic.io/adopt': 'true', 'multinic.io/retry': 'now' } } }) },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0),
    { do: 'clearRequests' },
  ],
  'a Pending node whose status contradicts itself is applied, not checked': [
    withStatus(aStatus('Pending', 'RolloutWaiting', 60, { nics: '9/9' })),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0, { takesSlot: true }),
  ],
  'a paused config keeps its Job': [
    {
      namespacePaused: true,
      jobs: [aJob(config, { podStartError: { reason: 'AgentCrashed', message: 'exit code 2' }, agentHash: 'before' })],
      agentHash: 'now',
    },
    'InProgress AgentCrashed: exit code 2',
  ],
  'controller M8: a crashing agent is in the status': [
    { jobs: [aJob(config, { podStartError: { reason: 'AgentCrashed', message: 'exit code 2' } })] },
    'InProgress AgentCrashed: exit code 2',
  ],
})
