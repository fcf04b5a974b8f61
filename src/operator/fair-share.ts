/**
 * Limits the workers that one namespace and one cloud use at the same time, so that objects that hang leave workers for
 * the others.
 *
 * A cloud uses at most a fifth of the workers. A namespace uses at most half of what the other namespaces leave, of all
 * workers and of those of each cloud. It can always use one.
 */
export interface Share {
  namespace: string
  cloud: string
}

export interface FairShare {
  /** Returns the function that frees the worker. Undefined: the key must wait, and is woken when a worker is free. */
  acquire(share: Share, key: string): (() => void) | undefined
}

const cloudPart = 0.2

export function createFairShare(workers: number, wake: (key: string) => void): FairShare {
  const maxOfCloud = Math.max(1, Math.floor(workers * cloudPart))
  /** Workers in use: of everything, of each namespace, of each cloud, and of each namespace in each cloud. */
  const running = new Map<string, number>()
  const waiting = new Map<string, Share>()
  const used = (...parts: string[]) => running.get(JSON.stringify(parts)) ?? 0

  function count({ namespace, cloud }: Share, change: 1 | -1): void {
    for (const parts of [[], ['namespace', namespace], ['cloud', cloud], ['both', namespace, cloud]]) {
      const left = used(...parts) + change
      if (left > 0) running.set(JSON.stringify(parts), left)
      else running.delete(JSON.stringify(parts))
    }
  }

  function mayRun({ namespace, cloud }: Share): boolean {
    const [ofCloud, own, ownOfCloud] = [
      used('cloud', cloud),
      used('namespace', namespace),
      used('both', namespace, cloud),
    ]
    return ofCloud < maxOfCloud && isFair(own, used(), workers) && isFair(ownOfCloud, ofCloud, maxOfCloud)
  }

  /** The waiting key whose namespace uses the fewest workers; of several, the one that waits longest. */
  function wakeNext(): void {
    const [next] = [...waiting]
      .filter(([, share]) => mayRun(share))
      .toSorted(([, a], [, b]) => used('namespace', a.namespace) - used('namespace', b.namespace))
    if (!next) return
    waiting.delete(next[0])
    wake(next[0])
  }

  return {
    acquire(share, key) {
      if (!mayRun(share)) {
        waiting.set(key, share)
        return undefined
      }
      waiting.delete(key)
      count(share, 1)
      return () => {
        count(share, -1)
        wakeNext()
      }
    },
  }
}

/** At least one, at most half of what the other namespaces leave. */
export function isFair(own: number, all: number, total: number): boolean {
  return own < Math.max(1, Math.ceil((total - (all - own)) / 2))
}
