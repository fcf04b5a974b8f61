/**
 * Locks by key: planning and delivery for a VM are serialized across all OpenstackConfigs that select it.
 */
export interface Locks {
  /** Keys are locked in sorted order, which prevents deadlocks. */
  hold<T>(keys: readonly string[], work: () => Promise<T>): Promise<T>
}

export function createLocks(): Locks {
  const tails = new Map<string, Promise<void>>()

  async function acquire(key: string): Promise<() => void> {
    const before = tails.get(key)
    const mine = Promise.withResolvers<void>()
    tails.set(key, mine.promise)
    await before
    return () => {
      if (tails.get(key) === mine.promise) tails.delete(key)
      mine.resolve()
    }
  }

  return {
    async hold(keys, work) {
      const releases: (() => void)[] = []
      try {
        for (const key of [...new Set(keys)].sort()) releases.push(await acquire(key))
        return await work()
      } finally {
        for (const release of releases.reverse()) release()
      }
    },
  }
}
