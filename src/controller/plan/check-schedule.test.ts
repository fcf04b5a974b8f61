import assert from 'node:assert/strict'
import { test } from 'node:test'
import { start } from '../controller.fixture.ts'
import { checkRound } from './check-schedule.ts'

const hour = 3_600_000
const roundOf = (uid: string, now: number, lastProcessed?: number) => checkRound(uid, hour, now, lastProcessed)

test('a node is checked once per interval, always at the same offset', () => {
  const first = roundOf('a', start).nextMs + start
  assert.equal(roundOf('a', first - 1, start).due, false)
  assert.equal(roundOf('a', first, start - hour).due, true)
  assert.equal(roundOf('a', first + 5_000, first + 4_000).due, false)
  assert.equal(roundOf('a', first, start).nextMs, hour)
  assert.equal(roundOf('a', first + hour, first + 4_000).due, true)
})

test('a node that was checked late in its round waits for the next round', () => {
  const first = roundOf('a', start).nextMs + start
  assert.equal(roundOf('a', first + hour * 0.9, first).due, false)
})

test('a node that was observed within half an interval waits for the next round', () => {
  const first = roundOf('a', start).nextMs + start
  assert.equal(roundOf('a', first, first - hour / 2 + 1).due, false)
  assert.equal(roundOf('a', first, first - hour / 2).due, true)
})

test('a node that was never processed is due', () => assert.equal(roundOf('a', start).due, true))

test('checks of a thousand nodes configured at the same time are spread over the interval', () => {
  const minutes = new Map<number, number>()
  for (let index = 0; index < 1_000; index++) {
    const minute = Math.floor(roundOf(`uid-${index}`, start, start).nextMs / 60_000)
    minutes.set(minute, (minutes.get(minute) ?? 0) + 1)
  }
  assert.ok(minutes.size >= 59, `${minutes.size} minutes have checks`)
  assert.ok(Math.max(...minutes.values()) < 40, `${Math.max(...minutes.values())} checks in one minute`)
})
