/**
 * The status of an OpenstackConfig after a sync. Pure: the time comes in as a value.
 *
 * An unchanged status is not written again: `lastSyncedAt` and `nextSyncAt` alone are updated at most once per slow
 * interval. Every text is truncated to the limit of its field.
 */
import { canonicalJson } from '../../contract/hash.ts'
import { equalJson } from '../../contract/json.ts'
import type { ConditionStatus, State } from '../../contract/node-config.ts'
import { maxReservedIndexes, type OpenstackConfigStatus, type ReservedIndex } from '../../contract/openstack-config.ts'
import { verdictKind } from '../../contract/operator-api.ts'
import { truncate } from '../../contract/truncate.ts'
import type { EventsState } from '../events/cloud-events.ts'
import { maxRemovalsOnHold } from '../plan/removals.ts'
import { byReason, subjectOf, type Verdict, verdictsWith } from '../plan/verdicts.ts'
import type { NodeState, SyncOutcome } from '../record/sync-outcome.ts'
import { type ConditionUpdate, conditionUpdates } from './conditions.ts'
import { targetsOf } from './targets.ts'

const maxMessageLength = 2_048
const maxErrorLength = 4_096
const maxVerdicts = 10

/** The new status, or undefined if the old one is still correct. */
export function nextStatus(
  before: OpenstackConfigStatus = {},
  outcome: SyncOutcome,
  now: Date,
  slowMs: number,
): OpenstackConfigStatus | undefined {
  const { error, findings, generation } = outcome
  const at = now.toISOString()
  const after: OpenstackConfigStatus = {
    observedGeneration: generation,
    conditions: withUpdates(before, conditionUpdates(before, outcome), generation, secondsOf(now)),
    nextSyncAt: new Date(now.getTime() + outcome.nextSyncMs).toISOString(),
    ...present('lastSyncedAt', error ? before.lastSyncedAt : at),
    ...present('lastChangeAt', outcome.changed > 0 ? at : before.lastChangeAt),
    ...present('lastError', error ? truncate(`${error.reason}: ${error.message}`, maxErrorLength) : undefined),
    ...present('downPortRetry', error ? before.downPortRetry : outcome.downPortRetry),
    ...present('events', findings ? findings.events && eventTimes(findings.events) : before.events),
    ...present('nodes', findings ? nodesSummary(findings.nodes) : before.nodes),
    ...present('ports', findings ? portsSummary(findings.verdicts) : before.ports),
    ...present('heldRemovals', findings ? removalList(findings.removalsOnHold) : before.heldRemovals),
    ...present('resolvedNames', findings ? namesOf(findings.resolvedNames) : before.resolvedNames),
    ...present('resolvedSubnets', findings ? namesOf(findings.resolvedSubnets) : before.resolvedSubnets),
    ...present('reservedIndexes', findings ? reservationsOf(findings.reservedIndexes) : before.reservedIndexes),
    ...present('renumber', findings ? findings.renumber : before.renumber),
    ...present('approvedRemovals', findings?.approval ?? before.approvedRemovals),
    ...(findings ? targetsOf(before, findings) : present('deliveredTo', before.deliveredTo)),
    ...(findings ? {} : present('orphanedNodes', before.orphanedNodes)),
  }
  if (!equalApartFromTimes(before, after)) return after
  const written = new Date((error ? before.nextSyncAt : before.lastSyncedAt) ?? Number.NaN)
  return now.getTime() - written.getTime() < slowMs ? undefined : after
}

/** The status of an object whose deletion waits, or undefined if the old one is still correct. */
export function pendingStatus(
  before: OpenstackConfigStatus = {},
  message: string,
  { generation, now, until }: { generation: number; now: Date; until: Date },
): OpenstackConfigStatus | undefined {
  const reason = 'RemovalPending'
  const updates: ConditionUpdate[] = [
    { type: 'Ready', status: 'False', reason, message },
    { type: 'Degraded', status: 'True', reason, message },
    { type: reason, status: 'True', reason, message },
  ]
  const after: OpenstackConfigStatus = {
    ...before,
    observedGeneration: generation,
    conditions: withUpdates(before, updates, generation, secondsOf(now)),
    nextSyncAt: until.toISOString(),
  }
  return equalJson(before, after) ? undefined : after
}

/** As the API server writes the times of conditions: without fractions. */
export function secondsOf(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`
}

function withUpdates(
  before: OpenstackConfigStatus,
  updates: readonly ConditionUpdate[],
  observedGeneration: number,
  at: string,
): ConditionStatus[] {
  const kept = (before.conditions ?? []).filter(old => !updates.some(({ type }) => type === old.type))
  return [
    ...updates.map((update): ConditionStatus => {
      const old = before.conditions?.find(({ type }) => type === update.type)
      const lastTransitionTime = old?.status === update.status ? (old.lastTransitionTime ?? at) : at
      const message = truncate(update.message, maxMessageLength)
      return { ...update, message, lastTransitionTime, observedGeneration }
    }),
    ...kept,
  ]
}

function eventTimes({ lastEventAt, lagMs }: EventsState): OpenstackConfigStatus['events'] {
  if (lastEventAt === undefined) return undefined
  const lag = lagMs === undefined ? undefined : Math.min(Math.round(lagMs), 2 ** 31 - 1)
  return { lastEventAt: new Date(lastEventAt).toISOString(), ...present('lagMs', lag) }
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

/** Ports outside the selection are not counted: MultiNIC does not manage them. */
function portsSummary(verdicts: readonly Verdict[]): OpenstackConfigStatus['ports'] {
  const counts = byReason(verdicts).flatMap(({ reason, portIds }) =>
    portIds.length > 0 && verdictKind(reason) !== 'notManaged' ? [[reason, portIds.length] as const] : [],
  )
  const total = counts.reduce((sum, [, ports]) => sum + ports, 0)
  const skipped = counts.filter(([reason]) => verdictKind(reason) !== 'selected')
  const selected = total - skipped.reduce((sum, [, ports]) => sum + ports, 0)
  const first = verdictsWith(verdicts, reason => verdictKind(reason) === 'ignored')
  return {
    ...{ total, selected },
    ...(skipped.length > 0 && { skipped: Object.fromEntries(skipped) }),
    ...(first.length > 0 && { first: first.slice(0, maxVerdicts).map(verdictText) }),
    summary: `${selected}/${total}`,
  }
}

function verdictText(verdict: Verdict): string {
  return truncate(`${subjectOf(verdict)}: ${verdict.reason}, ${verdict.message}`, 300)
}

function namesOf(names: Readonly<Record<string, string>>): Record<string, string> | undefined {
  return Object.keys(names).length > 0 ? { ...names } : undefined
}

/** The newest come last. */
function reservationsOf(reserved: readonly ReservedIndex[]): ReservedIndex[] | undefined {
  return reserved.length > 0 ? reserved.slice(-maxReservedIndexes) : undefined
}

function removalList(removals: readonly string[]): string[] | undefined {
  return removals.length > 0 ? removals.slice(0, maxRemovalsOnHold) : undefined
}

/** Ready is not compared: lastError tells an error, and Synced and NoChange differ only in when the last change was. */
function equalApartFromTimes(a: OpenstackConfigStatus, b: OpenstackConfigStatus): boolean {
  return withoutTimes(a) === withoutTimes(b)
}

function withoutTimes({ lastSyncedAt, nextSyncAt, events, conditions, ...rest }: OpenstackConfigStatus): string {
  return canonicalJson({ ...rest, compared: conditions?.filter(({ type }) => type !== 'Ready') })
}

function present<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V }
}
