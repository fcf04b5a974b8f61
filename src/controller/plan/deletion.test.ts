import type { AgentReport } from '../../contract/agent-report.ts'
import { aConfig, aJob, aNode, anEndedJob, machine, start } from '../controller.fixture.ts'
import { aStatus, configured, jobName, type PlanCase, testPlans } from './plan.fixture.ts'
import type { Step } from './step.ts'

const deleted = (secondsAgo = 5, annotations?: Record<string, string>) =>
  aConfig({
    metadata: {
      deletionTimestamp: new Date(start - secondsAgo * 1_000).toISOString(),
      finalizers: ['multinic.io/node-cleanup'],
      ...(annotations && { annotations }),
    },
  })
const config = deleted()
const used = { ...config, status: configured }
const onHold = { ...config, status: aStatus('Pending', 'DeletionHeld', 60) }
const onHoldText =
  'more than a fifth of the MultiNicNodeConfigs are deleted at once, and the interfaces stay on the node until you approve it: kubectl annotate namespace multinic-system multinic.io/approve-deletions="$(date +%s)" --overwrite'
const again = '(requeue after 60s)'
const seconds = (after: number) => `${start / 1_000 + after}`
const full = { available: false, message: 'other nodes are changing' }
const running = aJob(config, { action: 'cleanup' })
const unstartable = aJob(config, {
  ...{ action: 'cleanup', phase: 'waiting', createdAt: start - 31_000, agentHash: 'before' },
})
const successor = { name: 'successor', older: false, deleting: false, hasFinalizer: true }
const removed: Partial<AgentReport> = { mode: 'cleanup', verdict: 'Removed', interfaces: [] }
const failed = { mode: 'cleanup', verdict: 'Failed', message: 'the disk is full' } as const

const createJob = (attempt: number): Step => ({
  do: 'createJob',
  name: jobName(attempt, { action: 'cleanup', of: config }),
  action: 'cleanup',
  attempt,
  takesSlot: false,
})
const deleteJob: Step = { do: 'deleteJob', name: running.name, uid: 'job-uid' }
const release = (reason: (Step & { do: 'removeFinalizer' })['reason'], message: string): Step => ({
  do: 'removeFinalizer',
  reason,
  message,
})

const cases: Record<string, PlanCase> = {
  'a deleted config gets a cleanup Job': [{}, 'no status update (requeue after 2s)', createJob(0)],
  'a config that was deleted just now waits for those that are deleted with it': [
    { config: deleted(1), isOneOfMany: true },
    'no status update (requeue after 1s)',
  ],
  'a clock of the API server that is ahead delays no cleanup': [
    { config: deleted(-60) },
    'no status update (requeue after 2s)',
    createJob(0),
  ],
  'before the API server was asked about the CRD, nothing is removed': [
    { definition: undefined },
    'no status update (requeue after 0.5s)',
  ],
  'one of many deletions waits for approval': [{ isOneOfMany: true }, `Pending DeletionHeld: ${onHoldText} ${again}`],
  'one that is held stays held, however few the others are': [
    { config: onHold },
    `Pending DeletionHeld: ${onHoldText} ${again}`,
  ],
  'it is never given up, also on a node that is unreachable or paused': [
    {
      config: { ...onHold, metadata: deleted(7_200, { 'multinic.io/paused': 'true' }).metadata },
      node: aNode({ reachable: false }),
    },
    `Pending DeletionHeld: ${onHoldText} ${again}`,
  ],
  'an approval that is no time is named': [
    { isOneOfMany: true, deletionApproval: 'yes' },
    `Pending DeletionHeld: ${onHoldText}; yes is no time in seconds since 1970 ${again}`,
  ],
  'an approval of an earlier deletion does not count': [
    { isOneOfMany: true, deletionApproval: seconds(-606) },
    `Pending DeletionHeld: ${onHoldText} ${again}`,
  ],
  'an approval covers what is deleted until ten minutes after it': [
    { isOneOfMany: true, deletionApproval: seconds(-605) },
    'no status update (requeue after 2s)',
    createJob(0),
  ],
  'Viola approves the deletion that it makes': [
    { config: deleted(0, { 'multinic.io/approve-deletions': seconds(0) }), isOneOfMany: true, definition: undefined },
    'no status update (requeue after 2s)',
    createJob(0),
  ],
  'the cleanup timeout begins with the approval': [
    {
      config: { ...onHold, metadata: deleted(7_200).metadata },
      deletionApproval: seconds(-60),
      node: aNode({ reachable: false }),
    },
    'Pending NodeUnreachable: node w1 is unreachable: its Ready condition is Unknown (requeue after 540s)',
  ],
  'a cleanup that has started goes on': [
    { jobs: [running], isOneOfMany: true, definition: 'terminating' },
    `InProgress Removing: ${running.name} is running (requeue after 595s)`,
  ],
  'interfaces that are deleted with their CRD stay on the node, also when they were held': [
    { config: onHold, definition: 'terminating' },
    'no status update',
    release(
      'InterfacesRetained',
      'the CustomResourceDefinition is being deleted, and nobody approved the removal: the interfaces stay on the node',
    ),
  ],
  'they are removed if that was approved': [
    { definition: 'terminating', deletionApproval: seconds(-60) },
    'no status update (requeue after 2s)',
    createJob(0),
  ],
  'a node that is gone needs no approval': [
    { config: onHold, node: undefined },
    'no status update',
    release('NodeNotFound', 'node w1 no longer exists: nothing to clean up'),
  ],
  'a held deletion that is to leave the interfaces needs no approval': [
    { config: { ...onHold, metadata: deleted(5, { 'multinic.io/force-delete': 'true' }).metadata } },
    'no status update',
    release('InterfacesRetained', 'annotation multinic.io/force-delete is set: the interfaces stay on the node'),
  ],
  'a cleanup of a configured node takes a slot': [
    { config: used },
    'no status update (requeue after 2s)',
    { ...createJob(0), takesSlot: true } as Step,
  ],
  'it waits while other nodes change, also beyond the cleanup timeout': [
    { config: { ...used, metadata: deleted(3_600).metadata }, cleanupSlot: full },
    'Pending RolloutWaiting: other nodes are changing (requeue after 5s)',
  ],
  'failures of other nodes do not keep it': [
    { config: used, rollout: { available: false, message: 'no', stopped: true } },
    'no status update (requeue after 2s)',
    { ...createJob(0), takesSlot: true } as Step,
  ],
  'a node that was never configured is cleaned up without a slot': [
    { cleanupSlot: full },
    'no status update (requeue after 2s)',
    createJob(0),
  ],
  'the timeout of a cleanup that waited for its slot begins with its first Job': [
    {
      config: { ...used, metadata: deleted(3_600).metadata },
      jobs: [aJob(config, { action: 'cleanup', attempt: 2, createdAt: start - 595_000 })],
    },
    `InProgress Removing: ${running.name} is running (requeue after 2s)`,
  ],
  'a config without our finalizer needs no cleanup': [
    { config: aConfig({ metadata: { deletionTimestamp: '2025-12-31T23:59:00Z' } }) },
    'no status update',
  ],
  'a successful cleanup removes the finalizer': [
    { jobs: [anEndedJob(config, removed, { action: 'cleanup' })] },
    'no status update',
    deleteJob,
    release('Removed', 'interfaces removed from node w1'),
  ],
  'a running cleanup keeps running': [
    { jobs: [running] },
    `InProgress Removing: ${running.name} is running (requeue after 595s)`,
  ],
  'a cleanup whose Pod does not start is in the status, and checked again before the timeout': [
    { jobs: [aJob(config, { action: 'cleanup', phase: 'waiting', createdAt: start - 31_000 })] },
    `InProgress PodNotStarting: ${running.name}: Pod has not started within 30s (requeue after 4s)`,
  ],
  'a cleanup that never ends does not block the deletion forever': [
    { config: deleted(901), jobs: [{ ...running, createdAt: start - 601_000 }] },
    'no status update',
    release('CleanupAbandoned', `node w1 did not clean up in time: ${running.name} has not ended`),
  ],
  'a cleanup without a report is retried': [
    {
      jobs: [
        aJob(config, {
          action: 'cleanup',
          phase: 'ended',
          endedAt: start,
          result: { missing: 'the report is truncated' },
        }),
      ],
    },
    `Pending CleanupFailed: ${running.name}: the report is truncated (requeue after 1s)`,
  ],
  'a running apply must end before the cleanup': [
    { jobs: [aJob(config, { generation: 2 })] },
    `Pending PreviousJobRunning: ${running.name} must end before the next agent starts (requeue after 595s)`,
  ],
  'a config goes at once if its node no longer exists': [
    { node: undefined },
    'no status update',
    release('NodeNotFound', 'node w1 no longer exists: nothing to clean up'),
  ],
  'a config goes at once if its node is another machine': [
    { node: undefined, otherMachine: aNode({ systemUUID: 'uuid-9' }) },
    'no status update',
    release('WrongMachine', `node w1 has system UUID uuid-9, not ${machine}`),
  ],
  'a config stays while its node has not reported its system UUID': [
    { node: undefined, otherMachine: aNode({ systemUUID: '' }) },
    'Pending NodeUnreachable: node w1 has not reported its system UUID (requeue after 595s)',
  ],
  'a node that never reports its system UUID does not block the deletion forever': [
    { config: deleted(600), node: undefined, otherMachine: aNode({ systemUUID: '' }) },
    'no status update',
    release('CleanupAbandoned', 'node w1 has not reported its system UUID: nobody knows where to clean up'),
  ],
  'a config in a namespace that is being deleted goes at once: no Job can be created there': [
    { namespaceDeleting: true },
    'no status update',
    release(
      'InterfacesRetained',
      'the namespace is being deleted, so no agent can clean up: the interfaces stay on the node',
    ),
  ],
  'the cleanup of an earlier config of the same name does not count': [
    { jobs: [anEndedJob(config, removed, { action: 'cleanup', configUid: 'another' })] },
    'no status update (requeue after 2s)',
    createJob(0),
  ],
  'an ended apply makes room for the cleanup': [
    { jobs: [anEndedJob(config)] },
    'no status update (requeue after 2s)',
    deleteJob,
    createJob(0),
  ],
  'a cleanup that cannot start is replaced when its agent would run with something else': [
    { jobs: [unstartable], agentHash: 'now' },
    'no status update (requeue after 2s)',
    deleteJob,
    createJob(1),
  ],
  'a pause keeps a cleanup that cannot start': [
    { config: deleted(5, { 'multinic.io/paused': 'true' }), jobs: [unstartable], agentHash: 'now' },
    `InProgress PodNotStarting: ${running.name}: Pod has not started within 30s (requeue after 4s)`,
  ],
  'a cleanup that ended without a report is retried': [
    { jobs: [aJob(config, { action: 'cleanup', phase: 'ended', endedAt: start })] },
    `Pending CleanupFailed: ${running.name} left no report (requeue after 1s)`,
  ],
  'the interfaces stay if another config names the node': [
    { duplicates: [successor], jobs: [anEndedJob(config)] },
    'no status update',
    deleteJob,
    release('InterfacesRetained', 'successor names the same node w1 and takes over its interfaces'),
  ],
  'while several Nodes report the machine, nobody knows where to clean up': [
    { node: undefined, twins: ['w1', 'w2'] },
    `Pending MachineNotUnique: nodes w1, w2 report the same system UUID ${config.spec.instanceId} (requeue after 595s)`,
  ],
  'the interfaces stay for a config whose agent has not started, which may be deleted next': [
    { duplicates: [{ ...successor, hasFinalizer: false }], jobs: [anEndedJob(config)] },
    'Pending Removing: successor names the same node w1 and takes over its interfaces with its first agent (requeue after 1s)',
    deleteJob,
  ],
  'that wait ends with the cleanup timeout': [
    { duplicates: [{ ...successor, hasFinalizer: false }], config: deleted(600) },
    'no status update',
    release('InterfacesRetained', 'successor names the same node w1 and takes over its interfaces'),
  ],
  'a forced deletion leaves the interfaces on the node': [
    { config: deleted(5, { 'multinic.io/force-delete': 'true' }) },
    'no status update',
    release('InterfacesRetained', 'annotation multinic.io/force-delete is set: the interfaces stay on the node'),
  ],
  'a paused config gets no cleanup Job': [
    { config: deleted(5, { 'multinic.io/paused': 'true' }) },
    'Pending Paused: annotation multinic.io/paused is set (requeue after 595s)',
  ],
  'a cleanup waits for an unreachable node': [
    { node: aNode({ reachable: false }) },
    'Pending NodeUnreachable: node w1 is unreachable: its Ready condition is Unknown (requeue after 595s)',
  ],
  'a node that stays unreachable does not block the deletion forever': [
    { config: deleted(600), node: aNode({ reachable: false }) },
    'no status update',
    release('CleanupAbandoned', 'node w1 did not clean up in time: no agent could be started'),
  ],
  'a failed cleanup is retried after a delay': [
    { jobs: [anEndedJob(config, failed, { action: 'cleanup', attempt: 1, endedAt: start - 500 })] },
    `Pending CleanupFailed: ${running.name}: the disk is full (requeue after 1.5s)`,
  ],
  'a failed cleanup is retried at once if the clock of the node is ahead': [
    { jobs: [anEndedJob(config, failed, { action: 'cleanup', attempt: 1, endedAt: start + 3_600_000 })] },
    'no status update (requeue after 2s)',
    deleteJob,
    createJob(2),
  ],
  'a failed cleanup is retried with a new Job name': [
    { jobs: [anEndedJob(config, failed, { action: 'cleanup', attempt: 1, endedAt: start - 2_000 })] },
    'no status update (requeue after 2s)',
    deleteJob,
    createJob(2),
  ],
}

testPlans(
  Object.fromEntries(
    Object.entries(cases).map(([name, [values, ...rest]]) => [name, [{ config, ...values }, ...rest]]),
  ),
)
