/**
 * Nodes whose config was deleted and is still in the cluster while the node is cleaned up. They are not deleted again, and
 * are recorded as gone when the cluster no longer has them.
 */
import type { DeliveredNode } from '../plan/observed-state.ts'
import type { NodePlan } from '../plan/plan.ts'

type Node = Pick<DeliveredNode, 'nodeName' | 'instanceId'>

export interface PendingDeletions {
  add(providerId: string, node: NodePlan): void
  has(providerId: string, node: NodePlan): boolean
  /** Returns and forgets the nodes that are no longer in the cluster. */
  takeCompleted(providerId: string, cluster: readonly Node[]): Node[]
}

/** A deletion without effect is requested again after this time. */
const repeatAfterMs = 60_000

export function createPendingDeletions(now: () => Date): PendingDeletions {
  const pending = new Map<string, Map<string, { node: Node; specHash: string; at: number }>>()
  return {
    add(providerId, { nodeName, instanceId, expectedSpecHash }) {
      const nodes = pending.get(providerId) ?? new Map()
      nodes.set(nodeName, { node: { nodeName, instanceId }, specHash: expectedSpecHash, at: now().getTime() })
      pending.set(providerId, nodes)
    },
    has(providerId, { nodeName, expectedSpecHash }) {
      const known = pending.get(providerId)?.get(nodeName)
      return known?.specHash === expectedSpecHash && now().getTime() - known.at < repeatAfterMs
    },
    takeCompleted(providerId, cluster) {
      const nodes = pending.get(providerId)
      if (!nodes || nodes.size === 0) return []
      const present = new Set(cluster.map(({ nodeName }) => nodeName))
      const completed = [...nodes.values()].filter(({ node }) => !present.has(node.nodeName)).map(({ node }) => node)
      for (const { nodeName } of completed) nodes.delete(nodeName)
      return completed
    },
  }
}
