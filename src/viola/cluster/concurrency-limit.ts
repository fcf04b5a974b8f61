/**
 * So much at a time and no more: the others wait their turn, in the order in which they came.
 */
export type Lanes = <T>(work: () => Promise<T>) => Promise<T>

export function createLanes(count: number): Lanes {
  const waiting: (() => void)[] = []
  let busy = 0

  return async work => {
    // Whoever is called in has the lane of the one that called.
    if (busy < count) busy++
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else busy--
    }
  }
}
