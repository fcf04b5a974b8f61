import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentReport } from '../../contract/agent-report.ts'
import type { AgentRollout, NodeConfigStatus } from '../../contract/node-config.ts'
import { aConfig, aJob, aNode, anEndedJob, type ObservedValues, observedWith } from '../controller.fixture.ts'
import { hasFailedChange } from './config-status.ts'
import { addFinalizer, aStatus, config, configured, createJob, withStatus } from './plan.fixture.ts'
import { planNodeConfig } from './plan.ts'
import type { Step } from './step.ts'

const configuredBefore = (more: NodeConfigStatus = {}) => withStatus({ ...configured, agentHash: 'before', ...more })
const asked = { agentRollout: 'monday', agentHash: 'now' }
const updated: AgentRollout = { request: 'monday', state: 'Updated' }
const noSlot = { rollout: { available: false, message: 'other nodes are changing, at most 1 at a time' } }
const rerun = createJob(0, { takesSlot: true, agentRollout: 'monday' })

const waits = (reason: string, message: string): AgentRollout => ({
  ...{ request: 'monday', state: 'Waiting', reason, message },
})

type Row = [values: ObservedValues, note: AgentRollout | null | undefined, ...steps: Step[]]
const rows: Record<string, Row> = {
  'a settled node keeps what another agent configured until somebody asks': [
    { ...configuredBefore(), agentHash: 'now' },
    undefined,
  ],
  'a node of another agent runs the agent again': [{ ...configuredBefore(), ...asked }, undefined, addFinalizer, rerun],
  'a node that the current agent configured needs no run': [
    { ...configuredBefore({ agentHash: 'now' }), ...asked },
    updated,
  ],
  'a node whose agent is not known runs the agent again': [
    { ...withStatus(configured), ...asked },
    undefined,
    addFinalizer,
    rerun,
  ],
  'a node follows a request once, whatever changes later': [
    { ...configuredBefore({ agentRollout: updated }), ...asked, agentHash: 'later' },
    updated,
  ],
  'a new request starts another run': [
    { ...configuredBefore({ agentRollout: { ...updated, request: 'sunday' } }), ...asked },
    undefined,
    addFinalizer,
    rerun,
  ],
  'a node that waited runs the agent again as soon as it may': [
    { ...configuredBefore({ agentRollout: waits('Paused', 'paused') }), ...asked },
    undefined,
    addFinalizer,
    rerun,
  ],
  'without a slot the node waits and stays Configured': [
    { ...configuredBefore(), ...asked, ...noSlot },
    waits('RolloutWaiting', 'other nodes are changing, at most 1 at a time'),
  ],
  'a paused node waits and stays Configured': [
    { ...configuredBefore(), ...asked, namespacePaused: true },
    waits('Paused', 'annotation multinic.io/paused is set on namespace multinic-system'),
  ],
  'an unreachable node waits and stays Configured': [
    { ...configuredBefore(), ...asked, node: aNode({ reachable: false }) },
    waits('NodeUnreachable', 'node w1 is unreachable: its Ready condition is Unknown'),
  ],
  'a node that waits stops waiting when the request is withdrawn': [
    { ...configuredBefore({ agentRollout: waits('RolloutWaiting', 'other nodes are changing') }), agentHash: 'now' },
    null,
  ],
  'a node that drifted stays as it is': [
    { ...withStatus(aStatus('Failed', 'Drifted', 60, { agentHash: 'before' })), ...asked },
    undefined,
  ],
}

for (const [name, [values, note, ...steps]] of Object.entries(rows))
  test(name, () => {
    const plan = planNodeConfig(observedWith(values))
    assert.deepEqual(plan.agentRollout, note)
    assert.deepEqual(plan.steps, steps)
    assert.equal(plan.statusUpdate, undefined)
    assert.equal(plan.queued, values.rollout && true, 'only a node without a slot is in the queue')
  })

test('a running agent is waited for', () => {
  const other = aJob(aConfig({ metadata: { uid: 'other' } }))
  const plan = planNodeConfig(observedWith({ ...configuredBefore(), ...asked, jobs: [other] }))
  assert.deepEqual(
    plan.agentRollout,
    waits('PreviousJobRunning', `${other.name} must end before the next agent starts`),
  )
  assert.equal(plan.queued, undefined)
})

const resultOf = (action: 'apply' | 'check', report: Partial<AgentReport> = {}, values = configuredBefore()) =>
  planNodeConfig(
    observedWith({
      ...values,
      jobs: [anEndedJob(config, report, { action, agentHash: 'now', agentRollout: 'monday' })],
    }),
  ).statusUpdate?.result

test('the run of the agent counts, not a check by it', () => {
  assert.deepEqual([resultOf('apply')?.agentHash, resultOf('apply')?.agentRollout], ['now', updated])
  assert.deepEqual([resultOf('check')?.agentHash, resultOf('check')?.agentRollout], ['before', undefined])
})

test('a check by the current agent does not hide that a controller without agent hashes configured the node', () => {
  const older = { mode: 'check', verdict: 'Drifted', reason: 'ConfiguredByOlderAgent' } as const
  assert.equal(resultOf('check', older, withStatus(configured))?.agentHash, undefined)
  assert.equal(resultOf('check', { mode: 'check', verdict: 'InSync' }, withStatus(configured))?.agentHash, 'now')
})

test('a configured node that fails with another agent counts against the failure budget', () => {
  const failed = (status: NodeConfigStatus) => {
    const { interfaceStatuses, ...rest } = aStatus('Failed', 'ApplyFailed', 1, { observedGeneration: 1, ...status })
    return hasFailedChange(aConfig({ metadata: { generation: 1 }, status: { ...rest, interfaceStatuses } }))
  }
  assert.equal(failed({ agentRollout: updated }), true)
  assert.equal(failed({}), false, 'its first spec never worked')
  assert.equal(failed({ agentRollout: updated, interfaceStatuses: [] }), false, 'a new node')
})
