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
  /** Undefined: the key must wait. It is woken when a worker is free, and that worker is reserved for it. */
  acquire(share: Share, key: string): Acquired | undefined
  /** Drops what waits for a key, or is reserved for it. */
  forget(key: string): void
}

/** A worker in use. */
export interface Acquired {
  /** What is left to do does not use the cloud. */
  freeCloud(): void
  free(): void
}

const cloudPart = 0.2

export function createFairShare(workers: number, wake: (key: string) => void): FairShare {
  const maxOfCloud = Math.max(1, Math.floor(workers * cloudPart))
  /** Workers in use: of everything, of each namespace, of each cloud, and of each namespace in each cloud. */
  const running = new Map<string, number>()
  const waiting = new Map<string, Share>()
  /** By woken key, what it may acquire. Others that come first would leave it waiting again, and again. */
  const reserved = new Map<string, Share>()
  const used = (...parts: string[]) => running.get(JSON.stringify(parts)) ?? 0

  function add(change: 1 | -1, keys: readonly (readonly string[])[]): void {
    for (const parts of keys) {
      const left = used(...parts) + change
      if (left > 0) running.set(JSON.stringify(parts), left)
      else running.delete(JSON.stringify(parts))
    }
  }
  const ofWorker = ({ namespace }: Share) => [[], ['namespace', namespace]]
  const ofCloud = ({ namespace, cloud }: Share) => [
    ['cloud', cloud],
    ['both', namespace, cloud],
  ]

  function mayRun({ namespace, cloud }: Share): boolean {
    const [allOfCloud, own, ownOfCloud] = [
      used('cloud', cloud),
      used('namespace', namespace),
      used('both', namespace, cloud),
    ]
    return allOfCloud < maxOfCloud && isFair(own, used(), workers) && isFair(ownOfCloud, allOfCloud, maxOfCloud)
  }

  /** The waiting key whose namespace uses the fewest workers; of several, the one that waits longest. */
  function wakeNext(): void {
    const [next] = [...waiting]
      .filter(([, share]) => mayRun(share))
      .toSorted(([, a], [, b]) => used('namespace', a.namespace) - used('namespace', b.namespace))
    if (!next) return
    const [key, share] = next
    waiting.delete(key)
    reserved.set(key, share)
    add(1, [...ofWorker(share), ...ofCloud(share)])
    wake(key)
  }

  function dropReserved(key: string): void {
    const share = reserved.get(key)
    if (!share) return
    reserved.delete(key)
    add(-1, [...ofWorker(share), ...ofCloud(share)])
  }

  return {
    acquire(share, key) {
      // Its cloud may be another one by now.
      dropReserved(key)
      if (!mayRun(share)) {
        waiting.set(key, share)
        return undefined
      }
      waiting.delete(key)
      add(1, [...ofWorker(share), ...ofCloud(share)])
      let usesCloud = true
      const freeCloud = () => {
        if (usesCloud) add(-1, ofCloud(share))
        usesCloud = false
        wakeNext()
      }
      return {
        freeCloud,
        free() {
          add(-1, ofWorker(share))
          freeCloud()
        },
      }
    },
    forget(key) {
      waiting.delete(key)
      dropReserved(key)
      wakeNext()
    },
  }
}

/** At least one, at most half of what the other namespaces leave. */
export function isFair(own: number, all: number, total: number): boolean {
  return own < Math.max(1, Math.ceil((total - (all - own)) / 2))
}
