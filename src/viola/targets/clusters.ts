/**
 * Open clusters by key: made once, lent to requests, and closed when the last request is done with one that is no
 * longer wanted. So the routing may change without a request being dropped.
 */
import type { Cluster } from '../cluster/cluster.ts'

export interface Clusters {
  use<T>(key: string, open: () => Cluster, work: (cluster: Cluster) => Promise<T>): Promise<T>
  trouble(key: string): string | undefined
  /** Lets go of those that are no longer wanted. */
  sweep(): void
  close(): Promise<void>
}

interface Entry {
  cluster: Cluster
  users: number
}

export function openClusters(isWanted: (key: string) => boolean): Clusters {
  const entries = new Map<string, Entry>()
  let closed = false

  function borrow(key: string, open: () => Cluster): Entry {
    if (closed) throw new Error('the server is stopping')
    const entry = entries.get(key) ?? { cluster: open(), users: 0 }
    entries.set(key, entry)
    entry.users++
    return entry
  }

  /** Whoever asks for it later gets a new one. */
  function letGo(key: string, entry: Entry): void {
    if (entries.get(key) === entry) entries.delete(key)
    if (entry.users === 0) void entry.cluster.close()
    else entry.cluster.leave()
  }

  return {
    async use(key, open, work) {
      const entry = borrow(key, open)
      try {
        return await work(entry.cluster)
      } finally {
        entry.users--
        if (!closed && (entries.get(key) !== entry || !isWanted(key))) letGo(key, entry)
      }
    },
    trouble(key) {
      const entry = entries.get(key)
      return entry ? entry.cluster.trouble() : 'not asked yet'
    },
    sweep() {
      for (const [key, entry] of entries) if (!isWanted(key)) letGo(key, entry)
    },
    async close() {
      closed = true
      const all = [...entries.values()]
      entries.clear()
      await Promise.allSettled(all.map(({ cluster }) => cluster.close()))
    },
  }
}
