/**
 * Input of the agent, inside its Job: a snapshot of the spec of one node.
 *
 * The agent has no dependencies and uses its own parser (`agent/input.ts`). A test compares parser and schema.
 */
import * as z from 'zod'
import { interfaceList } from './node-config.ts'
import { generation } from './text.ts'

/** Environment variable of the agent's container that holds the input as JSON. */
export const agentInputVariable = 'MULTINIC_INPUT'

/** Environment variable with the W3C trace context of the run. */
export const agentTraceVariable = 'TRACEPARENT'

/** How many addresses of the Node, and how many Pod networks, an input may have. */
export const maxNodeNetworks = 16

export const agentModes = ['apply', 'cleanup', 'check', 'plan'] as const
export type AgentMode = (typeof agentModes)[number]

const nodeAddress = z.object({ address: z.string().max(45), nodeName: z.string().max(253) })

export type NodeAddress = z.infer<typeof nodeAddress>

export const agentInput = z.object({
  version: z.literal(1),
  mode: z.enum(agentModes),
  nodeName: z.string().min(1).max(253),
  /** Expected SystemUUID of the machine. Empty means any. */
  instanceId: z.string().max(253).optional(),
  /** Boot ID of the Node whose SystemUUID the controller compared. Identifies a machine without DMI. */
  bootID: z.string().max(253).optional(),
  generation,
  specHash: z.string().max(128),
  /**
   * Addresses of the Kubernetes Node. Of each family the first counts, and those on the NIC with the default route: the agent
   * never changes a NIC that has one of these.
   */
  nodeAddresses: z.array(z.string().max(45)).max(maxNodeNetworks).optional(),
  /** Networks of the node's Pods (Node `spec.podCIDRs`). No rule for packets without a source covers them. */
  podCIDRs: z.array(z.string().max(49)).max(maxNodeNetworks).optional(),
  /** Networks of the cluster's Services (ServiceCIDR). No rule for packets without a source covers them either. */
  serviceCIDRs: z.array(z.string().max(49)).max(maxNodeNetworks).optional(),
  /** Requested addresses that are the own addresses of other Nodes. Absent when there are none. */
  addressesOfNodes: z.array(nodeAddress).max(maxNodeNetworks).optional(),
  interfaces: interfaceList,
})

export type AgentInput = z.infer<typeof agentInput>
