import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createServiceClock } from './service-clock.ts'

const minute = 60_000
const now = Date.UTC(2026, 0, 2)

const clocks: Record<string, [date: string | undefined, behindMinutes: number]> = {
  'a right clock': [new Date(now).toUTCString(), 0],
  'a slow answer': [new Date(now - 4 * minute).toUTCString(), 0],
  'a day behind': [new Date(now - 24 * 60 * minute - 10_000).toUTCString(), 24 * 60],
  'a day ahead': [new Date(now + 24 * 60 * minute).toUTCString(), 0],
  'no date': [undefined, 0],
  garbage: ['yesterday', 0],
}
for (const [name, [date, expected]] of Object.entries(clocks))
  test(`${name}: ${expected} minutes behind`, () => {
    const clock = createServiceClock(() => now)
    clock.read(date)
    assert.equal(clock.behindMs(), expected * minute)
  })

test('an answer without a date keeps what is known, and a corrected clock is seen with its next answer', () => {
  const clock = createServiceClock(() => now)
  clock.read(new Date(now - 60 * minute).toUTCString())
  clock.read(undefined)
  assert.equal(clock.behindMs(), 60 * minute)
  clock.read(new Date(now).toUTCString())
  assert.equal(clock.behindMs(), 0)
})
