/**
 * The conditions of an OpenstackConfig after a sync. Pure.
 */
import type { ConditionType } from '../../contract/condition-types.ts'
import type { ConditionStatus } from '../../contract/node-config.ts'
import type { OpenstackConfigStatus } from '../../contract/openstack-config.ts'
import { verdictKind } from '../../contract/operator-api.ts'
import { needsAttention, type SyncReason } from '../../contract/reasons/catalogue.ts'
import type { RenumberStatus } from '../../contract/renumber-status.ts'
import type { EventsState } from '../events/cloud-events.ts'
import { byReason, verdictsWith } from '../plan/verdicts.ts'
import type { Findings, SyncOutcome } from '../record/sync-outcome.ts'
import { orphanedTexts } from './targets.ts'

export type ConditionUpdate = Pick<ConditionStatus, 'status'> & {
  type: ConditionType<'OpenstackConfig'>
  reason: string
  message: string
}

export function conditionUpdates(before: OpenstackConfigStatus, outcome: SyncOutcome): ConditionUpdate[] {
  const { findings } = outcome
  const others = findings
    ? [nodesReady(findings), ...removals(findings, before), ...renumbering(findings, before), eventsConnected(findings)]
    : []
  return [ready(outcome), degraded(outcome, others), ...cloudReady(outcome, before), ...others]
}

const loginErrors = new Set<SyncReason>(['ContrabassError', 'KeystoneError', 'NeutronEndpointError'])
const violaErrors = new Set<SyncReason>(['ViolaError', 'ProviderUnknown'])

/** Absent until the first login that failed. */
function cloudReady({ error, cloudError, findings }: SyncOutcome, before: OpenstackConfigStatus): ConditionUpdate[] {
  const type = 'CloudReady'
  const failed = cloudError ?? (error && loginErrors.has(error.reason) ? error : undefined)
  if (failed) return [{ type, status: 'False', reason: failed.reason, message: failed.message }]
  const isLoggedIn = findings !== undefined || (error !== undefined && violaErrors.has(error.reason))
  if (!isLoggedIn || !before.conditions?.some(old => old.type === type)) return []
  return [{ type, status: 'True', reason: 'Healthy', message: 'the login to the cloud works' }]
}

function ready(outcome: SyncOutcome): ConditionUpdate {
  const { error, changed } = outcome
  if (error) return { type: 'Ready', status: 'False', reason: error.reason, message: error.message }
  return { type: 'Ready', status: 'True', reason: changed > 0 ? 'Synced' : 'NoChange', message: readyText(outcome) }
}

function readyText({ findings, changed }: SyncOutcome): string {
  const nodes = findings?.nodes.length ?? 0
  const groups = byReason(findings?.verdicts ?? [])
  const ignored = groups.filter(({ reason }) => verdictKind(reason) === 'ignored')
  const counts = ignored.map(({ reason, count }) => `${reason} ${count}`)
  const rest = counts.length > 0 ? `; ignored: ${counts.join(', ')}` : ''
  const others = groups.find(({ reason }) => reason === 'SelectedByOther')?.count ?? 0
  const elsewhere = others > 0 ? `; other OpenstackConfigs have ${count(others, 'port')} of these VMs` : ''
  if (nodes === 0 && changed === 0) return `no port is selected${elsewhere}${rest}`
  return changed > 0 ? `delivered ${count(changed, 'node')}${rest}` : `${count(nodes, 'node')} up to date${rest}`
}

/** Derived from the error, the other conditions and the verdicts, so that it never contradicts them. */
function degraded({ error, findings }: SyncOutcome, others: readonly ConditionUpdate[]): ConditionUpdate {
  const isAffected = ({ reason }: { reason: string }) => needsAttention(reason)
  const affected = [...others.filter(isAffected), ...verdictsWith(findings?.verdicts ?? [], needsAttention)]
  const [first] = error ? [error] : affected
  if (!first) return { type: 'Degraded', status: 'False', reason: 'Healthy', message: 'the last sync had no errors' }
  const message = error?.message ?? [...new Set(affected.map(one => one.message))].slice(0, 10).join('; ')
  return { type: 'Degraded', status: 'True', reason: first.reason, message }
}

function nodesReady({ nodes, nodesReported }: Findings): ConditionUpdate {
  const type = 'NodesReady'
  if (!nodesReported)
    return { type, status: 'Unknown', reason: 'NodesPending', message: 'this Viola does not report the state of nodes' }
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

/** Absent until the first time that they are true. */
function removals(findings: Findings, before: OpenstackConfigStatus): ConditionUpdate[] {
  const { removalsOnHold, refusedRemovals } = findings
  const type = 'RemovalPending'
  const orphaned = orphanedTexts(before, findings)
  const all: {
    type: ConditionType<'OpenstackConfig'>
    reason: SyncReason
    items: readonly string[]
    message: string
  }[] = [
    { type: 'RemovalHeld', reason: 'RemovalHeld', items: removalsOnHold, message: onHoldText(findings) },
    refusedRemovals.length > 0
      ? { type, reason: type, items: refusedRemovals, message: `Viola refused the removal: ${listed(refusedRemovals)}` }
      : {
          type,
          reason: 'NodesOrphaned',
          items: orphaned,
          message: `the target of the object changed: ${listed(orphaned)}`,
        },
  ]
  return all.flatMap(({ type, reason, items, message }): ConditionUpdate[] => {
    if (items.length > 0) return [{ type, status: 'True', reason, message }]
    if (!before.conditions?.some(old => old.type === type)) return []
    return [{ type, status: 'False', reason: 'Healthy', message: 'no removal is pending' }]
  })
}

/** Starts with the command: a long list is truncated. */
export function onHoldText({ removalsOnHold, approveCommand }: Findings): string {
  return `${count(removalsOnHold.length, 'removal')} on hold until you approve with ${approveCommand}: ${listed(removalsOnHold)}`
}

function listed(items: readonly string[]): string {
  const more = items.length > 10 ? `; and ${items.length - 10} more` : ''
  return `${items.slice(0, 10).join('; ')}${more}`
}

/** Absent until the first request. */
function renumbering({ renumber }: Findings, before: OpenstackConfigStatus): ConditionUpdate[] {
  const type = 'Renumbering'
  if (renumber) return [{ type, ...renumberConditions[renumber.state], message: renumber.message ?? '' }]
  if (!before.conditions?.some(old => old.type === type)) return []
  return [{ type, status: 'False', reason: 'Healthy', message: 'nobody asked for it' }]
}

/** Status and reason of Renumbering for each state of a request. */
export const renumberConditions: Record<
  RenumberStatus['state'],
  Pick<ConditionUpdate, 'status'> & { reason: SyncReason }
> = {
  InProgress: { status: 'True', reason: 'RenumberInProgress' },
  Done: { status: 'False', reason: 'Renumbered' },
  Stopped: { status: 'False', reason: 'RenumberStopped' },
}

function eventsConnected({ events }: Findings): ConditionUpdate {
  const type = 'EventsConnected'
  if (events) return { type, ...busConditions[events.state], message: events.message }
  const message = 'the operator listens to no message bus for this cloud; it polls'
  return { type, status: 'Unknown', reason: 'EventBusNotConfigured', message }
}

/** Status and reason of EventsConnected for each state of a bus. */
export const busConditions: Record<EventsState['state'], Pick<ConditionUpdate, 'status'> & { reason: SyncReason }> = {
  connected: { status: 'True', reason: 'EventBusConnected' },
  connecting: { status: 'Unknown', reason: 'EventBusConnecting' },
  waiting: { status: 'False', reason: 'EventBusUnreachable' },
  unreachable: { status: 'False', reason: 'EventBusUnreachable' },
  refused: { status: 'False', reason: 'EventBusConfigError' },
  misconfigured: { status: 'False', reason: 'EventBusConfigError' },
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`
}
