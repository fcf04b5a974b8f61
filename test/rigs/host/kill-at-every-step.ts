/**
 * Holds nodes to their old good state or their new one, however the agent is killed on the way from one to the other, and
 * on the way back. The steps are dealt out to as many nodes as there are processors, which work side by side.
 */
import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { AgentInput } from '../../../src/contract/agent-input.ts'
import { bundled } from './bundle.ts'
import { macsOf } from './kernel-state.ts'
import { createNode, foreignState, type RigNic } from './node.ts'

const program = fileURLToPath(new URL('./kill-worker.ts', import.meta.url))

export interface Way {
  nics: number
  from: (nics: RigNic[]) => AgentInput['interfaces']
  to: (nics: RigNic[]) => AgentInput['interfaces']
  /** At least so many steps there, and back where that is a way of its own: a harness that kills nobody is noticed. */
  steps: [there: number, back?: number]
}

export async function killEverywhere(way: Way): Promise<void> {
  const victim = await bundled('test/rigs/host/killable-agent.ts')
  const of = Math.min(4, availableParallelism())
  await Promise.all(Array.from({ length: of }, (_, part) => killOn(way, victim, { part, of })))
}

/** Every `of`th step from `part` on, on a node of its own. */
async function killOn(
  { nics, from, to, steps }: Way,
  victim: string,
  { part, of }: { part: number; of: number },
): Promise<void> {
  const node = await createNode({ nics })
  try {
    const before = foreignState(node, macsOf(node))
    const way = [input(from(node.nics)), input(to(node.nics)), String(part), String(of), String(steps.length)]
    const taken = JSON.parse(await node.execute(process.execPath, program, node.root, victim, ...way)) as number[]
    assert.equal(taken.length, steps.length)
    for (const [index, least] of steps.entries()) assert.ok(Number(taken[index]) > Number(least), `${taken} steps`)
    assert.equal(foreignState(node, macsOf(node)), before)
  } finally {
    node.remove()
  }
}

function input(interfaces: AgentInput['interfaces']): string {
  const all: AgentInput = {
    version: 1,
    mode: interfaces.length > 0 ? 'apply' : 'cleanup',
    nodeName: 'worker-1',
    generation: 1,
    specHash: '',
    nodeAddresses: ['10.0.0.10'],
    interfaces,
  }
  return JSON.stringify(all)
}
