/**
 * When a settled config is checked for drift. Each config has its own offset in the interval, so that a thousand nodes
 * configured in the same minute are not checked in the same minute. Pure.
 */
import { hashOf } from '../../contract/hash.ts'

export interface CheckRound {
  /** Part of the Job name: one check per round. */
  number: number
  due: boolean
  /** Time until the next round. */
  nextMs: number
}

export function checkRound(uid: string, intervalMs: number, now: number, lastProcessed?: number): CheckRound {
  const offset = Number.parseInt(hashOf(uid).slice(0, 8), 16) % intervalMs
  const roundAt = (ms: number) => Math.floor((ms - offset) / intervalMs)
  const number = roundAt(now)
  return {
    number,
    // A node that was configured in the last half of an interval was observed then.
    due: lastProcessed === undefined || (roundAt(lastProcessed) < number && now - lastProcessed >= intervalMs / 2),
    nextMs: offset + (number + 1) * intervalMs - now,
  }
}
