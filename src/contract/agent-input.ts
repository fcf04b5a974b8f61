/**
 * What the controller hands to the agent, inside the Job itself: the snapshot of one node's spec.
 *
 * The agent has no dependency and reads it with its own parser (`agent/input.ts`); a test holds the two together.
 */
import { z } from 'zod'
import { interfaceList } from './node-config.ts'
import { generation } from './text.ts'

/** The variable of the Job's container that carries the input as JSON. */
export const agentInputVariable = 'MULTINIC_INPUT'

/** The variable with the trace that the work belongs to, as programs hand it to each other. */
export const agentTraceVariable = 'TRACEPARENT'

export const agentModes = ['apply', 'cleanup', 'check', 'plan'] as const
export type AgentMode = (typeof agentModes)[number]

export const agentInput = z.object({
  version: z.literal(1),
  mode: z.enum(agentModes),
  nodeName: z.string().min(1).max(253),
  /** Expected SystemUUID of the machine; empty means any. */
  instanceId: z.string().max(253).optional(),
  generation,
  specHash: z.string().max(128),
  /** Addresses that Kubernetes knows the node by: the NIC that has one is never touched. */
  nodeAddresses: z.array(z.string().max(45)).max(16).optional(),
  interfaces: interfaceList,
})

export type AgentInput = z.infer<typeof agentInput>
