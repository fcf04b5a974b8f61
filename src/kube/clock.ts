/**
 * The clock of queues. Tests pass one that they advance themselves.
 */
export interface Clock {
  /** Monotonic time in milliseconds. */
  now(): number
  /** Calls back once. Returns a function that cancels it. */
  after(ms: number, call: () => void): () => void
}

/** setTimeout overflows above 2^31-1 and fires after 1 ms. */
const maxTimerMs = 2 ** 31 - 1

export const monotonic: Clock = {
  now: () => performance.now(),
  after(ms, call) {
    const timer = setTimeout(call, Math.min(Math.max(0, ms), maxTimerMs))
    return () => clearTimeout(timer)
  },
}
