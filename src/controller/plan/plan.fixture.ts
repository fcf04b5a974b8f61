/**
 * How a row of the planner's tables reads, and what the rows are made of. For tests only.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfigStatus } from '../../contract/node-config.ts'
import { aConfig, aNode, type Given, seen, start } from '../controller.fixture.ts'
import { agentJobName, identityOf } from '../job.ts'
import { planNodeConfig } from './plan.ts'
import { type Plan, type Step, workOf } from './work.ts'

export const config = aConfig()
export const node = aNode()

/** A status at the wanted generation, some seconds after its last result. */
export function told(
  state: NodeConfigStatus['state'],
  reason: string,
  secondsAgo: number,
  more: NodeConfigStatus = {},
) {
  const lastProcessed = new Date(start - secondsAgo * 1_000).toISOString()
  const conditions = [
    { type: 'Ready', status: state === 'Configured' ? ('True' as const) : ('False' as const), reason },
  ]
  const interfaceStatuses = [{ id: 0, lastConfigured: '2025-12-01T00:00:00Z' }]
  return { observedGeneration: 3, bootID: 'boot-1', state, conditions, lastProcessed, interfaceStatuses, ...more }
}
export const withStatus = (status: NodeConfigStatus, metadata = {}) => ({ config: aConfig({ status, metadata }) })
export const configured = told('Configured', 'AllInterfacesConfigured', 60)

export function named(attempt: number, { action = 'apply', bootID = 'boot-1', of = config } = {}): string {
  const at = { ...node, bootID }
  return agentJobName(
    identityOf({ config: of, node: at, specHash: workOf(of).specHash, action: action as 'apply', attempt }),
  )
}
export const create = (attempt: number, more: Partial<Step & { do: 'createJob' }> = {}): Step => ({
  do: 'createJob',
  name: named(attempt, { action: more.action ?? 'apply' }),
  action: 'apply',
  attempt,
  takesSlot: false,
  ...more,
})
export const finalizer: Step = { do: 'addFinalizer' }

function line({ said, after }: Plan): string {
  const words = said ? `${said.state} ${said.reason}: ${said.message}` : 'as it is'
  return after === undefined ? words : `${words} (again in ${after / 1_000}s)`
}

export type Case = [given: Given, line: string, ...steps: Step[]]

export function holdsFor(cases: Record<string, Case>): void {
  for (const [name, [given, expected, ...steps]] of Object.entries(cases)) {
    test(name, () => {
      const plan = planNodeConfig(seen(given))
      assert.equal(line(plan), expected)
      assert.deepEqual(plan.steps, steps)
    })
  }
}
