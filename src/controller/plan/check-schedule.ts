/**
 * When a settled config is checked again. Each has its own place in the interval, so that a thousand nodes which were
 * configured in one minute are not checked in one minute. Pure.
 */
import { hashOf } from '../../contract/hash.ts'

export interface Turn {
  /** Which check this is: every check of one turn has one name. */
  number: number
  due: boolean
  /** Until the next turn begins. */
  nextMs: number
}

export function checkTurn(uid: string, intervalMs: number, now: number, lastProcessed: number | undefined): Turn {
  const place = Number.parseInt(hashOf(uid).slice(0, 8), 16) % intervalMs
  const turnAt = (ms: number) => Math.floor((ms - place) / intervalMs)
  const number = turnAt(now)
  return {
    number,
    due: lastProcessed === undefined || turnAt(lastProcessed) < number,
    nextMs: place + (number + 1) * intervalMs - now,
  }
}
