import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decideDownPorts, type Intervals } from '../deliver/down-ports.ts'
import { nextPassMs, nextSyncMs, type Situation } from './sync-schedule.ts'

const defaults: Intervals = {
  pollFastMs: 20_000,
  pollSlowMs: 120_000,
  pollErrorMs: 30_000,
  pollFastWindowMs: 180_000,
  downPortFastRetryMax: 3,
}
const now = Date.parse('2026-11-15T01:00:00Z')
const quiet: Situation = { now, failures: 0, unresolved: false, eventsUnavailable: false, random: 0.5 }
const second = 1_000
const minute = 60 * second

const cases: Record<string, [given: Partial<Situation>, ms: number, intervals?: Partial<Intervals>]> = {
  'no change: the slow interval': [{}, 2 * minute],
  'within three minutes of a change: the fast interval': [{ lastChangeAt: now - 179 * second }, 20 * second],
  'the message bus is unavailable: the fast interval': [{ eventsUnavailable: true }, 20 * second],
  'later: the slow interval again': [{ lastChangeAt: now - 181 * second }, 2 * minute],
  'a conflict or a refused removal is left: the fast interval': [
    { unresolved: true, lastChangeAt: now - 10 * minute },
    20 * second,
  ],
  'the next step of a request to renumber: after a second': [{ renumberDue: true }, second],
  'a fast interval below a second applies to it too': [
    { renumberDue: true, unresolved: true },
    500,
    { pollFastMs: 500 },
  ],
  'a port that is not bound yet: after two seconds': [{ waitingSince: now }, 2 * second],
  'then after five': [{ waitingSince: now - 2 * second }, 3 * second],
  'then after ten': [{ waitingSince: now - 5 * second }, 5 * second],
  'then the slow interval': [{ waitingSince: now - 10 * second }, 2 * minute],
  'a first error: the error interval': [{ failures: 1 }, 30 * second],
  'the jitter is 20 %': [{ failures: 1, random: 1 }, 36 * second],
  'a third error: four times as long': [{ failures: 3 }, 2 * minute],
  'the backoff is at most five minutes': [{ failures: 100, random: 1 }, 5 * minute],
  'the maximum backoff has jitter too': [{ failures: 100, random: 0 }, 200 * second],
  'the Retry-After of a service is respected': [{ failures: 1, retryAfterMs: 5 * minute }, 5 * minute],
  'nodes with DOWN ports are due earlier': [{ downDueMs: 7 * second }, 7 * second],
}
for (const [name, [given, ms, intervals]] of Object.entries(cases))
  test(name, () => assert.equal(nextSyncMs({ ...defaults, ...intervals }, { ...quiet, ...given }), ms))

test('pending nodes are read every minute if no sync is due earlier', () => {
  assert.deepEqual([nextPassMs(2 * minute, true), nextPassMs(20 * second, true)], [minute, 20 * second])
  assert.equal(nextPassMs(2 * minute, false), 2 * minute)
})

test('nodes with DOWN ports are resent on the fast interval, then on the slow one', () => {
  let at = now
  let retry: Parameters<typeof decideDownPorts>[1]
  const sentAfter: number[] = []
  for (let sent = 0; sent < 6; ) {
    const decision = decideDownPorts(['b', 'a'], retry, defaults, new Date(at))
    if (decision.resend) {
      sentAfter.push((at - now) / second)
      sent++
    }
    retry = decision.retry
    at += decision.dueMs ?? 0
  }
  assert.deepEqual(sentAfter, [0, 20, 40, 160, 280, 400])
})

test('a clock that is set back does not delay the resend of nodes with DOWN ports', () => {
  const { retry } = decideDownPorts(['a'], undefined, defaults, new Date(now + 3_600 * second))
  assert.equal(decideDownPorts(['a'], retry, defaults, new Date(now)).resend, true)
})

test('another set of DOWN ports restarts the resends; without DOWN ports they end', () => {
  const { retry } = decideDownPorts(['a'], undefined, defaults, new Date(now))
  const soon = new Date(now + second)
  assert.equal(decideDownPorts(['a'], retry, defaults, soon).resend, false)
  assert.equal(decideDownPorts(['a', 'b'], retry, defaults, soon).resend, true)
  assert.deepEqual(decideDownPorts([], retry, defaults, soon), { resend: false })
})
