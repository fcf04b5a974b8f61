import assert from 'node:assert/strict'
import { test } from 'node:test'
import { downResend, type Intervals, nextSyncMs, type Situation } from './sync-schedule.ts'

const usual: Intervals = {
  pollFastMs: 20_000,
  pollSlowMs: 120_000,
  pollErrorMs: 30_000,
  pollFastWindowMs: 180_000,
  downPortFastRetryMax: 3,
}
const now = Date.parse('2026-11-15T01:00:00Z')
const quiet: Situation = { now, failures: 0, nodesPending: false, eventsAway: false, random: 0.5 }
const second = 1_000
const minute = 60 * second

const cases: Record<string, [given: Partial<Situation>, ms: number, intervals?: Partial<Intervals>]> = {
  'nothing new: the slow interval': [{}, 2 * minute],
  'within three minutes of a change: the fast interval': [{ lastChangeAt: now - 179 * second }, 20 * second],
  'a message bus that is away: the fast interval': [{ eventsAway: true }, 20 * second],
  'later: the slow interval again': [{ lastChangeAt: now - 181 * second }, 2 * minute],
  'nodes at work just after a change: every second': [{ nodesPending: true, lastChangeAt: now }, second],
  'nodes that wait for long: the fast interval': [{ nodesPending: true, lastChangeAt: now - 10 * minute }, 20 * second],
  'a fast interval below a second counts for nodes at work too': [
    { nodesPending: true, lastChangeAt: now },
    500,
    { pollFastMs: 500 },
  ],
  'a port that is not attached yet: after two seconds': [{ waitingSince: now }, 2 * second],
  'then after five': [{ waitingSince: now - 2 * second }, 3 * second],
  'then after ten': [{ waitingSince: now - 5 * second }, 5 * second],
  'then as usual': [{ waitingSince: now - 10 * second }, 2 * minute],
  'a first error: the error interval': [{ failures: 1 }, 30 * second],
  'the jitter takes or gives a fifth': [{ failures: 1, random: 1 }, 36 * second],
  'a third error: four times as long': [{ failures: 3 }, 2 * minute],
  'errors never wait longer than five minutes': [{ failures: 100, random: 1 }, 5 * minute],
  'nor do all objects come back at one moment': [{ failures: 100, random: 0 }, 200 * second],
  'a service that asks for more patience gets it': [{ failures: 1, retryAfterMs: 5 * minute }, 5 * minute],
  'nodes with DOWN ports are due earlier': [{ downDueMs: 7 * second }, 7 * second],
}
for (const [name, [given, ms, intervals]] of Object.entries(cases))
  test(name, () => assert.equal(nextSyncMs({ ...usual, ...intervals }, { ...quiet, ...given }), ms))

test('nodes with DOWN ports are sent some times on the fast interval, then on the slow one', () => {
  let at = now
  let retry: Parameters<typeof downResend>[1]
  const sentAfter: number[] = []
  for (let sent = 0; sent < 6; ) {
    const decision = downResend(['b', 'a'], retry, usual, new Date(at))
    if (decision.resend) {
      sentAfter.push((at - now) / second)
      sent++
    }
    retry = decision.retry
    at += decision.dueMs ?? 0
  }
  assert.deepEqual(sentAfter, [0, 20, 40, 160, 280, 400])
})

test('nodes with DOWN ports do not wait for a clock that was set back', () => {
  const { retry } = downResend(['a'], undefined, usual, new Date(now + 3_600 * second))
  assert.equal(downResend(['a'], retry, usual, new Date(now)).resend, true)
})

test('another set of DOWN ports starts anew; none ends it', () => {
  const { retry } = downResend(['a'], undefined, usual, new Date(now))
  const soon = new Date(now + second)
  assert.equal(downResend(['a'], retry, usual, soon).resend, false)
  assert.equal(downResend(['a', 'b'], retry, usual, soon).resend, true)
  assert.deepEqual(downResend([], retry, usual, soon), { resend: false })
})
