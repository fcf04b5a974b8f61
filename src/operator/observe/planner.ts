/**
 * Keeps the last plan of each object: with a thousand nodes, planning costs more than reading an unchanged state.
 */
import { equalJson } from '../../contract/json.ts'
import { createObjectMemory, type ObjectMemory } from '../../runtime/object-memory.ts'
import type { DeliveredNode, Observed } from '../plan/observed-state.ts'
import { type Plan, planNodes } from '../plan/plan.ts'
import { primaryPortReport } from '../plan/primary-port.ts'
import { selectedIds } from './vms.ts'

export interface Planner {
  plan(source: string, observed: Observed): Plan
  /** The VMs of the last plan of an object. */
  selectedVms(source: string): string[]
  /** What the last plan of an object was made of. */
  lastObserved(source: string): Observed | undefined
  /** The version of the Nodes of the last plan of an object. */
  nodesVersion(source: string): string | undefined
}

export function createPlanner(memory: ObjectMemory = createObjectMemory()): Planner {
  const last = memory.slot<{ observed: Observed; plan: Plan }>()
  return {
    plan(source, observed) {
      const known = last.get(source)
      if (known && isUnchanged(known.observed, observed)) return known.plan
      const plan = planNodes(observed)
      last.set(source, { observed, plan })
      return plan
    },
    nodesVersion: source => last.get(source)?.observed.nodesVersion,
    lastObserved: source => last.get(source)?.observed,
    selectedVms: source => selectedIds(last.get(source)?.observed.vms ?? []),
  }
}

/** Every value counts but the status of nodes. Lists that were not read again are the same objects, which compare at once. */
function isUnchanged(a: Observed, b: Observed): boolean {
  if (a.delivered.length !== b.delivered.length) return false
  if (a.delivered.some((node, index) => !isSameNode(node, b.delivered[index]))) return false
  return equalJson({ ...a, delivered: undefined }, { ...b, delivered: undefined })
}

/** Of the status, only the primary port counts. */
function isSameNode(a: DeliveredNode, b: DeliveredNode | undefined): boolean {
  if (!b || a === b) return a === b
  const isSameConfig = equalJson({ ...a, status: undefined }, { ...b, status: undefined })
  return isSameConfig && equalJson(primaryPortReport(a), primaryPortReport(b))
}
