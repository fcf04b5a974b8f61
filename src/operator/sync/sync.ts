/**
 * One sync of one OpenstackConfig: observes the cloud and the cluster, decides, and carries it out.
 *
 * Its scope says what it observes (choose-scope.ts). A decision that needs more widens the scope, and the sync starts again.
 * A conflict of a delivery repeats only the cluster: deliver-plan.ts observes it, decides and delivers, three times at most.
 * The sync does not write the object's status: it returns the result.
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
import { type InspectContext, type InspectDeps, inspect } from '../observe/inspect.ts'
import { type Inspection, widened } from '../observe/inspection.ts'
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
}

export type SyncContext = Omit<InspectContext, 'user'> & { log: Log; traceparent?: string }

/** Each call has its own timeout. This limit is for a cloud or a Viola that answers every call slowly. */
export function withTimeLimit(signal: AbortSignal, maxMs = 5 * 60_000): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(maxMs)])
}

/** Observes what the scope names, decides, and carries it out. A scope that is too narrow for that is widened. */
export async function sync(config: OpenstackConfig, deps: SyncDeps, context: SyncContext): Promise<SyncResult> {
  for (let { scope } = context; ; scope = widened(scope)) {
    const known = await inspect(config, deps, { ...context, scope })
    const down = downPortsOf(config, deps, known)
    const isDue = nodesDue({ deps, providerId: known.providerId, down }, known.plan, 1).length > 0
    if (isDue && known.reads === 'cluster') continue
    if (scope.reads === 'ports' && !known.isTargeted) deps.snapshots.noteMiss(keyOf(config))
    await follow(config, deps, known, context.log)
    const outcome = await carryOut(config, deps, context, { known, down })
    if (!outcome.needsCompleteRead) return resultOf(config, deps, { known, down, outcome })
    deps.snapshots.noteMiss(keyOf(config))
  }
}

function downPortsOf(config: OpenstackConfig, { now }: SyncDeps, { plan, settings }: Inspection): DownPortDecision {
  const portIds = plan.down.map(({ portId }) => portId)
  return decideDownPorts(portIds, config.status?.downPortRetry, settings, now())
}

/** The message bus of the cloud, and the streams of Viola: they wake the object. */
async function follow(config: OpenstackConfig, deps: SyncDeps, known: Inspection, log: Log): Promise<void> {
  const key = keyOf(config)
  const { settings, viola, observed, bus } = known
  if (known.sharesBus) await deps.busSecrets.update(config, bus, log)
  const { secret } = deps.sources(key)
  await deps.cloudEvents.follow(config, { settings, bus, secret, interest: () => interestOf(config, observed) })
  if (observed.nodesVersion !== undefined) deps.nodeWatch.follow(key, viola, observed.nodesVersion)
  else if (!config.spec.vmSelector?.clusterNodes) deps.nodeWatch.forget(key)
  if (known.nodesReported) deps.statusWatch.follow(key, viola)
  else deps.statusWatch.forget(key)
}

interface Decided {
  known: Inspection
  down: DownPortDecision
}

/** Delivers what differs, and notes the records. They are sent to the inventory after the status is written. */
async function carryOut(
  config: OpenstackConfig,
  deps: SyncDeps,
  { signal, log, traceparent }: SyncContext,
  { known, down }: Decided,
): Promise<DeliveryResult> {
  const { settings, providerId } = known
  await giveWay()
  for (const portId of undelivered(known.observed)) deps.records.noteSeen(providerId, portId)
  const beforeSending = (nodes: readonly NodePlan[]) =>
    deps.deliveries.mark(config, targetOf(settings, providerId), nodes)
  const outcome = await deps.timed('deliver', () =>
    deliverPlan({ deps, ...known, beforeSending, down, log, signal, traceparent }),
  )
  await record(deps, providerId, outcome)
  return outcome
}

async function resultOf(
  config: OpenstackConfig,
  deps: SyncDeps,
  { known, down, outcome }: Decided & { outcome: DeliveryResult },
): Promise<SyncResult> {
  const key = keyOf(config)
  await giveWay()
  const findings = findingsOf(config, known, outcome, deps.cloudEvents.stateOf(key), deps.now())
  const error = errorOf(outcome.delivery, known.cloudState, known.checkFailures)
  const isOpen = error !== undefined || findings.renumber?.current !== undefined
  deps.snapshots.set(key, isOpen ? undefined : snapshotOf(config, known, outcome))
  await giveWay()
  return {
    settings: known.settings,
    findings,
    changed: outcome.changed.size,
    delivered: [...outcome.changed.keys()].filter(node => outcome.delivery.accepted.has(node)),
    down,
    plan: outcome.plan,
    inspection: known,
    waiting: outcome.plan.waiting.length > 0,
    unresolved: outcome.delivery.conflicts.size > 0 || isUnconfirmed(outcome.plan),
    repeatReadMs: deps.repeatedReads.msUntilNext(key),
    unreadyPorts: findings.nodesReported ? unreadyPorts(findings, outcome) : [],
    ...(error && { error }),
  }
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
    await giveWay()
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
