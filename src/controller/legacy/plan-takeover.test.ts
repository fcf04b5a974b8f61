/** What the planner does when a node changes hands: from a BizConfig, back to it, and from the Go implementation. */
import { aConfig, aJob, anEndedJob } from '../controller.fixture.ts'
import { config, configured, create, finalizer, holdsFor, told, withStatus } from '../plan/plan.fixture.ts'

const adopting = { annotations: { 'multinic.io/adopt': 'true' } }
const adopted = aConfig({ metadata: adopting })
const look = create(0, { action: 'check' })
const { bootID: _, interfaceStatuses: __, ...ofGo } = told('Configured', 'JobSucceeded', 60)
const entry = { ...config, kind: 'MultiNicBizConfig' }
const owner = { name: 'w1', older: true, deleting: false }
const oldJob = aJob(config, { configUid: '', name: 'multinic-agent-w1-g3', uid: 'old' })
const cleared = { do: 'deleteJob', name: 'multinic-agent-w1-g3', uid: 'old' } as const

holdsFor({
  'a node of a BizConfig that a MultiNicNodeConfig names waits, whoever is older': [
    { config: entry, twins: [owner] },
    'Pending OwnedByNodeConfig: MultiNicNodeConfig w1 has node w1',
  ],
  'of two documents that name a node the older one has it': [
    { config: entry, twins: [{ ...owner, name: 'other:vm', entry: true }] },
    'Pending DuplicateNode: other:vm is older and names the same node w1',
  ],
  'a config that takes a node over looks before it changes anything': [
    { config: adopted },
    'as it is (again in 2s)',
    finalizer,
    look,
  ],
  'a look waits for the agent that is at work': [
    { config: adopted, jobs: [aJob(config, { configUid: 'of-another', name: 'busy' })] },
    'Pending PreviousJobRunning: busy must end before the next agent starts',
  ],
  'not more looks than checks may run at once': [{ config: adopted, checksFull: true }, 'as it is (again in 1s)'],
  'a node that is as wanted is taken over by that look': [
    { config: adopted, jobs: [anEndedJob(adopted, { verdict: 'InSync', mode: 'check' }, { action: 'check' })] },
    'Configured AllInterfacesConfigured: All 2 interfaces configured successfully',
  ],
  'one that differs is left as it is': [
    withStatus(told('Failed', 'Drifted', 60, { interfaceStatuses: [] }), adopting),
    'as it is',
  ],
  'until a person says so': [
    withStatus(told('Failed', 'Drifted', 60, { interfaceStatuses: [] }), {
      annotations: { ...adopting.annotations, 'multinic.io/retry': 'now' },
    }),
    'as it is (again in 2s)',
    finalizer,
    create(0),
    { do: 'clearRetry' },
  ],
  'or drift is to be repaired': [
    {
      ...withStatus(told('Failed', 'Drifted', 60, { interfaceStatuses: [] }), adopting),
      policy: { drift: { policy: 'repair' }, cleanupTimeoutMs: 600_000, jobTtlMs: 600_000 },
    },
    'as it is (again in 2s)',
    finalizer,
    create(0),
  ],
  'a look that was lost is made again, under another name': [
    withStatus(told('Failed', 'ReportMissing', 60, { failedAttempts: 1, interfaceStatuses: [] }), adopting),
    'as it is (again in 2s)',
    finalizer,
    create(1, { action: 'check' }),
  ],
  'after that a new spec is applied like any other': [
    withStatus({ ...configured, observedGeneration: 2 }, adopting),
    'as it is (again in 2s)',
    finalizer,
    create(0, { takesSlot: true }),
  ],
  'a node that comes back from a MultiNicNodeConfig is looked at first': [
    { config: { ...entry, status: told('Pending', 'OwnedByNodeConfig', 60) } },
    'as it is (again in 2s)',
    finalizer,
    look,
  ],
  'a node that the Go implementation configured is changed in its turn': [
    { ...withStatus(ofGo), rollout: { room: false, because: 'enough are changing' } },
    'Pending RolloutWaiting: enough are changing',
  ],
  'and so is one whose spec has changed since': [
    { ...withStatus({ ...ofGo, observedGeneration: 2 }), rollout: { room: false, because: 'enough are changing' } },
    'Pending RolloutWaiting: enough are changing',
  ],
  'an ended Job of the Go implementation goes before ours starts': [
    { ...withStatus(ofGo), jobs: [{ ...oldJob, phase: 'ended' }] },
    'as it is (again in 2s)',
    finalizer,
    cleared,
    create(0, { takesSlot: true }),
  ],
  'one that still runs is left to end': [
    { ...withStatus(ofGo), jobs: [oldJob] },
    'Pending PreviousJobRunning: multinic-agent-w1-g3 must end before the next agent starts',
  ],
  'one that is found beside a settled config goes at once': [
    { ...withStatus(configured), jobs: [{ ...oldJob, phase: 'ended' }] },
    'as it is',
    cleared,
  ],
})
