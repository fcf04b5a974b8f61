/**
 * When to look again. Pure: the time goes in, a number of milliseconds comes out.
 */
import { hashOf } from '../contract/hash.ts'
import type { OpenstackConfigStatus } from '../contract/openstack-config.ts'

export interface Intervals {
  pollFastMs: number
  pollSlowMs: number
  pollErrorMs: number
  pollFastWindowMs: number
  downPortFastRetryMax: number
}

export interface Situation {
  now: number
  /** The last sync that sent something. */
  lastChangeAt?: number | undefined
  /** Failed syncs in a row, this one included; 0 after a good one. */
  failures: number
  /** What the other side asked us to wait. */
  retryAfterMs?: number | undefined
  /** Nodes are being configured or taken away. */
  nodesPending: boolean
  /** Since when ports wait to be attached or to come up; undefined when none does. */
  waitingSince?: number | undefined
  /** A message bus is known, and does not tell of changes. */
  eventsAway: boolean
  /** When nodes with DOWN ports are due to be sent again. */
  downDueMs?: number | undefined
  /** From 0 to 1. */
  random: number
}

/** After a notice of a port that is not there yet, it is looked at again at these times. */
const looksAfterMs = [2_000, 5_000, 10_000]
/** A node takes seconds, so its state is looked at every second for a while. */
const nodeLookMs = 1_000
const nodeLookWindowMs = 60_000
/** After a long outage nobody waits longer than this. */
const longestBackoffMs = 5 * 60_000

export function nextSyncMs(intervals: Intervals, situation: Situation): number {
  const {
    now,
    failures,
    retryAfterMs = 0,
    lastChangeAt,
    nodesPending,
    waitingSince,
    eventsAway,
    downDueMs,
    random,
  } = situation
  const { pollFastMs, pollSlowMs, pollErrorMs, pollFastWindowMs } = intervals
  if (failures > 0) {
    const longest = Math.max(longestBackoffMs, pollErrorMs)
    const backoff = Math.min(pollErrorMs * 2 ** Math.min(failures - 1, 20), longest / 1.2)
    return Math.round(Math.max(backoff * (0.8 + random * 0.4), retryAfterMs))
  }
  const sinceChange = lastChangeAt === undefined ? Number.POSITIVE_INFINITY : now - lastChangeAt
  const looks = [sinceChange < pollFastWindowMs || nodesPending || eventsAway ? pollFastMs : pollSlowMs]
  if (nodesPending && sinceChange < nodeLookWindowMs) looks.push(nodeLookMs)
  if (waitingSince !== undefined) looks.push(...looksAfterMs.map(after => waitingSince + after - now))
  if (downDueMs !== undefined) looks.push(downDueMs)
  return Math.round(Math.min(...looks.filter(ms => ms > 0)))
}

type DownPortRetry = NonNullable<OpenstackConfigStatus['downPortRetry']>

export interface DownDecision {
  /** Nodes with DOWN ports are sent again now. */
  resend: boolean
  /** What to remember; undefined when no port is DOWN. */
  retry?: DownPortRetry
  /** When they are due next. */
  dueMs?: number
}

/** Sends nodes with DOWN ports again: some times on the fast interval, then on the slow one. */
export function downResend(
  portIds: readonly string[],
  before: DownPortRetry | undefined,
  intervals: Intervals,
  now: Date,
): DownDecision {
  if (portIds.length === 0) return { resend: false }
  const hash = hashOf([...portIds].sort())
  const attempts = before?.hash === hash ? (before.fastAttempts ?? 0) : 0
  const interval = attempts < intervals.downPortFastRetryMax ? intervals.pollFastMs : intervals.pollSlowMs
  const last = before?.hash === hash && before.lastAttempt ? Date.parse(before.lastAttempt) : Number.NaN
  const dueMs = last + interval - now.getTime()
  // Later than an interval: the clock was set back.
  if (dueMs > 0 && dueMs <= interval) return { resend: false, dueMs, ...(before && { retry: before }) }
  const fastAttempts = Math.min(attempts + 1, intervals.downPortFastRetryMax)
  const retry = { hash, lastAttempt: now.toISOString(), fastAttempts }
  return { resend: true, retry, dueMs: interval }
}
