/**
 * Waits until an assertion holds, with a time limit that a step of the wall clock does not change. Our tests wait for other
 * processes only in this way.
 */
import { setTimeout as sleep } from 'node:timers/promises'

export interface WaitOptions {
  within?: number
  every?: number
  /** Stops waiting early. */
  signal?: AbortSignal
}

export async function eventually<T>(
  check: () => T | Promise<T>,
  { within = 30_000, every = 25, signal }: WaitOptions = {},
): Promise<T> {
  const until = performance.now() + within
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() >= until || signal?.aborted) throw error
    }
    await sleep(every)
  }
}
