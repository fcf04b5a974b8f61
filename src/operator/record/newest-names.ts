/**
 * The names of nodes and interfaces as the cloud has them now. The cluster has those of the delivery.
 */
import { type Interface, type InterfaceNames, nameFields, withoutNames } from '../../contract/interfaces.ts'
import { type DeliveredNode, identityOf } from '../plan/observed-state.ts'
import type { NodePlan } from '../plan/plan.ts'
import { setBounded } from './bounded.ts'

export interface NewestNames {
  /** Takes the names of a node and of the interfaces of `source`. Reports whether they are new. */
  take(providerId: string, plan: NodePlan, source: string): boolean
  /** The node with its newest names. */
  with(providerId: string, node: DeliveredNode): DeliveredNode
  forget(providerId: string, nodeName: string): void
}

export function createNewestNames(): NewestNames {
  /** By provider and node, the last plan of each OpenstackConfig. */
  const plans = new Map<string, Map<string, NodePlan>>()
  return {
    take(providerId, plan, source) {
      const key = `${providerId} ${plan.nodeName}`
      const known = plans.get(key) ?? new Map<string, NodePlan>()
      const before = known.get(source)
      known.set(source, plan)
      setBounded(plans, key, known)
      return !before || !haveSameNodeNames(before, plan)
    },
    with(providerId, node) {
      const known = plans.get(`${providerId} ${node.nodeName}`)
      if (!known) return node
      const instanceName = [...known.values()].findLast(plan => plan.instanceName)?.instanceName
      return {
        ...node,
        ...(instanceName !== undefined && { instanceName }),
        interfaces: node.interfaces.map(nic => {
          const planned = interfaceIn(known.get(nic.source ?? ''), nic)
          return !planned || haveSameNames(planned, nic) ? nic : { ...withoutNames(nic), ...namesIn(planned) }
        }),
      }
    },
    forget: (providerId, nodeName) => void plans.delete(`${providerId} ${nodeName}`),
  }
}

function interfaceIn(plan: NodePlan | undefined, nic: Interface): Interface | undefined {
  return plan?.interfaces.find(one => identityOf(one) === identityOf(nic))
}

const names = Object.keys(nameFields) as (keyof InterfaceNames)[]

function namesIn(nic: Interface): InterfaceNames {
  return Object.fromEntries(names.flatMap(name => (nic[name] === undefined ? [] : [[name, nic[name]]])))
}

function haveSameNames(a: Interface, b: Interface): boolean {
  return names.every(name => a[name] === b[name])
}

function haveSameNodeNames(before: NodePlan, plan: NodePlan): boolean {
  if (before === plan) return true
  if (before.instanceName !== plan.instanceName) return false
  return plan.interfaces.every(nic => {
    const old = interfaceIn(before, nic)
    return old !== undefined && haveSameNames(old, nic)
  })
}
