/**
 * Test tables of the planner: how a row reads, and the values that rows share.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfigStatus } from '../../contract/node-config.ts'
import { aConfig, aNode, type ObservedValues, observedWith, start } from '../controller.fixture.ts'
import { agentJobName, identityOf } from '../job.ts'
import { planNodeConfig } from './plan.ts'
import { requestedOf } from './requested.ts'
import type { Plan, Step } from './step.ts'

export const config = aConfig()
export const node = aNode()

/** A status of the current generation, written this many seconds ago. */
export function aStatus(
  state: NodeConfigStatus['state'],
  reason: string,
  secondsAgo: number,
  more: NodeConfigStatus = {},
) {
  const lastProcessed = new Date(start - secondsAgo * 1_000).toISOString()
  const condition = (type: string, value: boolean) => ({
    type,
    status: value ? ('True' as const) : ('False' as const),
    reason,
  })
  const conditions = [
    condition('Ready', state === 'Configured'),
    condition('Progressing', state !== 'Configured'),
    condition('Degraded', state === 'Failed'),
  ]
  const status = state === 'Configured' ? ('Configured' as const) : ('Failed' as const)
  const interfaceStatuses: NodeConfigStatus['interfaceStatuses'] = [0, 1].map(id => ({
    ...{ id, macAddress: `fa:16:3e:00:00:0${id}`, status, reason: 'LinkDown' },
    lastConfigured: '2025-12-01T00:00:00Z',
  }))
  const { interfaceStatuses: nics = interfaceStatuses } = more
  const ready = nics.filter(one => one.status === 'Configured').length
  return {
    ...{ observedGeneration: 3, bootID: 'boot-1', state, conditions, lastProcessed, interfaceStatuses },
    nics: `${ready}/2`,
    ...more,
  }
}
export const withStatus = (status: NodeConfigStatus, metadata = {}) => ({ config: aConfig({ status, metadata }) })
export const configured = aStatus('Configured', 'AllInterfacesConfigured', 60)

export function jobName(attempt: number, { action = 'apply', bootID = 'boot-1', of = config } = {}): string {
  const { specHash } = requestedOf(of)
  return agentJobName(
    identityOf({ config: of, node: { ...node, bootID }, specHash, action: action as 'apply', attempt }),
  )
}
export const createJob = (attempt: number, more: Partial<Step & { do: 'createJob' }> = {}): Step => ({
  do: 'createJob',
  name: jobName(attempt, { action: more.action ?? 'apply' }),
  action: 'apply',
  attempt,
  takesSlot: false,
  ...more,
})
export const addFinalizer: Step = { do: 'addFinalizer' }

function textOf({ statusUpdate, requeueAfterMs }: Plan): string {
  const text = statusUpdate
    ? `${statusUpdate.state} ${statusUpdate.reason}: ${statusUpdate.message}`
    : 'no status update'
  return requeueAfterMs === undefined ? text : `${text} (requeue after ${requeueAfterMs / 1_000}s)`
}

export type PlanCase = [values: ObservedValues, text: string, ...steps: Step[]]

export function testPlans(cases: Record<string, PlanCase>): void {
  for (const [name, [values, expected, ...steps]] of Object.entries(cases)) {
    test(name, () => {
      const plan = planNodeConfig(observedWith(values))
      assert.equal(textOf(plan), expected)
      assert.deepEqual(plan.steps, steps)
    })
  }
}
