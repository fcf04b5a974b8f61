/**
 * One sync of one OpenstackConfig: inspect → deliver → record.
 *
 * Does not write the object's status: it returns the result.
 */
import { interfaceHash } from '../../contract/interface-hash.ts'
import type { Interface } from '../../contract/interfaces.ts'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { keyOf } from '../../kube/keys.ts'
import { giveWay } from '../../runtime/event-loop.ts'
import type { Log } from '../../telemetry/log.ts'
import type { BusSecrets } from '../clouds/bus-secrets.ts'
import type { SyncSettings } from '../config.ts'
import type { Delivery } from '../deliver/deliver.ts'
import { clusterAfter, type DeliveryResult, deliverPlan, nodesDue, type SentOnce } from '../deliver/deliver-plan.ts'
import { type DownPortDecision, decideDownPorts } from '../deliver/down-ports.ts'
import type { PendingDeletions } from '../deliver/pending-deletions.ts'
import type { CloudEvents } from '../events/cloud-events.ts'
import { interestOf } from '../events/interests.ts'
import type { Locks } from '../limits/locks.ts'
import { type InspectContext, type InspectDeps, type Inspection, inspect } from '../observe/inspect.ts'
import type { CloudState } from '../observe/observe.ts'
import { isRemoving, type Snapshot, type Snapshots } from '../observe/snapshots.ts'
import { selectedIds } from '../observe/vms.ts'
import type { DeliveredNode } from '../plan/observed-state.ts'
import type { NodePlan, Plan } from '../plan/plan.ts'
import { byReason } from '../plan/verdicts.ts'
import type { Records } from '../record/records.ts'
import { type Findings, stateOf } from '../record/sync-outcome.ts'
import { undelivered, unreadyPorts } from '../record/unready-ports.ts'
import { findingsOf, targetOf } from '../status/findings.ts'
import { SyncError } from '../sync-error.ts'
import type { NodeWatch } from '../viola/node-watch.ts'
import type { StatusWatch } from '../viola/status-watch.ts'
import type { Deliveries } from './deliveries.ts'

export interface SyncDeps extends InspectDeps {
  locks: Locks
  records: Records
  deliveries: Deliveries
  pendingDeletions: PendingDeletions
  sentOnce: SentOnce
  snapshots: Snapshots
  busSecrets: BusSecrets
  cloudEvents: CloudEvents
  nodeWatch: NodeWatch
  statusWatch: StatusWatch
  maxSyncMs?: number
}

export interface SyncResult {
  settings: SyncSettings
  findings: Findings
  changed: number
  /** Nodes that were sent because they differ. */
  delivered: readonly string[]
  down: DownPortDecision
  /** Ports wait to be attached. */
  waiting: boolean
  /** A conflict or an unresolved missing port is left: sync again soon. */
  unresolved: boolean
  /** When another read decides about a port. */
  repeatReadMs: number | undefined
  /** Selected ports whose interface is not configured as requested. Empty if Viola reports no state. */
  unreadyPorts: readonly string[]
  error?: SyncError
  plan: Plan
  inspection: Inspection
  /** Nothing was due, so the cloud was not asked. */
  isStatusPass: boolean
}

/** Each call has its own timeout. This limit is for a cloud or a Viola that answers every call slowly. */
export function withTimeLimit(signal: AbortSignal, maxMs = 5 * 60_000): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(maxMs)])
}

export async function sync(
  config: OpenstackConfig,
  deps: SyncDeps,
  context: InspectContext & { log: Log; traceparent?: string },
): Promise<SyncResult> {
  const { signal, log, traceparent } = context
  const { inspection, down, isStatusPass } = await inspectDue(config, deps, context)
  const { settings, providerId, viola, observed, bus } = inspection
  if (context.snapshot && context.hints.changed && !inspection.isTargeted) deps.snapshots.noteMiss(keyOf(config))
  if (inspection.sharesBus) await deps.busSecrets.update(config, bus, log)
  const { secret } = deps.sources(keyOf(config))
  await deps.cloudEvents.follow(config, { settings, bus, secret, interest: () => interestOf(config, observed) })
  if (observed.nodesVersion !== undefined) deps.nodeWatch.follow(keyOf(config), viola, observed.nodesVersion)
  else if (!config.spec.vmSelector?.clusterNodes) deps.nodeWatch.forget(keyOf(config))
  if (inspection.nodesReported) deps.statusWatch.follow(keyOf(config), viola)
  else deps.statusWatch.forget(keyOf(config))
  await giveWay()
  for (const portId of undelivered(observed)) deps.records.noteSeen(providerId, portId)

  const beforeSending = (nodes: readonly NodePlan[]) =>
    deps.deliveries.mark(config, targetOf(settings, providerId), nodes)
  const result = await deps.timed('deliver', () =>
    deliverPlan({ deps, ...inspection, beforeSending, down, log, signal, traceparent }),
  )
  await record(deps, providerId, result)
  if (result.needsCompleteRead) {
    deps.snapshots.noteMiss(keyOf(config))
    return sync(config, deps, { ...context, snapshot: undefined })
  }
  await giveWay()
  const findings = findingsOf(config, inspection, result, deps.cloudEvents.stateOf(keyOf(config)), deps.now())
  await giveWay()
  const error = errorOf(result.delivery, inspection.cloudState, inspection.checkFailures)
  deps.snapshots.set(
    keyOf(config),
    error || findings.renumber?.current ? undefined : snapshotOf(config, inspection, result),
  )
  await giveWay()
  return {
    settings,
    findings,
    changed: result.changed.size,
    delivered: [...result.changed.keys()].filter(node => result.delivery.accepted.has(node)),
    down,
    plan: result.plan,
    ...{ inspection, isStatusPass },
    waiting: result.plan.waiting.length > 0,
    unresolved: result.delivery.conflicts.size > 0 || isUnconfirmed(result.plan),
    repeatReadMs: deps.repeatedReads.msUntilNext(keyOf(config)),
    unreadyPorts: findings.nodesReported ? unreadyPorts(findings, result) : [],
    ...(error && { error }),
  }
}

/**
 * Inspects with what an earlier inspection found in the cloud, if there is one. Only the status of nodes may be new then: if
 * the plan has anything to deliver, the cloud is asked first.
 */
async function inspectDue(
  config: OpenstackConfig,
  deps: SyncDeps,
  context: InspectContext,
): Promise<{ inspection: Inspection; down: DownPortDecision; isStatusPass: boolean }> {
  const inspection = await inspect(config, deps, context)
  const { plan, providerId, settings, cloudState } = inspection
  const portIds = plan.down.map(({ portId }) => portId)
  const down = decideDownPorts(portIds, config.status?.downPortRetry, settings, deps.now())
  const isStatusPass = cloudState === context.reuse?.cloudState
  if (isStatusPass && nodesDue({ deps, providerId, down }, plan, 1).length > 0)
    return inspectDue(config, deps, { ...context, reuse: undefined })
  return { inspection, down, isStatusPass }
}

/** Ports that are missing, or that only the second answer had. */
function isUnconfirmed({ missingPorts, verdicts }: Plan): boolean {
  return missingPorts.length > 0 || byReason(verdicts).some(({ reason }) => reason === 'RemovalUnconfirmed')
}

/** Undefined while interfaces are removed, or if Viola does not report what it has. */
function snapshotOf(
  { metadata }: OpenstackConfig,
  { cloud, viola, cloudState, nodesReported, isTargeted }: Inspection,
  result: DeliveryResult,
): Snapshot | undefined {
  const cluster = clusterAfter(result)
  if (!cluster || !nodesReported || isRemoving(result)) return undefined
  return {
    ...{ cloud, viola, cluster, isTargeted },
    generation: metadata.generation,
    serverIds: selectedIds(cloudState.vms),
    ports: cloudState.ports,
  }
}

/** Notes the records. They are sent to the inventory after the status is written. */
async function record(deps: SyncDeps, providerId: string, result: DeliveryResult): Promise<void> {
  const { records } = deps
  const { changed, delivery } = result
  const delivered = new Map(result.observed.delivered.map(node => [node.nodeName, node.interfaces]))
  for (const { action, nodeName, interfaces } of changed.values()) {
    const stored = delivery.accepted.get(nodeName)?.specHash !== undefined
    if (action === 'send') records.noteDelivered(providerId, changedIn(interfaces, delivered.get(nodeName)), stored)
    await giveWay()
  }
  await recordNodes(records, providerId, result)
  for (const node of emptyNodes(deps, providerId, result))
    records.noteGone(providerId, node, 'the node has no interfaces left')
}

async function recordNodes(records: Records, providerId: string, result: DeliveryResult): Promise<void> {
  const { changed, delivery } = result
  const isOnlyNode = onlyNodes(result)
  for (const { node, plan } of result.nodes) {
    records.noteNames(providerId, plan, result.observed.source)
    const why = plan.why.join('; ')
    if (delivery.removed.has(node.nodeName) || plan.action === 'remove')
      records.noteRemoving(providerId, node, why || 'no interface is requested on the node')
    else if (changed.has(node.nodeName)) records.note(providerId, node, why, { isOnlyNode: isOnlyNode(node) })
    else {
      const requested = plan.action === 'send' ? plan.interfaces : undefined
      const cause = requested ? `not delivered: ${why}` : stateText(node)
      records.note(providerId, node, cause, { requested, isOnlyNode: isOnlyNode(node) })
    }
    const turn = giveWay()
    if (turn) await turn
  }
}

/** With the reason and the message of the controller, unless all is well. */
function stateText(node: DeliveredNode): string {
  const { state, reason, message } = stateOf(node)
  const text = `the node is ${state}`
  if (state === 'Configured' || reason === undefined) return text
  return `${text} (${reason})${message ? `: ${message}` : ''}`
}

function changedIn(interfaces: readonly Interface[], delivered: readonly Interface[] = []): readonly Interface[] {
  if (delivered.length === 0) return interfaces
  const before = new Set(delivered.map(interfaceHash))
  return interfaces.filter(nic => !before.has(interfaceHash(nic)))
}

/** Whether no other node of the cluster has the VM of a node. */
function onlyNodes({ nodes, observed }: DeliveryResult): (node: DeliveredNode) => boolean {
  const names = new Map<string, string>()
  const shared = new Set<string>()
  const add = ({ instanceId = '', nodeName }: DeliveredNode) => {
    const known = names.get(instanceId) ?? nodeName
    if (known === nodeName) names.set(instanceId, nodeName)
    else shared.add(instanceId)
  }
  observed.delivered.forEach(add)
  for (const { node } of nodes) add(node)
  return ({ instanceId = '' }) => instanceId !== '' && !shared.has(instanceId)
}

type EmptyNode = Pick<DeliveredNode, 'nodeName' | 'instanceId'>

/**
 * Nodes whose deletion is complete. Also VMs without a node config: their deletion may have completed while the operator
 * was not running.
 */
function emptyNodes(
  { pendingDeletions }: SyncDeps,
  providerId: string,
  { observed, cluster, changed }: DeliveryResult,
): EmptyNode[] {
  const delivered = new Set(observed.delivered.map(node => node.nodeName))
  const vms = observed.vms.flatMap(({ id, name }) =>
    id === undefined || name === undefined ? [] : [{ nodeName: name, instanceId: id }],
  )
  return [...pendingDeletions.takeCompleted(providerId, cluster), ...vms].filter(
    ({ nodeName }) => !delivered.has(nodeName) && !changed.has(nodeName),
  )
}

/** The first failure of a sync that otherwise completed. */
function errorOf(
  delivery: Delivery,
  { vmsError }: CloudState,
  checkFailures: readonly string[],
): SyncError | undefined {
  const texts = [...delivery.failures, ...delivery.conflicts].map(([node, message]) => `${node}: ${message}`)
  if (texts.length > 0) {
    // A conflict that is left after several attempts stays: somebody else owns the node config.
    const reason = delivery.failures.size > 0 ? 'ViolaPostError' : 'DeliveryConflict'
    const more = texts.length > 5 ? `; and ${texts.length - 5} more` : ''
    return new SyncError(reason, `${texts.slice(0, 5).join('; ')}${more}`)
  }
  if (vmsError) return vmsError
  const [message] = checkFailures
  return message === undefined ? undefined : new SyncError('NovaError', message)
}
