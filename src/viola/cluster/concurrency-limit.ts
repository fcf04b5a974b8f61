/**
 * Limits concurrent work; further work waits in order of arrival.
 */
export type ConcurrencyLimit = <T>(work: () => Promise<T>) => Promise<T>

export function createLimit(max: number): ConcurrencyLimit {
  const waiting: (() => void)[] = []
  let running = 0

  return async work => {
    // Waiting work takes over the place of the work that wakes it.
    if (running < max) running++
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
