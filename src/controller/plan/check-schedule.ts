/**
 * When a settled config is checked for drift. Each config has its own offset in the interval, so that a thousand nodes
 * configured in the same minute are not checked in the same minute. Pure.
 */
import { hashOf } from '../../contract/hash.ts'
import { checkRetryMs } from './delays.ts'

export interface CheckRound {
  /** Part of the Job name: one check per round. */
  number: number
  due: boolean
  /** Time until the next round. */
  nextMs: number
}

export function checkRound(uid: string, intervalMs: number, now: number, lastProcessed?: number): CheckRound {
  const offset = offsetOf(uid, intervalMs)
  const roundAt = (ms: number) => Math.floor((ms - offset) / intervalMs)
  const number = roundAt(now)
  return {
    number,
    // A node that was configured in the last half of an interval was observed then.
    due: lastProcessed === undefined || (roundAt(lastProcessed) < number && now - lastProcessed >= intervalMs / 2),
    nextMs: offset + (number + 1) * intervalMs - now,
  }
}

/**
 * Delay of a check that cannot run now. It differs between configs: those that wait together would otherwise return together,
 * and one of them would start per delay.
 */
export function checkRetryDelay(uid: string): number {
  return checkRetryMs / 2 + offsetOf(uid, checkRetryMs)
}

function offsetOf(uid: string, withinMs: number): number {
  return Number.parseInt(hashOf(uid).slice(0, 8), 16) % withinMs
}
