/** Configures the NICs of a testbed with the real agent, and the request as the controller writes it. */
import assert from 'node:assert/strict'
import type { AgentInput } from '../../src/contract/agent-input.ts'
import { type RigNode, requestedInterface } from '../rigs/host/node.ts'
import type { NamespaceTestbed } from './namespace-testbed.ts'

/** The networks of Pods and Services are left out on purpose: the rules must not depend on them. */
export function requestOf(
  node: RigNode,
  more: (index: number) => Partial<AgentInput['interfaces'][number]> = () => ({}),
): Partial<AgentInput> {
  return {
    nodeAddresses: ['10.0.0.10', 'fd00:a::10'],
    interfaces: node.nics.map((nic, index) =>
      requestedInterface(nic, index, {
        mtu: 1500,
        addresses: [nic.address6],
        routes: [{ destination: '::/0', nexthop: nic.gateway6 }],
        ...more(index),
      }),
    ),
  }
}

export async function runAgent(node: RigNode, input: Partial<AgentInput>): Promise<string> {
  const { report, log } = await node.agent(input)
  assert.equal(report?.verdict, 'Configured', log)
  return log
}

export async function configure(testbed: NamespaceTestbed): Promise<void> {
  await runAgent(testbed.node, requestOf(testbed.node))
  await testbed.finish()
}
