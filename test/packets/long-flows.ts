/**
 * Flows that have to outlive what the agent and others do to the NICs.
 *
 * Pure.
 */
import type { LongFlow } from './testbed.ts'

/** The NIC of the node that carries it. */
export type Carrier = 'first NIC' | 'second NIC' | 'third NIC' | 'primary' | 'no NIC of the node'

export interface NamedFlow extends Omit<LongFlow, 'family'> {
  carrier: Carrier
}

/** In the layout with two NICs in one subnet. */
export const longFlows = {
  'TCP of the node to N': { from: 'node', to: 'client', port: 'server', carrier: 'first NIC' },
  'UDP of the node to N': { from: 'node', to: 'client', port: 'server', udp: true, carrier: 'first NIC' },
  'TCP of a Pod to N, masqueraded': { from: 'pod', to: 'client', port: 'server', carrier: 'first NIC' },
  'TCP to a NodePort at A': { from: 'client', to: 'A', port: 'NodePort Local', carrier: 'first NIC' },
  'TCP to A from behind the gateway': { from: 'far', to: 'A', port: 'host', carrier: 'first NIC' },
  'TCP of the node bound to B by the gateway': {
    from: 'node',
    bind: 'B',
    to: 'far',
    port: 'server',
    carrier: 'second NIC',
  },
  'TCP to the second NIC of the subnet': { from: 'client', to: 'A2', port: 'host', carrier: 'third NIC' },
  /** What it waits for is the machine of the tests. */
  'TCP past the node': { from: 'far', to: 'peer', port: 'server', carrier: 'no NIC of the node' },
  'TCP of a far client to P': { from: 'far', to: 'P', port: 'host', carrier: 'primary' },
} satisfies Record<string, NamedFlow>
export type FlowName = keyof typeof longFlows
