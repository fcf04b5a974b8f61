/**
 * A request to run the agent again on every configured node, after its image or its settings changed: an annotation on the
 * namespace. Without one a settled node keeps what the agent of its time configured. Pure.
 */
import type { AgentRollout } from '../../contract/node-config.ts'
import type { NodeReason } from '../../contract/reasons/catalogue.ts'
import { truncate } from '../../contract/truncate.ts'
import { isLegacyEntry, isSettled } from './config-status.ts'
import type { Observed } from './observed.ts'

/**
 * A configured node has not followed the request yet. A node that drifted stays as it is, and an entry of a MultiNicBizConfig
 * has no room to say how far it is.
 */
export function isAgentDue({ config, agentRollout, agentHash }: Observed): boolean {
  const { status = {} } = config
  if (agentRollout === undefined || isLegacyEntry(config) || !isSettled(config)) return false
  const { request, state } = status.agentRollout ?? {}
  return !(request === agentRollout && state === 'Updated') && status.agentHash !== agentHash
}

/** What the status of a node that stays as it is shall say; null after the request was withdrawn. */
export function settledRollout(observed: Observed): AgentRollout | null | undefined {
  const { config, agentRollout } = observed
  if (isLegacyEntry(config) || !isSettled(config) || isAgentDue(observed)) return undefined
  if (agentRollout !== undefined) return updatedBy(agentRollout)
  return config.status.agentRollout?.state === 'Waiting' ? null : undefined
}

export function updatedBy(request: string): AgentRollout {
  return { request, state: 'Updated' }
}

export function waitingFor(request: string, reason: NodeReason, message: string): AgentRollout {
  return { request, state: 'Waiting', reason, message: truncate(message, 1_024) }
}
