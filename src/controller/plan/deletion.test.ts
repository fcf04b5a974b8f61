import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentReport } from '../../contract/agent-report.ts'
import { aConfig, aJob, aNode, anEndedJob, type Given, machine, seen, start } from '../controller.fixture.ts'
import { agentJobName, identityOf } from '../job.ts'
import { planNodeConfig } from './plan.ts'
import { type Step, workOf } from './work.ts'

const deleted = (secondsAgo = 5, annotations?: Record<string, string>) =>
  aConfig({
    metadata: {
      deletionTimestamp: new Date(start - secondsAgo * 1_000).toISOString(),
      finalizers: ['multinic.io/node-cleanup'],
      ...(annotations && { annotations }),
    },
  })
const config = deleted()
const cleaning = aJob(config, { action: 'cleanup' })
const removed: Partial<AgentReport> = { mode: 'cleanup', verdict: 'Removed', interfaces: [] }
const failed = { mode: 'cleanup', verdict: 'Failed', message: 'the disk is full' } as const

const create = (attempt: number): Step => ({
  do: 'createJob',
  name: agentJobName(
    identityOf({ config, node: aNode(), specHash: workOf(config).specHash, action: 'cleanup', attempt }),
  ),
  action: 'cleanup',
  attempt,
  takesSlot: false,
})
const release = (reason: (Step & { do: 'removeFinalizer' })['reason'], message: string): Step => ({
  do: 'removeFinalizer',
  reason,
  message,
})

type Case = [given: Given, line: string, ...steps: Step[]]

const cases: Record<string, Case> = {
  'a deleted config gets a cleanup job': [{}, 'as it is (again in 2s)', create(0)],
  'a config without our finalizer is not held': [
    { config: aConfig({ metadata: { deletionTimestamp: '2025-12-31T23:59:00Z' } }) },
    'as it is',
  ],
  'a cleanup that took everything away lets the config go': [
    { jobs: [anEndedJob(config, removed, { action: 'cleanup' })] },
    'as it is',
    release('Removed', 'the interfaces were taken from node w1'),
  ],
  'a running cleanup is left alone': [
    { jobs: [cleaning] },
    `InProgress Removing: ${cleaning.name} is running (again in 595s)`,
  ],
  'a cleanup whose Pod does not start is told, and looked at before the time is up': [
    { jobs: [aJob(config, { action: 'cleanup', phase: 'waiting', createdAt: start - 31_000 })] },
    `InProgress PodNotStarting: the Pod of ${cleaning.name} does not start on its node (again in 60s)`,
  ],
  'a cleanup that never ended does not hold the config for ever': [
    { config: deleted(601), jobs: [cleaning] },
    'as it is',
    release('CleanupAbandoned', `node w1 did not clean up in time: ${cleaning.name} has not ended`),
  ],
  'a cleanup without a report is tried again': [
    { jobs: [aJob(config, { action: 'cleanup', phase: 'ended', endedAt: start, result: { lost: 'it was cut' } })] },
    `Pending CleanupFailed: ${cleaning.name}: it was cut (again in 1s)`,
  ],
  'an apply that still runs must end first': [
    { jobs: [aJob(config, { generation: 2 })] },
    `Pending PreviousJobRunning: ${cleaning.name} must end before the next agent starts (again in 595s)`,
  ],
  'a config of a node that is gone goes at once': [
    { node: undefined },
    'as it is',
    release('NodeNotFound', 'node w1 is gone: there is nothing to clean up'),
  ],
  'a config whose node is another machine now goes at once': [
    { node: undefined, namesake: aNode({ systemUUID: 'uuid-9' }) },
    'as it is',
    release('WrongMachine', `node w1 is machine uuid-9, not ${machine}`),
  ],
  'a config whose node has not told its machine is not let go yet': [
    { node: undefined, namesake: aNode({ systemUUID: '' }) },
    'Pending NodeUnreachable: node w1 has not told which machine it is (again in 595s)',
  ],
  'the interfaces stay when another config names the node': [
    { twins: [{ name: 'heir', older: false, deleting: false }] },
    'as it is',
    release('Released', 'heir names the same node w1: the interfaces are its own now'),
  ],
  'a forced deletion leaves the interfaces': [
    { config: deleted(5, { 'multinic.io/force-delete': 'true' }) },
    'as it is',
    release('Released', 'annotation multinic.io/force-delete is set: the interfaces stay on the node'),
  ],
  'a paused config is not cleaned up': [
    { config: deleted(5, { 'multinic.io/paused': 'true' }) },
    'Pending Paused: annotation multinic.io/paused is set (again in 595s)',
  ],
  'a node that nobody hears from is waited for': [
    { node: aNode({ heard: false }) },
    'Pending NodeUnreachable: nobody hears from node w1 (again in 595s)',
  ],
  'a node that does not come back does not hold the config for ever': [
    { config: deleted(601), node: aNode({ heard: false }) },
    'as it is',
    release('CleanupAbandoned', 'node w1 did not clean up in time: no agent could be started'),
  ],
  'a failed cleanup is tried again after a pause': [
    { jobs: [anEndedJob(config, failed, { action: 'cleanup', attempt: 1, endedAt: start - 500 })] },
    `Pending CleanupFailed: ${cleaning.name}: the disk is full (again in 1.5s)`,
  ],
  'a failed cleanup of a node whose clock is ahead is tried again at once': [
    { jobs: [anEndedJob(config, failed, { action: 'cleanup', attempt: 1, endedAt: start + 3_600_000 })] },
    'as it is (again in 2s)',
    { do: 'deleteJob', name: cleaning.name, uid: 'job-uid' },
    create(2),
  ],
  'a failed cleanup is tried again under a new name': [
    { jobs: [anEndedJob(config, failed, { action: 'cleanup', attempt: 1, endedAt: start - 3_000 })] },
    'as it is (again in 2s)',
    { do: 'deleteJob', name: cleaning.name, uid: 'job-uid' },
    create(2),
  ],
}

for (const [name, [given, expected, ...steps]] of Object.entries(cases)) {
  test(name, () => {
    const plan = planNodeConfig(seen({ config, ...given }))
    const words = plan.said ? `${plan.said.state} ${plan.said.reason}: ${plan.said.message}` : 'as it is'
    assert.equal(plan.after === undefined ? words : `${words} (again in ${plan.after / 1_000}s)`, expected)
    assert.deepEqual(plan.steps, steps)
  })
}
