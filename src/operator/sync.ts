/**
 * One sync of one OpenstackConfig: look → deliver → record.
 *
 * Writes nothing to the object itself: what it came to is returned.
 */
import type { OpenstackConfig } from '../contract/openstack-config.ts'
import { withoutSlash } from '../contract/url.ts'
import { keyOf } from '../kube/keys.ts'
import type { Log } from '../telemetry/log.ts'
import type { BusSecrets } from './bus-secrets.ts'
import type { SyncSettings } from './config.ts'
import { type Delivery, deliver, tellDelivered } from './deliver.ts'
import type { CloudEvents, EventsState } from './events/cloud-events.ts'
import { interestOf } from './events/interests.ts'
import { heldBy, type Look, type LookContext, type LookDeps, look, releaseOf } from './inspect.ts'
import type { Locks } from './locks.ts'
import type { CloudFacts } from './observe.ts'
import { type HeldNode, identityOf, type Observed } from './observed-state.ts'
import type { Leaving } from './pending-deletions.ts'
import { type NodePlan, type Plan, planNodes } from './plan.ts'
import type { Records } from './records.ts'
import { type Findings, type NodeState, stateOf } from './status.ts'
import { SyncError } from './sync-error.ts'
import { type DownDecision, downResend } from './sync-schedule.ts'
import type { Viola } from './viola-client.ts'

export interface SyncDeps extends LookDeps {
  locks: Locks
  records: Records
  leaving: Leaving
  busSecrets: BusSecrets
  cloudEvents: CloudEvents
  now: () => Date
}

export interface SyncResult {
  settings: SyncSettings
  findings: Findings
  changed: number
  /** Nodes that were sent because something differs. */
  delivered: readonly string[]
  down: DownDecision
  /** Ports that wait to be attached. */
  waiting: boolean
  /** Something is left to do at once: a conflict, a question without an answer. */
  unsettled: boolean
  error?: SyncError
  plan: Plan
}

/** A conflict is looked at again at once so many times. */
const looks = 3

export async function sync(
  config: OpenstackConfig,
  deps: SyncDeps,
  context: LookContext & { log: Log; traceparent?: string },
): Promise<SyncResult> {
  const { signal, log, traceparent } = context
  const looked = await look(config, deps, context)
  const { settings, providerId, viola, observed, plan, bus, facts, nodesTold, questionFailures } = looked
  await deps.busSecrets.keep(config, bus, log)
  const { secret } = deps.sources(keyOf(config))
  await deps.cloudEvents.follow(config, { settings, bus, secret, interest: () => interestOf(config, observed) })
  for (const portId of undelivered(observed)) deps.records.saw(providerId, portId)

  const down = downResend(
    plan.down.map(({ portId }) => portId),
    config.status?.downPortRetry,
    settings,
    deps.now(),
  )
  const delivered = await deps.timed('deliver', () =>
    deliverAll({ deps, viola, providerId, observed, nodesTold, plan, down, log, signal, traceparent }),
  )
  record(deps, providerId, delivered)
  const findings = findingsOf(config, looked, delivered, deps.cloudEvents.stateOf(keyOf(config)))
  const error = errorOf(delivered.delivery, facts, questionFailures)
  return {
    settings,
    findings,
    changed: delivered.changed.size,
    delivered: [...delivered.changed.keys()].filter(node => delivered.delivery.accepted.has(node)),
    down,
    plan: delivered.plan,
    waiting: delivered.plan.waiting.length > 0,
    unsettled: delivered.delivery.conflicts.size > 0 || delivered.plan.questions.length > 0,
    ...(error && { error }),
  }
}

/** Ports that nobody has delivered yet: from now on they are seen. */
function undelivered({ ports, held }: Observed): string[] {
  const delivered = new Set(held.flatMap(node => node.interfaces.map(nic => nic.portId)))
  return ports.filter(port => !delivered.has(port.id)).map(port => port.id)
}

interface Delivering {
  deps: SyncDeps
  viola: Viola
  providerId: string
  observed: Observed
  /** Viola tells what it holds, and refuses what was planned on something else. */
  nodesTold: boolean
  plan: Plan
  down: DownDecision
  log: Log
  signal: AbortSignal
  traceparent: string | undefined
}

interface Delivered {
  plan: Plan
  observed: Observed
  delivery: Delivery
  /** Nodes that were sent or taken away because something differs. */
  changed: Map<string, NodePlan>
}

/**
 * Delivers under the locks of its VMs, on a state that was read under them; a conflict is looked at again.
 *
 * An object that is alone in its cluster trusts its first read: each node names the state that it was planned on, so
 * another operator that was quicker makes a conflict.
 */
async function deliverAll(work: Delivering): Promise<Delivered> {
  const { deps, viola, providerId, log, signal } = work
  let { plan, observed } = work
  const total: Delivered = { plan, observed, delivery: emptyDelivery(), changed: new Map() }
  for (let look = 1; look <= looks; look++) {
    const due = dueIn(work, plan, look)
    if (due.length === 0) break
    const locked = new Set(due.map(node => node.instanceId))
    const keys = [...locked].map(vmId => `${providerId} ${vmId}`)
    const conflicts = await deps.locks.hold(keys, async () => {
      const alone = look === 1 && work.nodesTold && observed.claims.length === 0
      const held = alone ? observed.held : (await heldBy(viola, signal)).nodes
      if (held !== observed.held) {
        observed = { ...observed, held }
        plan = planNodes(observed)
      }
      const nodes = dueIn(work, plan, look).filter(node => locked.has(node.instanceId))
      if (nodes.length === 0) return 0
      const delivery = await deliver(viola, nodes, signal, work.traceparent)
      tellDelivered(log, nodes, delivery)
      add(total, delivery, nodes)
      for (const node of nodes) if (delivery.removed.has(node.nodeName)) deps.leaving.add(providerId, node)
      return delivery.conflicts.size
    })
    total.plan = plan
    total.observed = observed
    if (conflicts === 0) break
  }
  return total
}

/** What differs, and in the first look also nodes with DOWN ports when they are due. */
function dueIn({ deps, providerId, down }: Delivering, plan: Plan, look: number): NodePlan[] {
  const again = new Set(down.resend && look === 1 ? plan.down.map(({ nodeName }) => nodeName) : [])
  return plan.nodes.filter(node => {
    if (node.action === 'remove') return !deps.leaving.has(providerId, node)
    return node.action === 'send' || again.has(node.nodeName)
  })
}

function emptyDelivery(): Delivery {
  return { accepted: new Map(), removed: new Set(), conflicts: new Map(), failures: new Map(), refused: new Map() }
}

function add(total: Delivered, delivery: Delivery, nodes: readonly NodePlan[]): void {
  for (const [node, result] of delivery.accepted) total.delivery.accepted.set(node, result)
  for (const node of delivery.removed) total.delivery.removed.add(node)
  for (const [node, message] of delivery.failures) total.delivery.failures.set(node, message)
  for (const [node, message] of delivery.refused) total.delivery.refused.set(node, message)
  total.delivery.conflicts = delivery.conflicts
  for (const node of nodes) {
    const through = delivery.accepted.has(node.nodeName) || delivery.removed.has(node.nodeName)
    if (through && node.action !== 'keep') total.changed.set(node.nodeName, node)
  }
}

/** The nodes of this object as they are now: what was just sent is Pending whatever an older status says. */
function nodesNow({ plan, observed, delivery, changed }: Delivered): { node: HeldNode; plan: NodePlan }[] {
  const held = new Map(observed.held.map(node => [node.nodeName, node]))
  return plan.nodes.flatMap(planned => {
    const { nodeName, instanceId, interfaces } = planned
    const before = held.get(nodeName)
    if (!changed.has(nodeName)) return before ? [{ node: before, plan: planned }] : []
    const specHash = delivery.accepted.get(nodeName)?.specHash ?? ''
    return [
      {
        node: { nodeName, instanceId, specHash, generation: (before?.generation ?? 0) + 1, interfaces },
        plan: planned,
      },
    ]
  })
}

/** Noted here, and handed to the inventory when the status is out. */
function record(deps: SyncDeps, providerId: string, delivered: Delivered): void {
  const { records } = deps
  const { changed, delivery } = delivered
  for (const { action, nodeName, interfaces } of changed.values()) {
    const stored = delivery.accepted.get(nodeName)?.specHash !== undefined
    if (action === 'send') records.delivered(providerId, interfaces, stored)
  }
  for (const { node, plan } of nodesNow(delivered)) {
    if (delivery.removed.has(node.nodeName) || plan.action === 'remove')
      records.noteRemoving(providerId, node, plan.why.join('; ') || 'nothing is wanted on it any more')
    else
      records.note(
        providerId,
        node,
        changed.has(node.nodeName) ? plan.why.join('; ') : `the node is ${stateOf(node).state}`,
      )
  }
  for (const node of goneNodes(deps, providerId, delivered)) records.noteGone(providerId, node, 'nothing is left on it')
}

/** Nodes that were emptied and are gone now; and, for an operator that was away meanwhile, VMs that have no node. */
function goneNodes({ leaving }: SyncDeps, providerId: string, { observed, changed }: Delivered): Gone[] {
  const held = new Set(observed.held.map(node => node.nodeName))
  const bare = observed.vms.flatMap(({ id, name }) =>
    id === undefined || name === undefined ? [] : [{ nodeName: name, instanceId: id }],
  )
  return [...leaving.settle(providerId, held), ...bare].filter(
    ({ nodeName }) => !held.has(nodeName) && !changed.has(nodeName),
  )
}

type Gone = Pick<HeldNode, 'nodeName' | 'instanceId'>

/** An address without what it may carry besides: this is shown to people. */
function placeOf({ violaEndpoint }: SyncSettings, providerId: string): Findings['place'] {
  const { origin, pathname } = new URL(violaEndpoint)
  return { viola: `${origin}${withoutSlash(pathname)}`, providerId }
}

function findingsOf(
  config: OpenstackConfig,
  { settings, providerId, nodesTold, observed }: Look,
  delivered: Delivered,
  events: EventsState | undefined,
): Findings {
  const { plan, delivery } = delivered
  const source = keyOf(config)
  const ours = nodesNow(delivered).filter(({ node }) => node.interfaces.some(nic => nic.source === source))
  const nodes = ours.map(({ node, plan: planned }): NodeState => {
    const leaving = planned.action === 'remove' || delivery.removed.has(node.nodeName)
    return leaving ? { nodeName: node.nodeName, state: 'Pending', reason: 'Removing' } : stateOf(node)
  })
  const waiting = [...delivery.conflicts].map(
    ([nodeName, message]): NodeState => ({ nodeName, state: 'Pending', message }),
  )
  const release = releaseOf(config)
  return {
    verdicts: plan.verdicts,
    nodes: [...nodes.filter(({ nodeName }) => !delivery.conflicts.has(nodeName)), ...waiting],
    nodesTold,
    events,
    heldRemovals: plan.heldRemovals.map(({ node, nic }) => `${node} ${nic.name} (port ${identityOf(nic)})`),
    place: placeOf(settings, providerId),
    placeKnown: observed.held.some(node => node.interfaces.some(nic => nic.source === source)),
    refusedRemovals: [...delivery.refused].map(([node, message]) => `${node}: ${message}`),
    ...(release !== undefined && { released: release }),
  }
}

/** What did not go through, although the rest did. */
function errorOf(delivery: Delivery, { novaError }: CloudFacts, questions: readonly string[]): SyncError | undefined {
  const failures = [...delivery.failures].map(([node, message]) => `${node}: ${message}`)
  if (failures.length > 0) {
    const more = failures.length > 5 ? `; and ${failures.length - 5} more` : ''
    return new SyncError('ViolaPostError', `${failures.slice(0, 5).join('; ')}${more}`)
  }
  if (novaError) return novaError
  const [question] = questions
  return question === undefined ? undefined : new SyncError('NovaError', question)
}
