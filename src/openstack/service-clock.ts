/**
 * How far the clock of a service is behind ours, by the Date of its answers. The service stamps what it creates by that clock.
 */
export interface ServiceClock {
  /** The Date header of an answer that has just arrived. */
  read(date: string | string[] | undefined): void
  /** By the last answer, in whole steps of five minutes. 0 while the clock is right or ahead. */
  behindMs(): number
}

/** Smaller differences are tolerated wherever times are compared. */
const stepMs = 5 * 60_000

export function createServiceClock(now: () => number = Date.now): ServiceClock {
  let behindMs = 0
  return {
    read(date) {
      const difference = now() - Date.parse(String(date))
      if (!Number.isNaN(difference)) behindMs = Math.max(0, Math.floor(difference / stepMs) * stepMs)
    },
    behindMs: () => behindMs,
  }
}
