import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  aConfig,
  aJob,
  aNic,
  aNode,
  anEndedJob,
  machine,
  type ObservedValues,
  observedWith,
  start,
} from '../controller.fixture.ts'
import { addFinalizer, aStatus, config, configured, createJob, jobName, testPlans, withStatus } from './plan.fixture.ts'
import { planNodeConfig } from './plan.ts'

const running = aJob(config)
const bad = { verdict: 'Failed', message: 'no device has fa:16:3e:00:00:01' } as const
const missing = { verdict: 'Pending', message: 'multinic1 is not in the guest yet' } as const

testPlans({
  'a config waits for a node that is not in the cluster': [
    { node: undefined },
    'Pending NodeNotFound: node w1 is not in this cluster',
  ],
  'a config is never applied to another machine': [
    { node: undefined, otherMachine: aNode({ systemUUID: 'uuid-9' }) },
    `Pending WrongMachine: node w1 has system UUID uuid-9, not ${machine}`,
  ],
  'a config waits for a node that has not reported its system UUID': [
    { node: undefined, otherMachine: aNode({ systemUUID: '' }) },
    'Pending NodeUnreachable: node w1 has not reported its system UUID',
  ],
  'of two configs for one node, the younger one waits and says why': [
    { duplicates: [{ name: 'first', older: true, deleting: false, hasFinalizer: true }] },
    'Pending DuplicateNode: first is older and names the same node w1',
  ],
  'of two configs for one node, the older one proceeds': [
    { duplicates: [{ name: 'second', older: false, deleting: false, hasFinalizer: true }] },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0),
  ],
  'the younger config takes over when the older one is deleted': [
    { duplicates: [{ name: 'first', older: true, deleting: true, hasFinalizer: true }] },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0),
  ],
  'an invalid spec names every invalid field': [
    { config: { ...config, spec: { nodeName: 'w1', interfaces: [{ macAddress: 'nonsense', mtu: 5 }] } } },
    'Failed SpecInvalid: interfaces[0].macAddress: "nonsense" is not a MAC address; write six hex pairs with colons; interfaces[0].mtu: 5 is not a whole number from 68 to 9216',
  ],
  'a paused config gets no Job': [
    { config: aConfig({ metadata: { annotations: { 'multinic.io/paused': 'true' } } }) },
    'Pending Paused: annotation multinic.io/paused is set',
  ],
  'a paused namespace gets no Jobs': [
    { namespacePaused: true },
    'Pending Paused: annotation multinic.io/paused is set on namespace multinic-system',
  ],
  'a pause does not make a settled config unready': [
    withStatus(configured, { annotations: { 'multinic.io/paused': 'true' } }),
    'no status update',
  ],
  'an unreachable node gets no Job': [
    { node: aNode({ reachable: false }) },
    'Pending NodeUnreachable: node w1 is unreachable: its Ready condition is Unknown',
  ],
  'a settled config stays settled while its node is unreachable': [
    { ...withStatus(configured), node: aNode({ reachable: false }) },
    'no status update',
  ],
  'a node gets one Job per generation': [{}, 'no status update (requeue after 2s)', addFinalizer, createJob(0)],
  'a Job that just started is not in the status yet': [
    { jobs: [aJob(config, { createdAt: start - 500 })] },
    'no status update (requeue after 1.5s)',
  ],
  'a Job that just started replaces a status that says Pending': [
    { ...withStatus(aStatus('Pending', 'RolloutWaiting', 60)), jobs: [aJob(config, { createdAt: start - 500 })] },
    `InProgress Applying: ${running.name} is running`,
  ],
  'a Job that retries after NicMissing writes only its result': [
    { ...withStatus(aStatus('Pending', 'NicMissing', 60)), jobs: [aJob(config, { createdAt: start - 500 })] },
    'no status update (requeue after 1.5s)',
  ],
  'a Pending status of an older spec is not replaced early': [
    {
      ...withStatus(aStatus('Pending', 'RolloutWaiting', 60, { observedGeneration: 2 })),
      jobs: [aJob(config, { createdAt: start - 500 })],
    },
    'no status update (requeue after 1.5s)',
  ],
  'a Job whose node disappeared before it started is in the status': [
    { node: undefined, jobs: [aJob(config, { phase: 'waiting' })] },
    'InProgress NodeNotFound: node w1 is not in this cluster (requeue after 5s)',
  ],
  'a Job whose node was registered again as another machine before it started says so': [
    { node: undefined, otherMachine: aNode({ systemUUID: 'other' }), jobs: [aJob(config, { phase: 'waiting' })] },
    `InProgress WrongMachine: node w1 has system UUID other, not ${config.spec.instanceId} (requeue after 5s)`,
  ],
  'a machine that several Nodes report is named with them': [
    { node: undefined, twins: ['w1', 'w2'] },
    `Pending MachineNotUnique: nodes w1, w2 report the same system UUID ${config.spec.instanceId}`,
  ],
  'a Job without a Pod is in the status, and checked again at the start timeout': [
    { jobs: [aJob(config, { phase: 'waiting' })] },
    `InProgress Applying: ${running.name} is starting (requeue after 5s)`,
  ],
  'a running Job keeps running': [{ jobs: [running] }, `InProgress Applying: ${running.name} is running`],
  'a Pod that does not start is in the status': [
    { jobs: [aJob(config, { phase: 'waiting', createdAt: start - 31_000 })] },
    `InProgress PodNotStarting: ${running.name}: Pod has not started within 30s (requeue after 4s)`,
  ],
  'a cause that Kubernetes reports late is in the status within 5s': [
    { jobs: [aJob(config, { phase: 'waiting', createdAt: start - 11_000 })] },
    `InProgress Applying: ${running.name} is starting (requeue after 4s)`,
  ],
  'the cause of a Pod that has not started for minutes is read every 30s': [
    {
      jobs: [
        aJob(config, {
          ...{ phase: 'waiting', createdAt: start - 181_000 },
          podStartError: { reason: 'QuotaExceeded', message: 'exceeded quota' },
        }),
      ],
    },
    'InProgress QuotaExceeded: exceeded quota (requeue after 30s)',
  ],
  'a Job on an unreachable node is in the status': [
    { node: aNode({ reachable: false }), jobs: [running] },
    'InProgress NodeUnreachable: node w1 is unreachable: its Ready condition is Unknown',
  ],
  'a Pod that admission rejects is in the status': [
    {
      jobs: [
        aJob(config, { phase: 'waiting', podStartError: { reason: 'PodForbidden', message: 'violates PodSecurity' } }),
      ],
    },
    'InProgress PodForbidden: violates PodSecurity (requeue after 5s)',
  ],
  'a node out of resources is in the status': [
    {
      jobs: [aJob(config, { phase: 'waiting', podStartError: { reason: 'NodeOutOfResources', message: 'OutOfpods' } })],
    },
    'InProgress NodeOutOfResources: OutOfpods (requeue after 5s)',
  ],
  'a missing host directory is in the status': [
    { jobs: [aJob(config, { phase: 'waiting', podStartError: { reason: 'MountFailed', message: '/etc/netplan' } })] },
    'InProgress MountFailed: /etc/netplan (requeue after 5s)',
  ],
  'a Job that ended before the cache shows its Pod is checked again': [
    { jobs: [aJob(config, { recheckAfterMs: 3_000 })] },
    'no status update (requeue after 3s)',
  ],
  'a running Job of an older generation is not killed': [
    { jobs: [aJob(config, { generation: 2 })] },
    `Pending PreviousJobRunning: ${running.name} must end before the next agent starts`,
  ],
  'a running Job of a config that was deleted and created again is not killed': [
    { jobs: [aJob(config, { configUid: 'another' })] },
    `Pending PreviousJobRunning: ${running.name} must end before the next agent starts`,
  ],
  'an older Job whose agent never started is deleted': [
    { jobs: [aJob(config, { generation: 2, phase: 'waiting', createdAt: start - 31_000 })] },
    `Pending PreviousJobRunning: ${running.name} must end before the next agent starts`,
    { do: 'deleteJob', name: running.name, uid: 'job-uid' },
  ],
  'an ended Job of an older generation is deleted, and its report ignored': [
    { jobs: [anEndedJob(config, {}, { generation: 2 })] },
    'no status update (requeue after 2s)',
    addFinalizer,
    { do: 'deleteJob', name: running.name, uid: 'job-uid' },
    createJob(0),
  ],
  'a Job that ends without a report is a failure': [
    { jobs: [aJob(config, { phase: 'ended', result: { missing: 'the agent left no report (exit code 137)' } })] },
    `Failed ReportMissing: ${running.name}: the agent left no report (exit code 137) (requeue after 10s)`,
  ],
  'a failure shows the message of the agent': [
    { jobs: [anEndedJob(config, bad)] },
    'Failed ApplyFailed: no device has fa:16:3e:00:00:01 (requeue after 10s)',
  ],
  'a failure without a message shows the messages of its interfaces': [
    {
      jobs: [
        anEndedJob(config, {
          verdict: 'Failed',
          interfaces: [aNic(0), aNic(1, { status: 'Failed', reason: 'InterfaceNameInUse', message: 'by eth9' })],
        }),
      ],
    },
    'Failed ApplyFailed: multinic1: InterfaceNameInUse: by eth9 (requeue after 10s)',
  ],
  'a successful report makes the config ready': [
    { jobs: [anEndedJob(config)] },
    'Configured AllInterfacesConfigured: All 2 interfaces configured successfully',
  ],
  'a successful report that lacks an interface is a failure': [
    { jobs: [anEndedJob(config, { interfaces: [aNic(0)] })] },
    `Failed ReportMissing: ${running.name}: report does not mention multinic1 (requeue after 10s)`,
  ],
  'a successful report counts even if the node disappeared since': [
    { node: undefined, jobs: [anEndedJob(config)] },
    'Configured AllInterfacesConfigured: All 2 interfaces configured successfully',
  ],
  'a settled config needs no step': [withStatus(configured), 'no status update'],
  'a result is recorded once': [
    {
      ...withStatus({ ...configured, lastJobName: running.name }),
      jobs: [anEndedJob(config, {}, { endedAt: start - 10_000 })],
    },
    'no status update (requeue after 650s)',
    addFinalizer,
  ],
  'an ended Job that no TTL controller removed is deleted': [
    {
      ...withStatus({ ...configured, lastJobName: running.name }),
      jobs: [anEndedJob(config, {}, { endedAt: start - 700_000 })],
    },
    'no status update',
    addFinalizer,
    { do: 'deleteJob', name: running.name, uid: 'job-uid' },
  ],
  'a Job starts as soon as a wait is over': [
    withStatus(aStatus('Pending', 'Paused', 1, { failedAttempts: 6 })),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(6, { takesSlot: true }),
  ],
  'an ended Job of another config is not deleted': [
    { ...withStatus(configured), jobs: [anEndedJob(config, {}, { configUid: 'another', endedAt: start - 700_000 })] },
    'no status update',
  ],
  'a rebooted node is configured again without a rollout slot': [
    { ...withStatus(configured), node: aNode({ bootID: 'boot-2' }), rollout: { available: false, message: 'full' } },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0, { name: jobName(0, { bootID: 'boot-2' }) }),
  ],
  'a config waits for a NIC that is not in the guest yet': [
    { jobs: [anEndedJob(config, missing)] },
    'Pending NicMissing: multinic1 is not in the guest yet (requeue after 1s)',
  ],
  'the delay for a missing NIC grows': [
    { jobs: [anEndedJob(config, missing, { attempt: 3 })] },
    'Pending NicMissing: multinic1 is not in the guest yet (requeue after 10s)',
  ],
  'a missing NIC is not retried before its delay': [
    {
      ...withStatus(aStatus('Pending', 'NicMissing', 3, { lastJobName: running.name })),
      jobs: [anEndedJob(config, missing, { attempt: 2, endedAt: start - 3_000 })],
    },
    'no status update (requeue after 2s)',
    addFinalizer,
  ],
  'a missing NIC is retried with a new Job name and without a rollout slot': [
    {
      ...withStatus(aStatus('Pending', 'NicMissing', 6, { lastJobName: running.name })),
      jobs: [anEndedJob(config, missing, { attempt: 2 })],
      rollout: { available: false, message: 'full' },
    },
    'no status update (requeue after 2s)',
    addFinalizer,
    { do: 'deleteJob', name: running.name, uid: 'job-uid' },
    createJob(3),
  ],
  'a failed spec waits for its retry delay': [
    withStatus(aStatus('Failed', 'ApplyFailed', 4, { failedAttempts: 1 })),
    'no status update (requeue after 6s)',
  ],
  'a failure time in the future, from a clock set back since, causes no wait': [
    withStatus(aStatus('Failed', 'ApplyFailed', -3_600, { failedAttempts: 1 })),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(1, { takesSlot: true, rate: 'retry' }),
  ],
  'a Job with a creation time in the future counts as just started': [
    { jobs: [aJob(config, { createdAt: start + 3_600_000 })] },
    'no status update (requeue after 2s)',
  ],
  'a failed spec is retried with a new Job name': [
    withStatus(aStatus('Failed', 'ApplyFailed', 31, { failedAttempts: 2 })),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(2, { takesSlot: true, rate: 'retry' }),
  ],
  'a Job name whose result is recorded is never used again': [
    withStatus(aStatus('Failed', 'ApplyFailed', 31, { failedAttempts: 2, lastJobName: jobName(2) })),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(3, { takesSlot: true, rate: 'retry' }),
  ],
  'the retry annotation retries a spec before its delay': [
    withStatus(aStatus('Failed', 'ApplyFailed', 1, { failedAttempts: 6 }), {
      annotations: { 'multinic.io/retry': '1' },
    }),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(6, { takesSlot: true }),
    { do: 'clearRequests' },
  ],
  'a new spec is tried after any number of failures': [
    withStatus(aStatus('Failed', 'ApplyFailed', 1, { failedAttempts: 6, observedGeneration: 2 })),
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0, { takesSlot: true }),
  ],
  'a change waits for a rollout slot': [
    {
      ...withStatus({ ...configured, observedGeneration: 2 }),
      rollout: { available: false, message: 'other nodes are changing, at most 1 at a time' },
    },
    'Pending RolloutWaiting: other nodes are changing, at most 1 at a time',
  ],
  'a change waits while the rollout is stopped': [
    {
      ...withStatus({ ...configured, observedGeneration: 2 }),
      rollout: { available: false, message: '3 nodes failed', stopped: true },
    },
    'Pending RolloutStopped: 3 nodes failed',
  ],
  'a retry does not wait for a rollout slot': [
    {
      ...withStatus(aStatus('Failed', 'ApplyFailed', 31, { failedAttempts: 2 })),
      rollout: { available: false, message: '3 nodes failed', stopped: true },
    },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(2, { takesSlot: true, rate: 'retry' }),
  ],
  'a first configuration does not wait for a rollout slot': [
    { rollout: { available: false, message: 'full' } },
    'no status update (requeue after 2s)',
    addFinalizer,
    createJob(0),
  ],
  'a finalizer is added once': [
    { config: aConfig({ metadata: { finalizers: ['multinic.io/node-cleanup'] } }) },
    'no status update (requeue after 2s)',
    createJob(0),
  ],
})

test('only a change that takes a slot asks for the rollout: it looks at all nodes', () => {
  const lazy = (values: ObservedValues) =>
    Object.defineProperty(observedWith(values), 'rollout', { get: () => assert.fail('computed') })
  for (const values of [
    withStatus(configured),
    {},
    withStatus(aStatus('Failed', 'ApplyFailed', 31, { failedAttempts: 2 })),
  ])
    planNodeConfig(lazy(values))
  assert.throws(() => planNodeConfig(lazy(withStatus({ ...configured, observedGeneration: 2 }))), /computed/)
})

test('the end of an agent is between the creation of its Job and now, whatever the clock of its node says', () => {
  const endOf = (endedAt: number) =>
    planNodeConfig(observedWith({ jobs: [anEndedJob(config, {}, { endedAt })] })).statusUpdate?.result?.endedAt
  assert.deepEqual([start - 1_000, start + 3_600_000, start - 3_600_000].map(endOf), [
    start - 1_000,
    start,
    start - 5_000,
  ])
})
