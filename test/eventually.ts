/**
 * Waits until an assertion holds, with a bound: the only way our tests wait for another process.
 */
import { setTimeout as sleep } from 'node:timers/promises'

export async function eventually<T>(
  check: () => T | Promise<T>,
  { within = 30_000, every = 25 }: { within?: number; every?: number } = {},
): Promise<T> {
  const until = Date.now() + within
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (Date.now() >= until) throw error
    }
    await sleep(every)
  }
}
