/**
 * Limits concurrent work; further work waits in order of arrival, or shares one run.
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

/**
 * Runs `work` once at a time. Calls during a run share the next one: what a call gets was read after the call, so it includes
 * everything that its caller wrote before.
 */
export function shareNextRun<T>(work: () => Promise<T>): () => Promise<T> {
  let previous: Promise<unknown> = Promise.resolve()
  let next: Promise<T> | undefined

  return () => {
    if (next) return next
    const run = previous.then(() => {
      next = undefined
      return work()
    })
    next = run
    // Not the result: it would stay in memory.
    previous = run.then(
      () => {},
      () => {},
    )
    return run
  }
}
