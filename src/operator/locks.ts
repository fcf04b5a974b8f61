/**
 * One at a time per key: planning and delivering for a VM is serialised over all OpenstackConfigs that name it.
 */
export interface Locks {
  /** Keys are taken in one order by everybody, so nobody waits in a circle. */
  hold<T>(keys: readonly string[], work: () => Promise<T>): Promise<T>
}

export function createLocks(): Locks {
  const tails = new Map<string, Promise<void>>()

  async function take(key: string): Promise<() => void> {
    const before = tails.get(key)
    let free = () => {}
    const mine = new Promise<void>(resolve => {
      free = resolve
    })
    tails.set(key, mine)
    await before
    return () => {
      if (tails.get(key) === mine) tails.delete(key)
      free()
    }
  }

  return {
    async hold(keys, work) {
      const held: (() => void)[] = []
      try {
        for (const key of [...new Set(keys)].sort()) held.push(await take(key))
        return await work()
      } finally {
        for (const free of held.reverse()) free()
      }
    },
  }
}
