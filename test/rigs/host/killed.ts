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
  /** At least so many steps there and back, so that a harness that kills nobody is noticed. */
  steps: number
}

export async function killEverywhere({ nics, from, to, steps }: Way): Promise<void> {
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
    const ways = [input(from(node.nics)), input(to(node.nics))]
    const said = await node.execute(process.execPath, program, node.root, victim, ...ways)
    const { there, back } = JSON.parse(said) as { there: number; back: number }
    assert.ok(there > steps && back > steps, said)
    assert.equal(foreignState(node, macsOf(node)), before)
  } finally {
    node.remove()
  }
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
