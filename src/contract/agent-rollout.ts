/**
 * How far a request to run the agent again is, over many nodes. Free of dependencies.
 */
import type { AgentRollout, State } from './node-config.ts'

export interface RolloutNode {
  state?: State | undefined
  agentRollout?: AgentRollout | undefined
}

export interface RolloutProgress {
  nodes: number
  updated: number
  running: number
  waiting: number
  failed: number
  /** Drifted, failed or not configured before the request: they keep what they have. */
  leftOut: number
  /** What the nodes wait for. If the rollout stopped, that. */
  reason?: string
  message?: string
}

export function agentRolloutProgress(nodes: readonly RolloutNode[], request: string): RolloutProgress {
  const places = nodes.map(node => placeOf(node, request))
  const count = (place: Place) => places.filter(one => one === place).length
  const waiting = nodes.filter((_, at) => places[at] === 'waiting').map(({ agentRollout }) => agentRollout)
  const shown = waiting.find(one => one?.reason === 'RolloutStopped') ?? waiting.find(one => one?.reason)
  return {
    nodes: nodes.length,
    updated: count('updated'),
    running: count('running'),
    waiting: count('waiting'),
    failed: count('failed'),
    leftOut: count('leftOut'),
    ...(shown?.reason !== undefined && { reason: shown.reason }),
    ...(shown?.message !== undefined && { message: shown.message }),
  }
}

type Place = 'updated' | 'running' | 'waiting' | 'failed' | 'leftOut'

function placeOf({ state, agentRollout }: RolloutNode, request: string): Place {
  const isUpdated = agentRollout?.request === request && agentRollout.state === 'Updated'
  if (state === 'InProgress') return 'running'
  if (isUpdated) return state === 'Configured' ? 'updated' : state === 'Failed' ? 'failed' : 'running'
  return state === 'Configured' ? 'waiting' : 'leftOut'
}
