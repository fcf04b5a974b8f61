/**
 * When to sync again. Pure: takes the time as a value and returns milliseconds.
 */
import type { Intervals } from '../deliver/down-ports.ts'

export interface Situation {
  now: number
  /** The last sync that sent something. */
  lastChangeAt?: number | undefined
  /** Failed syncs in a row, this one included; 0 after a successful one. */
  failures: number
  /** How long the service asked us to wait. */
  retryAfterMs?: number | undefined
  /** A conflict, a missing port or a refused removal is left. */
  unresolved: boolean
  /** Since when ports wait to be attached or to become ACTIVE; undefined if none does. */
  waitingSince?: number | undefined
  /** A message bus is configured, and does not deliver notifications. */
  eventsUnavailable: boolean
  /** The next step of a request to renumber is decided, and the status names it. */
  renumberDue?: boolean
  /** When another read decides about a port that Neutron lists without an address in a selected subnet. */
  repeatReadMs?: number | undefined
  /** When the resend of nodes with DOWN ports is due. */
  downDueMs?: number | undefined
  /** From 0 to 1. */
  random: number
}

/** After the notification of a port that is not ready, the operator syncs at these times. */
const afterNotificationMs = [2_000, 5_000, 10_000]
const renumberMs = 1_000
/** How often the node configs of a Viola are read at most, unless its stream or a write of ours reports a change. */
export const violaPollMs = 60_000
const maxBackoffMs = 5 * 60_000

export function nextSyncMs(intervals: Intervals, situation: Situation): number {
  const { now, failures, retryAfterMs = 0, lastChangeAt, unresolved, waitingSince } = situation
  const { eventsUnavailable, renumberDue = false, repeatReadMs, downDueMs, random } = situation
  const { pollFastMs, pollSlowMs, pollErrorMs, pollFastWindowMs } = intervals
  if (failures > 0) {
    const max = Math.max(maxBackoffMs, pollErrorMs)
    const backoff = Math.min(pollErrorMs * 2 ** Math.min(failures - 1, 20), max / 1.2)
    return Math.round(Math.max(backoff * (0.8 + random * 0.4), retryAfterMs))
  }
  const sinceChange = lastChangeAt === undefined ? Number.POSITIVE_INFINITY : now - lastChangeAt
  const due = [sinceChange < pollFastWindowMs || unresolved || eventsUnavailable ? pollFastMs : pollSlowMs]
  if (renumberDue) due.push(renumberMs)
  if (waitingSince !== undefined) due.push(...afterNotificationMs.map(after => waitingSince + after - now))
  if (repeatReadMs !== undefined) due.push(repeatReadMs)
  if (downDueMs !== undefined) due.push(downDueMs)
  return Math.round(Math.min(...due.filter(ms => ms > 0)))
}

/** Nodes that are being configured are read between two syncs, in case that no stream reports them. */
export function nextPassMs(syncMs: number, nodesPending: boolean): number {
  return nodesPending ? Math.min(syncMs, violaPollMs) : syncMs
}
