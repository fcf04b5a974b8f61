/**
 * A clock that the test advances.
 */
import type { Clock } from '../../src/kube/clock.ts'

export interface ManualClock extends Clock {
  /** Advances the time and calls the timers that become due, in order. */
  advance(ms: number): void
  /** The time of the next timer, or undefined. */
  nextAt(): number | undefined
}

export function manualClock(): ManualClock {
  let time = 0
  const timers = new Set<{ at: number; call: () => void }>()
  const earliest = () => [...timers].sort((a, b) => a.at - b.at)[0]
  return {
    now: () => time,
    after(ms, call) {
      const timer = { at: time + ms, call }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advance(ms) {
      const until = time + ms
      for (let due = earliest(); due && due.at <= until; due = earliest()) {
        timers.delete(due)
        time = Math.max(time, due.at)
        due.call()
      }
      time = until
    },
    nextAt: () => earliest()?.at,
  }
}
