import { aConfig, aJob, aNic, aNode, anEndedJob, machine, start } from '../controller.fixture.ts'
import { config, configured, create, finalizer, holdsFor, named, told, withStatus } from './plan.fixture.ts'

const running = aJob(config)
const bad = { verdict: 'Failed', message: 'no device has fa:16:3e:00:00:01' } as const
const missing = { verdict: 'Pending', message: 'multinic1 is not in the guest yet' } as const

holdsFor({
  'a config without its node waits for the node': [
    { node: undefined },
    'Pending NodeNotFound: node w1 is not in this cluster',
  ],
  'a config for another machine is never applied': [
    { node: undefined, namesake: aNode({ systemUUID: 'uuid-9' }) },
    `Pending WrongMachine: node w1 is machine uuid-9, not ${machine}`,
  ],
  'a node that has not told which machine it is is waited for': [
    { node: undefined, namesake: aNode({ systemUUID: '' }) },
    'Pending NodeUnreachable: node w1 has not told which machine it is',
  ],
  'of two configs for one node the younger one says why it waits': [
    { twins: [{ name: 'first', older: true, deleting: false }] },
    'Pending DuplicateNode: first is older and names the same node w1',
  ],
  'the older one of two goes on': [
    { twins: [{ name: 'second', older: false, deleting: false }] },
    'as it is (again in 2s)',
    finalizer,
    create(0),
  ],
  'the younger one takes over when the older one is deleted': [
    { twins: [{ name: 'first', older: true, deleting: true }] },
    'as it is (again in 2s)',
    finalizer,
    create(0),
  ],
  'a spec that cannot be used names every field': [
    { config: { ...config, spec: { nodeName: 'w1', interfaces: [{ macAddress: 'nonsense', mtu: 5 }] } } },
    'Failed SpecInvalid: interfaces[0].macAddress: "nonsense" is not a MAC address; write six hex pairs with colons; interfaces[0].mtu: 5 is not a whole number from 68 to 9216',
  ],
  'a paused config is not started': [
    { config: aConfig({ metadata: { annotations: { 'multinic.io/paused': 'true' } } }) },
    'Pending Paused: annotation multinic.io/paused is set',
  ],
  'nothing is started while everything is paused': [
    { allPaused: true },
    'Pending Paused: annotation multinic.io/paused is set on namespace multinic-system',
  ],
  'a pause does not make a settled config unready': [
    withStatus(configured, { annotations: { 'multinic.io/paused': 'true' } }),
    'as it is',
  ],
  'a node that nobody hears from gets no job': [
    { node: aNode({ heard: false }) },
    'Pending NodeUnreachable: nobody hears from node w1',
  ],
  'a settled config stays settled when nobody hears from its node': [
    { ...withStatus(configured), node: aNode({ heard: false }) },
    'as it is',
  ],
  'a node gets one job per generation': [{}, 'as it is (again in 2s)', finalizer, create(0)],
  'a job that has just begun is not told yet': [
    { jobs: [aJob(config, { createdAt: start - 500 })] },
    'as it is (again in 1.5s)',
  ],
  'a job that has just begun is told at once where the status says that nothing happens': [
    { ...withStatus(told('Pending', 'RolloutWaiting', 60)), jobs: [aJob(config, { createdAt: start - 500 })] },
    `InProgress Applying: ${running.name} is running`,
  ],
  'a job that looks for a NIC again is told by its result only': [
    { ...withStatus(told('Pending', 'NicMissing', 60)), jobs: [aJob(config, { createdAt: start - 500 })] },
    'as it is (again in 1.5s)',
  ],
  'a wait of an older spec is no reason to tell more': [
    {
      ...withStatus(told('Pending', 'RolloutWaiting', 60, { observedGeneration: 2 })),
      jobs: [aJob(config, { createdAt: start - 500 })],
    },
    'as it is (again in 1.5s)',
  ],
  'a job whose node has gone before it started is told': [
    { node: undefined, jobs: [aJob(config, { phase: 'waiting' })] },
    'InProgress NodeNotFound: node w1 is not in this cluster (again in 25s)',
  ],
  'a job that has no Pod yet is told, and looked at when it should run': [
    { jobs: [aJob(config, { phase: 'waiting' })] },
    `InProgress Applying: ${running.name} is starting (again in 25s)`,
  ],
  'a running job is left alone': [{ jobs: [running] }, `InProgress Applying: ${running.name} is running`],
  'a Pod that does not start is told': [
    { jobs: [aJob(config, { phase: 'waiting', createdAt: start - 31_000 })] },
    `InProgress PodNotStarting: the Pod of ${running.name} does not start on its node (again in 60s)`,
  ],
  'a job on a node that nobody hears from is told': [
    { node: aNode({ heard: false }), jobs: [running] },
    'InProgress NodeUnreachable: nobody hears from node w1',
  ],
  'a Pod that admission forbids is told': [
    {
      jobs: [aJob(config, { phase: 'waiting', trouble: { reason: 'PodForbidden', message: 'violates PodSecurity' } })],
    },
    'InProgress PodForbidden: violates PodSecurity (again in 25s)',
  ],
  'a node without room is told': [
    { jobs: [aJob(config, { phase: 'waiting', trouble: { reason: 'NodeOutOfResources', message: 'OutOfpods' } })] },
    'InProgress NodeOutOfResources: OutOfpods (again in 25s)',
  ],
  'a directory that is not there is told': [
    { jobs: [aJob(config, { phase: 'waiting', trouble: { reason: 'MountFailed', message: '/etc/netplan' } })] },
    'InProgress MountFailed: /etc/netplan (again in 25s)',
  ],
  'a Job that ended before its Pod was seen is looked at again': [
    { jobs: [aJob(config, { lookAgainMs: 3_000 })] },
    'as it is (again in 3s)',
  ],
  'a running job of an older generation is not killed': [
    { jobs: [aJob(config, { generation: 2 })] },
    `Pending PreviousJobRunning: ${running.name} must end before the next agent starts`,
  ],
  'a running job of a config that was deleted and made again is not killed': [
    { jobs: [aJob(config, { configUid: 'another' })] },
    `Pending PreviousJobRunning: ${running.name} must end before the next agent starts`,
  ],
  'an older job whose agent never started makes room': [
    { jobs: [aJob(config, { generation: 2, phase: 'waiting', createdAt: start - 31_000 })] },
    `Pending PreviousJobRunning: ${running.name} must end before the next agent starts`,
    { do: 'deleteJob', name: running.name, uid: 'job-uid' },
  ],
  'an ended job of an older generation is cleared, and its report is not used': [
    { jobs: [anEndedJob(config, {}, { generation: 2 })] },
    'as it is (again in 2s)',
    finalizer,
    { do: 'deleteJob', name: running.name, uid: 'job-uid' },
    create(0),
  ],
  'a job that ends silently is a failure': [
    { jobs: [aJob(config, { phase: 'ended', result: { lost: 'the agent left no report (exit code 137)' } })] },
    `Failed ReportMissing: ${running.name}: the agent left no report (exit code 137); it is tried again after 10s (again in 10s)`,
  ],
  'a failure is told in the words of the agent': [
    { jobs: [anEndedJob(config, bad)] },
    'Failed ApplyFailed: no device has fa:16:3e:00:00:01; it is tried again after 10s (again in 10s)',
  ],
  'a failure without words is told by its interfaces': [
    {
      jobs: [
        anEndedJob(config, {
          verdict: 'Failed',
          interfaces: [aNic(0), aNic(1, { status: 'Failed', reason: 'InterfaceNameInUse', message: 'by eth9' })],
        }),
      ],
    },
    'Failed ApplyFailed: multinic1: InterfaceNameInUse: by eth9; it is tried again after 10s (again in 10s)',
  ],
  'a good report makes the config ready': [
    { jobs: [anEndedJob(config)] },
    'Configured AllInterfacesConfigured: All 2 interfaces configured successfully',
  ],
  'a good report that leaves an interface out is no success': [
    { jobs: [anEndedJob(config, { interfaces: [aNic(0)] })] },
    `Failed ReportMissing: ${running.name}: the report leaves out multinic1; it is tried again after 10s (again in 10s)`,
  ],
  'a good report counts even when the node has gone since': [
    { node: undefined, jobs: [anEndedJob(config)] },
    'Configured AllInterfacesConfigured: All 2 interfaces configured successfully',
  ],
  'a settled config needs nothing': [withStatus(configured), 'as it is'],
  'a result is taken once': [
    {
      ...withStatus({ ...configured, lastJobName: running.name }),
      jobs: [anEndedJob(config, {}, { endedAt: start - 10_000 })],
    },
    'as it is (again in 650s)',
  ],
  'an ended job that no TTL controller removed is swept': [
    {
      ...withStatus({ ...configured, lastJobName: running.name }),
      jobs: [anEndedJob(config, {}, { endedAt: start - 700_000 })],
    },
    'as it is',
    { do: 'deleteJob', name: running.name, uid: 'job-uid' },
  ],
  'a wait that is over is followed by the work at once': [
    withStatus(told('Pending', 'Paused', 1, { failedAttempts: 6 })),
    'as it is (again in 2s)',
    finalizer,
    create(6, { takesSlot: true }),
  ],
  'a job of another config is not swept': [
    { ...withStatus(configured), jobs: [anEndedJob(config, {}, { configUid: 'another', endedAt: start - 700_000 })] },
    'as it is',
  ],
  'a rebooted node is configured again, outside the window': [
    { ...withStatus(configured), node: aNode({ bootID: 'boot-2' }), rollout: { room: false, because: 'full' } },
    'as it is (again in 2s)',
    finalizer,
    create(0, { name: named(0, { bootID: 'boot-2' }) }),
  ],
  'a NIC that is not there yet is waited for': [
    { jobs: [anEndedJob(config, missing)] },
    'Pending NicMissing: multinic1 is not in the guest yet (again in 1s)',
  ],
  'the waits for a NIC grow': [
    { jobs: [anEndedJob(config, missing, { attempt: 3 })] },
    'Pending NicMissing: multinic1 is not in the guest yet (again in 10s)',
  ],
  'a NIC is not looked for before its time': [
    {
      ...withStatus(told('Pending', 'NicMissing', 3, { lastJobName: running.name })),
      jobs: [anEndedJob(config, missing, { attempt: 2, endedAt: start - 3_000 })],
    },
    'as it is (again in 2s)',
  ],
  'a NIC is looked for again under a new name, outside the window': [
    {
      ...withStatus(told('Pending', 'NicMissing', 6, { lastJobName: running.name })),
      jobs: [anEndedJob(config, missing, { attempt: 2 })],
      rollout: { room: false, because: 'full' },
    },
    'as it is (again in 2s)',
    finalizer,
    { do: 'deleteJob', name: running.name, uid: 'job-uid' },
    create(3),
  ],
  'a spec that failed waits its time': [
    withStatus(told('Failed', 'ApplyFailed', 4, { failedAttempts: 1 })),
    'as it is (again in 6s)',
  ],
  'a failure that a clock told which was set back since is not waited for': [
    withStatus(told('Failed', 'ApplyFailed', -3_600, { failedAttempts: 1 })),
    'as it is (again in 2s)',
    finalizer,
    create(1, { takesSlot: true }),
  ],
  'a job of a server whose clock is ahead is told as one that has just begun': [
    { jobs: [aJob(config, { createdAt: start + 3_600_000 })] },
    'as it is (again in 2s)',
  ],
  'a spec that failed is tried again under a new name': [
    withStatus(told('Failed', 'ApplyFailed', 31, { failedAttempts: 2 })),
    'as it is (again in 2s)',
    finalizer,
    create(2, { takesSlot: true }),
  ],
  'a name whose result was taken is never used again': [
    withStatus(told('Failed', 'ApplyFailed', 31, { failedAttempts: 2, lastJobName: named(2) })),
    'as it is (again in 2s)',
    finalizer,
    create(3, { takesSlot: true }),
  ],
  'the sixth failure waits for a person': [
    { ...withStatus(told('Failed', 'ApplyFailed', 0, { failedAttempts: 5 })), jobs: [anEndedJob(config, bad)] },
    'Failed ApplyFailed: no device has fa:16:3e:00:00:01; it failed 6 times and waits for a new spec or the annotation multinic.io/retry',
  ],
  'a known-bad spec is not tried again': [
    withStatus(told('Failed', 'ApplyFailed', 99_999, { failedAttempts: 6 })),
    'as it is',
  ],
  'a known-bad spec is tried again on a person’s word': [
    withStatus(told('Failed', 'ApplyFailed', 1, { failedAttempts: 6 }), { annotations: { 'multinic.io/retry': '1' } }),
    'as it is (again in 2s)',
    finalizer,
    create(6, { takesSlot: true }),
    { do: 'clearRetry' },
  ],
  'a new spec is tried whatever failed before': [
    withStatus(told('Failed', 'ApplyFailed', 1, { failedAttempts: 6, observedGeneration: 2 })),
    'as it is (again in 2s)',
    finalizer,
    create(0, { takesSlot: true }),
  ],
  'a change waits for its turn': [
    {
      ...withStatus({ ...configured, observedGeneration: 2 }),
      rollout: { room: false, because: '1 other nodes may change at once, and they are changing' },
    },
    'Pending RolloutWaiting: 1 other nodes may change at once, and they are changing',
  ],
  'a wave that failed too often stops': [
    {
      ...withStatus({ ...configured, observedGeneration: 2 }),
      rollout: { room: false, because: '3 nodes failed', stopped: true },
    },
    'Pending RolloutStopped: 3 nodes failed',
  ],
  'a retry does not wait for its turn': [
    {
      ...withStatus(told('Failed', 'ApplyFailed', 31, { failedAttempts: 2 })),
      rollout: { room: false, because: '3 nodes failed', stopped: true },
    },
    'as it is (again in 2s)',
    finalizer,
    create(2, { takesSlot: true }),
  ],
  'a first configuration does not wait behind a wave': [
    { rollout: { room: false, because: 'full' } },
    'as it is (again in 2s)',
    finalizer,
    create(0),
  ],
  'a finalizer is added once': [
    { config: aConfig({ metadata: { finalizers: ['multinic.io/node-cleanup'] } }) },
    'as it is (again in 2s)',
    create(0),
  ],
})
