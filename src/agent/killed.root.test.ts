/**
 * Killed at any step, every NIC ends in its old good state or in its new one, and nothing foreign is touched (G1, G6).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createNode, foreignState, type RigNic, wish } from '../../test/rigs/host/node.ts'
import { macsOf } from '../../test/rigs/host/seen.ts'
import type { AgentInput } from '../contract/agent-input.ts'

const program = fileURLToPath(new URL('../../test/rigs/host/killed-everywhere.ts', import.meta.url))

type Wishes = (a: RigNic, b: RigNic) => AgentInput['interfaces']

const cases: Record<string, { from: Wishes; to: Wishes; steps: number }> = {
  'two NICs that come and go may be killed after every single step': {
    from: () => [],
    to: (a, b) => [wish(a, 0, { addresses: [a.address6] }), wish(b, 1)],
    steps: 50,
  },
  'a NIC that takes over the number of one that goes may be killed after every single step': {
    from: a => [wish(a, 0)],
    to: (_, b) => [wish(b, 0, { mtu: 1400 })],
    steps: 40,
  },
}

for (const [name, { from, to, steps }] of Object.entries(cases)) {
  test(name, async () => {
    const node = await createNode({ nics: 2 })
    try {
      const [a, b] = node.nics
      assert.ok(a && b)
      const before = foreignState(node, macsOf(node))
      const said = node.exec(process.execPath, program, node.root, input(from(a, b)), input(to(a, b)))
      const { there, back } = JSON.parse(said) as { there: number; back: number }
      assert.ok(there > steps && back > steps, said)
      assert.equal(foreignState(node, macsOf(node)), before)
    } finally {
      node.remove()
    }
  })
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
