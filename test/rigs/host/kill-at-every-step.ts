/**
 * Kills the agent after every step of a change, and of the change back: the node must end in its old or its new state. The
 * steps are divided among several nodes, one per processor, that run concurrently.
 */
import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { AgentInput } from '../../../src/contract/agent-input.ts'
import { bundled } from './bundle.ts'
import { macsOf } from './kernel-state.ts'
import { busCall, tableChange } from './killable-host.ts'
import { makeNetworkManagerHost, startNetworkManager } from './network-manager.ts'
import { createNode, foreignState, type RigNic } from './node.ts'

const program = fileURLToPath(new URL('./kill-worker.ts', import.meta.url))

export interface Transition {
  nics: number
  from: (nics: RigNic[]) => AgentInput['interfaces']
  to: (nics: RigNic[]) => AgentInput['interfaces']
  /** The minimum number of steps, and of steps back: fewer mean that the test itself is broken. */
  minSteps: [to: number, back?: number]
  /** The node has NetworkManager instead of Netplan. */
  networkManager?: true
  /** NetworkManager has activated our profiles on the NICs, as after a boot. */
  booted?: true
  /** The kernel is one before 6.2, which does not rename a link that is up. */
  oldKernel?: true
  /** Kills only after some of the steps of each kind: those that differ only in numbers, such as that of the NIC. */
  sampled?: true
}

export async function killAtEveryStep(transition: Transition): Promise<void> {
  const agent = await bundled('test/rigs/host/killable-agent.ts')
  const parts = Math.min(4, availableParallelism())
  await Promise.all(Array.from({ length: parts }, (_, part) => killOnNode(transition, agent, { part, parts })))
}

/** Tests every `parts`th step from `part` on, on a node of its own. */
async function killOnNode(
  { nics, from, to, minSteps, networkManager, booted, oldKernel, sampled }: Transition,
  agent: string,
  { part, parts }: { part: number; parts: number },
): Promise<void> {
  const node = await createNode({ nics })
  if (networkManager) makeNetworkManagerHost(node)
  const manager = networkManager && (await startNetworkManager(node, { autoDefault: false }))
  try {
    // Waits are short here, and the duplicate address detection of the kernel takes a second.
    for (const { name } of node.nics) node.exec('sysctl', '-qw', `net.ipv6.conf.${name}.dad_transmits=0`)
    const before = foreignState(node, macsOf(node))
    const numbers = [part, parts, minSteps.length, booted ? 1 : 0, sampled ? 1 : 0].map(String)
    const kernel = oldKernel ? 'old' : 'new'
    const args = [node.root, agent, 'reported', kernel, input(from(node.nics)), input(to(node.nics)), ...numbers]
    const directions = JSON.parse(await node.execute(process.execPath, program, ...args)) as string[][]
    assert.equal(directions.length, minSteps.length)
    for (const [index, kinds] of directions.entries()) {
      assert.ok(kinds.length > Number(minSteps[index]), `${kinds.length} steps`)
      assert.equal(
        kinds.some(kind => kind.startsWith(busCall)),
        networkManager === true,
      )
      assert.ok(kinds.includes(tableChange), 'no step changes the tables of nftables')
    }
    assert.equal(foreignState(node, macsOf(node)), before)
  } finally {
    await manager?.stop()
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
