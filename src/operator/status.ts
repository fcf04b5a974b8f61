/**
 * What a sync came to → the status of its OpenstackConfig. Pure: the clock comes in as a value.
 *
 * Nothing is written when nothing changed: `lastSyncedAt` and `nextSyncAt` alone move at most once a slow interval. Every
 * text is cut to fit.
 */
import { canonicalJson } from '../contract/hash.ts'
import type { ConditionStatus, State } from '../contract/node-config.ts'
import type { OpenstackConfigStatus } from '../contract/openstack-config.ts'
import { needsAttention, type SyncReason } from '../contract/reasons/catalogue.ts'
import type { EventsState } from './events/cloud-events.ts'
import type { HeldNode } from './observed-state.ts'
import type { Verdict } from './verdicts.ts'

export interface NodeState {
  nodeName: string
  state: State
  reason?: string
  message?: string
}

export type Place = NonNullable<OpenstackConfigStatus['deliveredTo']>

/** What a sync learned of ports and nodes; absent when it ended before. */
export interface Findings {
  verdicts: readonly Verdict[]
  nodes: readonly NodeState[]
  /** This Viola tells the state of its nodes. */
  nodesTold: boolean
  /** Interfaces whose removal waits for a person. */
  heldRemovals: readonly string[]
  /** Nodes whose removal Viola refused, with its words. */
  refusedRemovals: readonly string[]
  /** How the object hears of its cloud; undefined when no message bus is known. */
  events: EventsState | undefined
  /** Where the nodes are delivered to. */
  place: Place
  /** The place held interfaces of this object before this sync. */
  placeKnown: boolean
  /** Value of the annotation that let removals go, once it did. */
  released?: string
}

export interface Outcome {
  generation: number
  error?: { reason: SyncReason; message: string } | undefined
  /** Nodes that were sent or taken away. */
  changed: number
  findings?: Findings | undefined
  downPortRetry?: OpenstackConfigStatus['downPortRetry'] | undefined
  nextSyncMs: number
}

const longestMessage = 2_048
const longestError = 4_096
const mostHeld = 100
const mostVerdicts = 10
const mostLeft = 10

/** The new status, or undefined when the old one still says it all. */
export function nextStatus(
  before: OpenstackConfigStatus = {},
  outcome: Outcome,
  now: Date,
  slowMs: number,
): OpenstackConfigStatus | undefined {
  const { error, findings, generation } = outcome
  const at = now.toISOString()
  const after: OpenstackConfigStatus = {
    observedGeneration: generation,
    conditions: conditionsOf(before, outcome, at),
    nextSyncAt: new Date(now.getTime() + outcome.nextSyncMs).toISOString(),
    ...present('lastSyncedAt', error ? before.lastSyncedAt : at),
    ...present('lastChangeAt', outcome.changed > 0 ? at : before.lastChangeAt),
    ...present('lastError', error ? cut(`${error.reason}: ${error.message}`, longestError) : undefined),
    ...present('downPortRetry', error ? before.downPortRetry : outcome.downPortRetry),
    ...present('events', findings ? findings.events && eventTimes(findings.events) : before.events),
    ...present('nodes', findings ? nodesSummary(findings.nodes) : before.nodes),
    ...present('ports', findings ? portsSummary(findings.verdicts) : before.ports),
    ...present('heldRemovals', findings ? heldList(findings.heldRemovals) : before.heldRemovals),
    ...present('releasedRemovals', findings?.released ?? before.releasedRemovals),
    ...(findings ? placesOf(before, findings) : present('deliveredTo', before.deliveredTo)),
    ...(findings ? {} : present('leftBehind', before.leftBehind)),
  }
  if (!sameButForTimes(before, after)) return after
  const written = Date.parse((error ? before.nextSyncAt : before.lastSyncedAt) ?? '')
  return now.getTime() - written < slowMs ? undefined : after
}

function conditionsOf(before: OpenstackConfigStatus, outcome: Outcome, at: string): ConditionStatus[] {
  const { error, findings, generation } = outcome
  const said: Said[] = [
    error
      ? { type: 'Ready', status: 'False', reason: error.reason, message: error.message }
      : {
          type: 'Ready',
          status: 'True',
          reason: outcome.changed > 0 ? 'Synced' : 'NoChange',
          message: readyText(outcome),
        },
    degraded(outcome),
    ...(findings ? [nodesReady(findings), ...removals(findings, before), ...eventsCondition(findings, before)] : []),
  ]
  const kept = (before.conditions ?? []).filter(old => !said.some(({ type }) => type === old.type))
  return [
    ...said.map((one): ConditionStatus => {
      const old = before.conditions?.find(({ type }) => type === one.type)
      const lastTransitionTime = old?.status === one.status ? (old.lastTransitionTime ?? at) : at
      return { ...one, message: cut(one.message, longestMessage), lastTransitionTime, observedGeneration: generation }
    }),
    ...kept,
  ]
}

type Said = Pick<ConditionStatus, 'type' | 'status'> & { reason: string; message: string }

function readyText({ findings, changed }: Outcome): string {
  const nodes = findings?.nodes.length ?? 0
  const skipped = Object.entries(countBy(findings?.verdicts ?? []))
    .filter(([reason]) => reason !== 'Selected')
    .map(([reason, count]) => `${reason} ${count}`)
  const rest = skipped.length > 0 ? `; not taken: ${skipped.join(', ')}` : ''
  if (nodes === 0 && changed === 0) return `no port is taken${rest}`
  return changed > 0 ? `delivered ${count(changed, 'node')}${rest}` : `${count(nodes, 'node')} as delivered${rest}`
}

function degraded({ error, findings }: Outcome): Said {
  if (error) return { type: 'Degraded', status: 'True', reason: error.reason, message: error.message }
  const trouble = findings?.verdicts.filter(({ reason }) => needsAttention(reason)) ?? []
  const [first] = trouble
  if (!first) return { type: 'Degraded', status: 'False', reason: 'Healthy', message: 'the last sync had no error' }
  const message = [...new Set(trouble.map(({ message }) => message))].slice(0, 10).join('; ')
  return { type: 'Degraded', status: 'True', reason: first.reason, message }
}

function nodesReady({ nodes, nodesTold }: Findings): Said {
  const type = 'NodesReady'
  if (!nodesTold)
    return { type, status: 'Unknown', reason: 'NodesPending', message: 'this Viola does not tell the state of nodes' }
  const configured = nodes.filter(({ state }) => state === 'Configured').length
  const progress = `${configured} of ${count(nodes.length, 'node')} configured`
  const failed = nodes.filter(({ state }) => state === 'Failed')
  if (failed.length > 0) {
    const first = failed.slice(0, 5).map(({ nodeName, reason, message }) => `${nodeName}: ${message || reason}`)
    return { type, status: 'False', reason: 'NodesFailed', message: `${progress}; ${first.join('; ')}` }
  }
  if (configured < nodes.length) {
    const waiting = nodes.filter(({ state }) => state !== 'Configured').slice(0, 5)
    const first = waiting.map(({ nodeName, reason, message, state }) => `${nodeName}: ${reason ?? message ?? state}`)
    return { type, status: 'False', reason: 'NodesPending', message: `${progress}; ${first.join('; ')}` }
  }
  return { type, status: 'True', reason: 'Healthy', message: progress }
}

/** Shown while they are true, and as false once they were. */
function removals(findings: Findings, before: OpenstackConfigStatus): Said[] {
  const { heldRemovals, refusedRemovals } = findings
  const left = (placesOf(before, findings).leftBehind ?? []).map(leftText)
  const refused = refusedRemovals.length > 0
  const all: [string, readonly string[], string, string?][] = [
    ['RemovalHeld', heldRemovals, 'many ports vanished at once, so nothing was removed'],
    refused
      ? ['RemovalPending', refusedRemovals, 'Viola refused to take away']
      : ['RemovalPending', left, 'the object delivers elsewhere now', 'NodesOrphaned'],
  ]
  return all.flatMap(([type, list, words, reason = type]): Said[] => {
    if (list.length > 0) return [{ type, status: 'True', reason, message: `${words}: ${list.slice(0, 10).join('; ')}` }]
    if (!before.conditions?.some(old => old.type === type)) return []
    return [{ type, status: 'False', reason: 'Healthy', message: 'no removal waits' }]
  })
}

/**
 * Where this object delivers, and where it delivered before its provider or Viola was changed: what it left there is not
 * taken away (an edit of an address must not empty a cluster), so it is told until the object points there again, or a
 * person says that it is known. An address whose Viola already holds what was delivered is the old Viola under a new name.
 */
export function placesOf(
  before: OpenstackConfigStatus,
  { place, placeKnown, nodes, released }: Pick<Findings, 'place' | 'placeKnown' | 'nodes' | 'released'>,
): Pick<OpenstackConfigStatus, 'deliveredTo' | 'leftBehind'> {
  const { deliveredTo: old, leftBehind = [] } = before
  const known = released !== undefined && released !== before.releasedRemovals
  const isBack = leftBehind.some(one => isSame(one, place))
  const isRenamed = old?.providerId === place.providerId && placeKnown && !isBack
  const left = [
    ...(known ? [] : leftBehind),
    ...(old && !isSame(old, place) && !isRenamed ? [{ ...old, nodes: before.nodes?.total ?? 0 }] : []),
  ].filter(one => one.nodes > 0 && !isSame(one, place))
  return {
    ...present('deliveredTo', nodes.length > 0 ? place : undefined),
    ...present('leftBehind', left.length > 0 ? left.slice(-mostLeft) : undefined),
  }
}

function isSame(a: Place, b: Place): boolean {
  return a.viola === b.viola && a.providerId === b.providerId
}

/** In words for people. */
export function leftText({ viola, providerId, nodes }: Place & { nodes: number }): string {
  return `${count(nodes, 'node')} of provider ${providerId} behind ${viola} stay as they were delivered`
}

function eventsCondition({ events }: Findings, before: OpenstackConfigStatus): Said[] {
  const type = 'EventsConnected'
  if (events) {
    const { status, reason } = eventsSaid[events.is]
    return [{ type, status, reason, message: events.message }]
  }
  if (!before.conditions?.some(one => one.type === type)) return []
  return [
    { type, status: 'Unknown', reason: 'EventBusNotConfigured', message: 'no message bus is known for this cloud' },
  ]
}

/** How each state of a bus is told. */
export const eventsSaid: Record<EventsState['is'], Pick<Said, 'status'> & { reason: SyncReason }> = {
  connected: { status: 'True', reason: 'EventBusConnected' },
  connecting: { status: 'Unknown', reason: 'EventBusConnecting' },
  waiting: { status: 'False', reason: 'EventBusUnreachable' },
  away: { status: 'False', reason: 'EventBusUnreachable' },
  refused: { status: 'False', reason: 'EventBusConfigError' },
  unusable: { status: 'False', reason: 'EventBusConfigError' },
}

function eventTimes({ lastEventAt, lagMs }: EventsState): OpenstackConfigStatus['events'] {
  if (lastEventAt === undefined) return undefined
  const late = lagMs === undefined ? undefined : Math.min(Math.round(lagMs), 2 ** 31 - 1)
  return { lastEventAt: new Date(lastEventAt).toISOString(), ...present('lagMs', late) }
}

function nodesSummary(nodes: readonly NodeState[]): OpenstackConfigStatus['nodes'] {
  const of = (...states: State[]) => nodes.filter(({ state }) => states.includes(state)).length
  const configured = of('Configured')
  return {
    total: nodes.length,
    configured,
    failed: of('Failed'),
    pending: of('Pending', 'InProgress'),
    ready: `${configured}/${nodes.length}`,
  }
}

function portsSummary(verdicts: readonly Verdict[]): OpenstackConfigStatus['ports'] {
  const ports = verdicts.filter(({ portId }) => portId !== undefined)
  const { Selected: taken = 0, ...skipped } = countBy(ports)
  const first = verdicts.filter(wasLeft).slice(0, mostVerdicts).map(verdictText)
  return {
    total: ports.length,
    taken,
    ...(Object.keys(skipped).length > 0 && { skipped }),
    ...(first.length > 0 && { first }),
    summary: `${taken}/${ports.length}`,
  }
}

/** Every VM has ports that were never meant for it, its first NIC among them. */
function wasLeft({ reason }: Verdict): boolean {
  return reason !== 'Selected' && reason !== 'NoAddress'
}

function verdictText({ portId, vm, reason, message }: Verdict): string {
  return cut(`${portId === undefined ? vm : `port ${portId} of ${vm}`}: ${reason}, ${message}`, 300)
}

function countBy(verdicts: readonly Verdict[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { reason } of verdicts) counts[reason] = (counts[reason] ?? 0) + 1
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function heldList(held: readonly string[]): string[] | undefined {
  return held.length > 0 ? held.slice(0, mostHeld).map(text => cut(text, 300)) : undefined
}

/** The state of a node as its controller tells it; a status of an older generation says nothing of this one. */
export function stateOf({ nodeName, generation, status }: HeldNode): NodeState {
  if (!status?.state || (status.observedGeneration ?? 0) < generation) return { nodeName, state: 'Pending' }
  const ready = status.conditions?.find(({ type }) => type === 'Ready')
  return {
    nodeName,
    state: status.state,
    ...(ready?.reason && { reason: ready.reason }),
    ...(ready?.message && { message: ready.message }),
  }
}

/** Reports whether two statuses differ in nothing but when the last sync was: Synced and NoChange tell the same. */
function sameButForTimes(a: OpenstackConfigStatus, b: OpenstackConfigStatus): boolean {
  return timeless(a) === timeless(b)
}

function timeless({ lastSyncedAt, nextSyncAt, events, conditions, ...rest }: OpenstackConfigStatus): string {
  const lasting = conditions?.map(condition =>
    condition.type === 'Ready' && condition.status === 'True' ? { ...condition, reason: '', message: '' } : condition,
  )
  return canonicalJson({ ...rest, lasting })
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}

function present<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V }
}
