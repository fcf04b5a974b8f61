/**
 * Whose turn it is: the syncs of one cloud may keep only a share of the workers busy, so that a cloud that hangs, however
 * many objects name it, leaves workers for the others.
 */
export interface Turns {
  /** What ends the turn; undefined when the key has to wait: it is woken when another one ends. */
  take(cloud: string, key: string): (() => void) | undefined
}

const share = 0.1

export function createTurns(workers: number, wake: (key: string) => void): Turns {
  const most = Math.max(1, Math.floor(workers * share))
  const running = new Map<string, number>()
  const waiting = new Map<string, Set<string>>()

  function end(cloud: string): void {
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
    take(cloud, key) {
      const busy = running.get(cloud) ?? 0
      if (busy >= most) {
        waiting.set(cloud, (waiting.get(cloud) ?? new Set()).add(key))
        return undefined
      }
      running.set(cloud, busy + 1)
      stopWaiting(cloud, key)
      return () => end(cloud)
    },
  }
}
