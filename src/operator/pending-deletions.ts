/**
 * Nodes whose config was deleted and whose cluster still shows it: the node is being cleaned up. They are not deleted
 * again, and are reported when they are gone.
 */
import type { HeldNode } from './observed-state.ts'
import type { NodePlan } from './plan.ts'

type Node = Pick<HeldNode, 'nodeName' | 'instanceId'>

export interface Leaving {
  add(providerId: string, node: NodePlan): void
  has(providerId: string, node: NodePlan): boolean
  /** The nodes that were leaving and are no longer held; they are forgotten here. */
  settle(providerId: string, held: ReadonlySet<string>): Node[]
}

/** A deletion that shows no effect for so long is asked for again. */
const patienceMs = 60_000

export function createLeaving(now: () => Date): Leaving {
  const leaving = new Map<string, Map<string, { node: Node; specHash: string; at: number }>>()
  return {
    add(providerId, { nodeName, instanceId, expectedSpecHash }) {
      const nodes = leaving.get(providerId) ?? new Map()
      nodes.set(nodeName, { node: { nodeName, instanceId }, specHash: expectedSpecHash, at: now().getTime() })
      leaving.set(providerId, nodes)
    },
    has(providerId, { nodeName, expectedSpecHash }) {
      const known = leaving.get(providerId)?.get(nodeName)
      return known?.specHash === expectedSpecHash && now().getTime() - known.at < patienceMs
    },
    settle(providerId, held) {
      const nodes = leaving.get(providerId) ?? new Map()
      const gone = [...nodes.values()].filter(({ node }) => !held.has(node.nodeName)).map(({ node }) => node)
      for (const { nodeName } of gone) nodes.delete(nodeName)
      return gone
    },
  }
}
