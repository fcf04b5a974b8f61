/**
 * When nodes with DOWN ports are sent again. Pure: takes the time as a value.
 */
import { hashOf } from '../../contract/hash.ts'
import type { OpenstackConfigStatus } from '../../contract/openstack-config.ts'

export interface Intervals {
  pollFastMs: number
  pollSlowMs: number
  pollErrorMs: number
  pollFastWindowMs: number
  downPortFastRetryMax: number
}

type DownPortRetry = NonNullable<OpenstackConfigStatus['downPortRetry']>

export interface DownPortDecision {
  /** Nodes with DOWN ports are sent again now. */
  resend: boolean
  /** The state for the next sync; undefined if no port is DOWN. */
  retry?: DownPortRetry
  /** When the next resend is due. */
  dueMs?: number
}

/** Resends nodes with DOWN ports: a limited number of times on the fast interval, then on the slow interval. */
export function decideDownPorts(
  portIds: readonly string[],
  before: DownPortRetry | undefined,
  intervals: Intervals,
  now: Date,
): DownPortDecision {
  if (portIds.length === 0) return { resend: false }
  const hash = hashOf(portIds.toSorted())
  const attempts = before?.hash === hash ? (before.fastAttempts ?? 0) : 0
  const interval = attempts < intervals.downPortFastRetryMax ? intervals.pollFastMs : intervals.pollSlowMs
  const last = before?.hash === hash && before.lastAttempt ? Date.parse(before.lastAttempt) : Number.NaN
  const dueMs = last + interval - now.getTime()
  // Later than one interval: the clock was set back.
  if (dueMs > 0 && dueMs <= interval) return { resend: false, dueMs, ...(before && { retry: before }) }
  const fastAttempts = Math.min(attempts + 1, intervals.downPortFastRetryMax)
  const retry = { hash, lastAttempt: now.toISOString(), fastAttempts }
  return { resend: true, retry, dueMs: interval }
}
