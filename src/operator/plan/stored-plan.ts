/**
 * The plan of a sync as the inventory stores it: what changes, within limits. Pure.
 */
import { toWireInterface } from '../../contract/interfaces.ts'
import { maxStoredPlanEntries, type PlanAnswer, type StoredPlan } from '../../contract/operator-api.ts'
import type { NodePlan, Plan } from './plan.ts'

export function storedPlanOf({
  nodes,
  removalsOnHold,
  moves,
}: Pick<Plan, 'nodes' | 'removalsOnHold' | 'moves'>): StoredPlan {
  const changed = nodes.filter(({ action }) => action !== 'keep')
  const omitted = [changed, removalsOnHold, moves].map(list => Math.max(0, list.length - maxStoredPlanEntries))
  return {
    nodes: changed.slice(0, maxStoredPlanEntries).map(toPlannedNode),
    unchanged: nodes.length - changed.length,
    heldRemovals: removalsOnHold.slice(0, maxStoredPlanEntries),
    moves: moves.slice(0, maxStoredPlanEntries),
    omitted: omitted.reduce((sum, count) => sum + count, 0),
  }
}

export function toPlannedNode(plan: NodePlan): PlanAnswer['nodes'][number] {
  const { nodeName, instanceId, instanceName, action, interfaces, why } = plan
  return {
    ...{ nodeName, instanceId, action, why },
    ...(instanceName !== undefined && { instanceName }),
    interfaces: interfaces.map(toWireInterface),
  }
}
