/**
 * Holds a node to its old good state or its new one, however the agent is killed on the way from one to the other and back.
 */
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { AgentInput } from '../../../src/contract/agent-input.ts'
import { createNode, foreignState, type RigNic } from './node.ts'
import { macsOf } from './seen.ts'

const agent = fileURLToPath(new URL('./victim.ts', import.meta.url))
const program = fileURLToPath(new URL('./killed-everywhere.ts', import.meta.url))

export interface Way {
  nics: number
  from: (nics: RigNic[]) => AgentInput['interfaces']
  to: (nics: RigNic[]) => AgentInput['interfaces']
  /** At least so many steps, so that a harness that kills nobody is noticed. */
  steps: number
  /** Every `of`th step from `part` on. */
  share?: { part: number; of: number }
}

export async function killEverywhere({ nics, from, to, steps, share = { part: 0, of: 1 } }: Way): Promise<void> {
  const node = await createNode({ nics })
  try {
    const before = foreignState(node, macsOf(node))
    const victim = node.path('victim.cjs')
    await build({
      entryPoints: [agent],
      outfile: victim,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      target: 'node24',
    })
    const way = [input(from(node.nics)), input(to(node.nics)), String(share.part), String(share.of)]
    const taken = Number(await node.execute(process.execPath, program, node.root, victim, ...way))
    assert.ok(taken > steps, `${taken} steps`)
    assert.equal(foreignState(node, macsOf(node)), before)
  } finally {
    node.remove()
  }
}

/** The way there, and the way back. */
export function andBack(way: Way): [there: Way, back: Way] {
  return [way, { ...way, from: way.to, to: way.from }]
}

function input(interfaces: AgentInput['interfaces']): string {
  const all: AgentInput = {
    version: 1,
    mode: 'apply',
    nodeName: 'worker-1',
    generation: 1,
    specHash: '',
    nodeAddresses: ['10.0.0.10'],
    interfaces,
  }
  return JSON.stringify(all)
}
