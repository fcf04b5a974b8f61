/**
 * A request to run the agent again, while nodes wait for their turn.
 */
import { agentRolloutProgress, type RolloutNode, type RolloutProgress } from '../../src/contract/agent-rollout.ts'

/** The newest request that a node waits for. */
export function openRolloutOf(nodes: readonly RolloutNode[]): RolloutProgress | undefined {
  const requests = nodes.flatMap(({ agentRollout }) => (agentRollout?.state === 'Waiting' ? agentRollout.request : []))
  const newest = requests.toSorted().at(-1)
  return newest === undefined ? undefined : agentRolloutProgress(nodes, newest)
}
