import assert from 'node:assert/strict'
import { test } from 'node:test'
import { start } from '../controller.fixture.ts'
import { checkTurn } from './check-schedule.ts'

const hour = 3_600_000
const turnOf = (uid: string, now: number, last?: number) => checkTurn(uid, hour, now, last)

test('a node is checked once in an interval, always at the same place in it', () => {
  const first = turnOf('a', start).nextMs + start
  assert.equal(turnOf('a', first - 1, start).due, false)
  assert.equal(turnOf('a', first, start).due, true)
  assert.equal(turnOf('a', first + 5_000, first + 4_000).due, false)
  assert.equal(turnOf('a', first, start).nextMs, hour)
  assert.equal(turnOf('a', first + hour, first + 4_000).due, true)
})

test('a node that nobody has looked at is due', () => assert.equal(turnOf('a', start).due, true))

test('checks of a thousand nodes that were configured at once are spread over the interval', () => {
  const minutes = new Map<number, number>()
  for (let index = 0; index < 1_000; index++) {
    const minute = Math.floor(turnOf(`uid-${index}`, start, start).nextMs / 60_000)
    minutes.set(minute, (minutes.get(minute) ?? 0) + 1)
  }
  assert.ok(minutes.size >= 59, `${minutes.size} minutes have checks`)
  assert.ok(Math.max(...minutes.values()) < 40, `${Math.max(...minutes.values())} checks in one minute`)
})
