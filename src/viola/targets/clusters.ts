/**
 * Open clusters by key, shared by requests. A cluster that is no longer needed closes after its last request, so that a
 * routing change drops no request.
 */
import type { Cluster } from '../cluster/cluster.ts'

export interface Clusters {
  use<T>(key: string, open: () => Cluster, work: (cluster: Cluster) => Promise<T>): Promise<T>
  problem(key: string): string | undefined
  /** Closes clusters that are no longer needed. */
  closeUnused(): void
  close(): Promise<void>
}

interface Entry {
  cluster: Cluster
  users: number
}

export function openClusters(isNeeded: (key: string) => boolean): Clusters {
  const entries = new Map<string, Entry>()
  let closed = false

  function acquire(key: string, open: () => Cluster): Entry {
    if (closed) throw new Error('the server is stopping')
    const entry = entries.get(key) ?? { cluster: open(), users: 0 }
    entries.set(key, entry)
    entry.users++
    return entry
  }

  /** A later request with this key opens a new cluster. */
  function release(key: string, entry: Entry): void {
    if (entries.get(key) === entry) entries.delete(key)
    if (entry.users === 0) void entry.cluster.close()
    else entry.cluster.release()
  }

  return {
    async use(key, open, work) {
      const entry = acquire(key, open)
      try {
        return await work(entry.cluster)
      } finally {
        entry.users--
        if (!closed && (entries.get(key) !== entry || !isNeeded(key))) release(key, entry)
      }
    },
    problem(key) {
      const entry = entries.get(key)
      return entry ? entry.cluster.problem() : 'not connected yet'
    },
    closeUnused() {
      for (const [key, entry] of entries) if (!isNeeded(key)) release(key, entry)
    },
    async close() {
      closed = true
      const all = [...entries.values()]
      entries.clear()
      await Promise.allSettled(all.map(({ cluster }) => cluster.close()))
    },
  }
}
