/**
 * Runs attacks on the agent: a node with something foreign on it, one request, and what the agent must say and do. The
 * foreign state is compared before the run, after it, and after a cleanup.
 *
 * One case per defect, named by its finding. Add a case to the file of its group, or start a new file.
 */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import type { AgentInput } from '../../src/contract/agent-input.ts'
import { macsOf } from '../rigs/host/kernel-state.ts'
import {
  type AgentResult,
  foreignRules,
  foreignState,
  type NodeOptions,
  type RigNode,
  requestedInterface,
  withNode,
} from '../rigs/host/node.ts'

export interface Attack {
  /** Several, separated by commas, if one reboot shows them all. */
  finding: string
  name: string
  /** One NIC without this. */
  options?: NodeOptions
  /** Puts something foreign on the node, or runs the agent a first time. */
  prepare?(node: RigNode): void | Promise<void>
  /** All NICs of the node without this. */
  request?(node: RigNode): Partial<AgentInput>
  env?: Record<string, string> | ((node: RigNode) => Record<string, string>)
  expect(result: AgentResult, node: RigNode): void | Promise<void>
  /** The attack itself changes foreign state while the agent runs, and `expect` compares it. */
  changesForeign?: true
  /** False when `expect` itself changes foreign state. */
  cleanup?: false
  /** MAC addresses of the NICs that the agent may change: all that the rig attached, without this. */
  ours?(node: RigNode): string[]
  /** Why the machine of the test cannot run it. */
  skip?: string | false
  /** Runs last, whatever happened. */
  end?(): Promise<void>
}

export function attacks(group: string, cases: readonly Attack[], end = () => {}): void {
  // The tests mostly wait for packets and processes, and each has a node of its own, so they run concurrently.
  suite(`attacks: ${group}`, { concurrency: 3 }, () => {
    after(end)
    for (const attack of cases)
      test(`${attack.finding}: ${attack.name}`, { skip: attack.skip ?? false }, () =>
        withNode({ nics: 1, ...attack.options }, node => run(attack, node).finally(() => attack.end?.())),
      )
  })
}

async function run(attack: Attack, node: RigNode): Promise<void> {
  await attack.prepare?.(node)
  const ours = attack.ours?.(node) ?? macsOf(node)
  const rules = foreignRules(node, ours)
  const before = foreignState(node, ours, rules)
  const env = typeof attack.env === 'function' ? attack.env(node) : attack.env
  const result = await node.agent(attack.request?.(node) ?? requestAll(node), env)
  if (!attack.changesForeign) assert.equal(foreignState(node, ours, rules), before, result.log)
  await attack.expect(result, node)
  if (attack.cleanup === false) return
  const removed = await node.agent({ mode: 'cleanup', interfaces: [] })
  assert.equal(foreignState(node, ours, rules), before, removed.log)
}

export function requestAll(node: RigNode): Partial<AgentInput> {
  return { interfaces: node.nics.map((nic, index) => requestedInterface(nic, index)) }
}

/** Status and reason of each interface. */
export function outcomes({ report }: AgentResult): string[] {
  return report?.interfaces.map(({ status, reason }) => (status === reason ? status : `${status} ${reason}`)) ?? []
}

/** Configures every NIC of the node, as an earlier run did. */
export async function configureAll(node: RigNode): Promise<void> {
  const result = await node.agent(requestAll(node))
  assert.equal(result.report?.verdict, 'Configured', result.log)
}
