/**
 * Delivers the plan of one sync: locks the VMs, posts what differs, and plans again on a conflict.
 */
import type { Log } from '../../telemetry/log.ts'
import type { Locks } from '../limits/locks.ts'
import { listDelivered, withDelivered } from '../observe/inspect.ts'
import type { Scope } from '../observe/inspection.ts'
import { isRemoving } from '../observe/snapshots.ts'
import type { DeliveredNode, Observed } from '../plan/observed-state.ts'
import { type NodePlan, type Plan, planNodes } from '../plan/plan.ts'
import type { ViolaClient } from '../viola/viola-client.ts'
import { type Delivery, deliver, emptyDelivery, logDelivered } from './deliver.ts'
import type { DownPortDecision } from './down-ports.ts'
import type { PendingDeletions } from './pending-deletions.ts'

/** A conflict is planned again at once, up to this number of attempts. */
const maxAttempts = 3

interface DeliverOptions {
  deps: { locks: Locks; pendingDeletions: PendingDeletions; sentOnce: SentOnce }
  /** Awaited before nodes are sent. */
  beforeSending: (nodes: readonly NodePlan[]) => Promise<void>
  viola: ViolaClient
  providerId: string
  observed: Observed
  cluster: readonly DeliveredNode[]
  /** Viola reports what is delivered, and refuses a plan that is based on another state. */
  nodesReported: boolean
  plan: Plan
  /** The plan is not based on a complete read: it must not remove an interface. */
  isTargeted: boolean
  /** Without a read of the cloud, nothing is delivered. */
  reads: Scope['reads']
  down: DownPortDecision
  log: Log
  signal: AbortSignal
  traceparent: string | undefined
}

type Attempts = Omit<DeliveryResult, 'nodes'>

/** By provider and node, what was sent last of the fields that an earlier Viola or CRD does not keep: it gets them once. */
export type SentOnce = Map<string, string>

export interface DeliveryResult {
  plan: Plan
  observed: Observed
  /** As it was before the last attempt. */
  cluster: readonly DeliveredNode[]
  delivery: Delivery
  /** Nodes that were sent or removed because they differ. */
  changed: Map<string, NodePlan>
  /** Less was read than the delivery needs: nothing of the cloud, or only some ports and an interface would be removed. */
  needsCompleteRead: boolean
  /** The nodes of this object after delivery. A node that was just sent has the status of an older generation. */
  nodes: readonly { node: DeliveredNode; plan: NodePlan }[]
}

/**
 * Delivers under the locks of the VMs. Each node carries the spec hash that it was planned on, so a write of another object or
 * operator in between causes a conflict, which is planned again on a state that is read under the locks. A Viola that does not
 * report its nodes cannot find a conflict: the first plan is made under the locks too.
 */
export async function deliverPlan(options: DeliverOptions): Promise<DeliveryResult> {
  const { deps, viola, providerId, log, signal } = options
  let { plan, observed, cluster } = options
  const total: Attempts = {
    ...{ plan, observed, cluster, delivery: emptyDelivery(), changed: new Map() },
    needsCompleteRead: false,
  }
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const due = nodesDue(options, plan, attempt)
    if (due.length === 0) break
    if (options.reads === 'cluster') {
      // It was not due before, when the scope was wide enough.
      total.needsCompleteRead = true
      break
    }
    const vmIds = new Set(due.map(node => node.instanceId))
    const keys = [...vmIds].map(vmId => `${providerId} ${vmId}`)
    const conflicts = await deps.locks.hold(keys, async () => {
      if (attempt > 1 || !options.nodesReported) {
        cluster = (await listDelivered(viola, signal)).nodes
        observed = withDelivered(cluster, observed)
        plan = planNodes(observed)
        total.needsCompleteRead = options.isTargeted && isRemoving({ plan, observed })
        if (total.needsCompleteRead) return 0
      }
      const nodes = nodesDue(options, plan, attempt).filter(node => vmIds.has(node.instanceId))
      await options.beforeSending(nodes)
      const delivery = await deliver(viola, nodes, signal, options.traceparent)
      await logDelivered(log, nodes, delivery)
      add(total, delivery, nodes)
      noteSent(options, nodes, delivery)
      for (const node of nodes) if (delivery.removed.has(node.nodeName)) deps.pendingDeletions.add(providerId, node)
      return delivery.conflicts.size
    })
    Object.assign(total, { plan, observed, cluster })
    if (conflicts === 0) break
  }
  return { ...total, nodes: nodesAfter(total) }
}

type DueOptions = Pick<DeliverOptions, 'deps' | 'providerId' | 'down'>

/**
 * Nodes that differ, or have other aliases, unless they were sent once for it; in the first attempt also nodes with DOWN ports
 * whose resend is due.
 */
export function nodesDue({ deps, providerId, down }: DueOptions, plan: Plan, attempt: number): NodePlan[] {
  const isResendDue = down.resend && attempt === 1
  const withDownPort = new Set(plan.down.map(({ nodeName }) => nodeName))
  return plan.nodes.filter(node => {
    if (node.action === 'remove') return !deps.pendingDeletions.has(providerId, node)
    const { once } = node
    const isNew =
      once === undefined ? node.action === 'send' : deps.sentOnce.get(`${providerId} ${node.nodeName}`) !== once
    return isNew || (isResendDue && withDownPort.has(node.nodeName))
  })
}

/** A node that is sent for another reason may be a new one, with the generation of an earlier one. */
function noteSent({ deps, providerId }: DeliverOptions, nodes: readonly NodePlan[], { accepted }: Delivery): void {
  for (const { nodeName, once } of nodes) {
    if (!accepted.has(nodeName)) continue
    const key = `${providerId} ${nodeName}`
    if (once === undefined) deps.sentOnce.delete(key)
    else deps.sentOnce.set(key, once)
  }
}

function add(total: Attempts, delivery: Delivery, nodes: readonly NodePlan[]): void {
  for (const [node, result] of delivery.accepted) total.delivery.accepted.set(node, result)
  for (const node of delivery.removed) total.delivery.removed.add(node)
  // What failed in an earlier attempt was sent again.
  for (const { nodeName } of nodes)
    for (const failed of [total.delivery.failures, total.delivery.refused]) failed.delete(nodeName)
  for (const [node, message] of delivery.failures) total.delivery.failures.set(node, message)
  for (const [node, message] of delivery.refused) total.delivery.refused.set(node, message)
  total.delivery.conflicts = delivery.conflicts
  for (const node of nodes) {
    const isDone = delivery.accepted.has(node.nodeName) || delivery.removed.has(node.nodeName)
    if (isDone && node.action !== 'keep') total.changed.set(node.nodeName, node)
  }
}

/** All nodes of the cluster after delivery. Undefined if Viola did not report what it stored. */
export function clusterAfter({ cluster, delivery, nodes }: DeliveryResult): readonly DeliveredNode[] | undefined {
  if (delivery.accepted.size === 0) return cluster
  const after = new Map(nodes.map(({ node }) => [node.nodeName, node]))
  for (const [nodeName, { specHash }] of delivery.accepted) {
    const node = after.get(nodeName)
    if (!node || specHash === undefined) return undefined
    after.set(nodeName, { ...node, specHash })
  }
  const known = new Set(cluster.map(({ nodeName }) => nodeName))
  const added = [...after.values()].filter(({ nodeName }) => !known.has(nodeName))
  return [...cluster.map(node => after.get(node.nodeName) ?? node), ...added]
}

function nodesAfter({ plan, observed, cluster, delivery, changed }: Attempts): DeliveryResult['nodes'] {
  const delivered = new Map(observed.delivered.map(node => [node.nodeName, node]))
  const providerName = cluster[0]?.providerName
  return plan.nodes.flatMap(planned => {
    const { nodeName, instanceId, instanceName, interfaces } = planned
    const before = delivered.get(nodeName)
    if (!changed.has(nodeName)) return before ? [{ node: before, plan: planned }] : []
    const specHash = delivery.accepted.get(nodeName)?.specHash ?? ''
    const generation = before?.generation ?? 0
    // The cluster was read again after an earlier attempt delivered the node.
    const isRead = before !== undefined && specHash !== '' && before.specHash === specHash
    return [
      {
        node: {
          ...{ nodeName, instanceId, specHash, interfaces },
          ...(instanceName !== undefined && { instanceName }),
          ...(providerName !== undefined && { providerName }),
          generation: isRead ? generation : generation + 1,
          ...(before?.status && { status: before.status }),
        },
        plan: planned,
      },
    ]
  })
}
