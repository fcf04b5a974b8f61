/**
 * Limits the workers that syncs of one cloud may use at the same time. A cloud that hangs, however many objects name it,
 * leaves workers for the others.
 */
export interface FairShare {
  /** Returns the function that frees the worker. Undefined: the key must wait, and is woken when a worker is free. */
  acquire(cloud: string, key: string): (() => void) | undefined
}

const maxShare = 0.1

export function createFairShare(workers: number, wake: (key: string) => void): FairShare {
  const maxWorkers = Math.max(1, Math.floor(workers * maxShare))
  const running = new Map<string, number>()
  const waiting = new Map<string, Set<string>>()

  function release(cloud: string): void {
    const left = (running.get(cloud) ?? 1) - 1
    if (left > 0) running.set(cloud, left)
    else running.delete(cloud)
    const [next] = waiting.get(cloud) ?? []
    if (next === undefined) return
    stopWaiting(cloud, next)
    wake(next)
  }

  function stopWaiting(cloud: string, key: string): void {
    const keys = waiting.get(cloud)
    keys?.delete(key)
    if (keys?.size === 0) waiting.delete(cloud)
  }

  return {
    acquire(cloud, key) {
      const busy = running.get(cloud) ?? 0
      if (busy >= maxWorkers) {
        waiting.set(cloud, (waiting.get(cloud) ?? new Set()).add(key))
        return undefined
      }
      running.set(cloud, busy + 1)
      stopWaiting(cloud, key)
      return () => release(cloud)
    },
  }
}
