/**
 * Time as queues use it: a test hands in one that it moves itself.
 */
export interface Clock {
  /** Milliseconds that only ever grow. */
  now(): number
  /** Calls back once; returns the way to call it off. */
  after(ms: number, call: () => void): () => void
}

/** The longest time that a timer of the runtime can wait; beyond it, it would fire at once. */
const longest = 2 ** 31 - 1

export const monotonic: Clock = {
  now: () => performance.now(),
  after(ms, call) {
    const timer = setTimeout(call, Math.min(Math.max(0, ms), longest))
    return () => clearTimeout(timer)
  },
}
