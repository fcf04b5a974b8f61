/**
 * Open clusters by key: made once, lent to requests, and closed when the last request is done with one that is no
 * longer wanted. So the routing may change without a request being dropped.
 */
import { messageOf } from '../errors.ts'
import type { Cluster } from './observe.ts'

export interface Clusters {
  /** `mark` is the state of the files that the cluster is made of: another one makes it anew. */
  use<T>(key: string, mark: string, make: () => Promise<Cluster>, work: (cluster: Cluster) => Promise<T>): Promise<T>
  trouble(key: string): string | undefined
  /** Lets all others go. */
  keep(keys: ReadonlySet<string>): void
  close(): Promise<void>
}

interface Entry {
  cluster: Promise<Cluster>
  mark: string
  users: number
  retired: boolean
  failed: boolean
  trouble(): string | undefined
}

export function openClusters(): Clusters {
  const entries = new Map<string, Entry>()
  let closed = false

  /** Nothing in here waits: who finds an entry is counted as its user before it could be let go. */
  function borrow(key: string, mark: string, make: () => Promise<Cluster>): Entry {
    if (closed) throw new Error('the server is stopping')
    const known = entries.get(key)
    // One whose credentials were not there may find them now.
    if (known && known.mark === mark && !known.failed) {
      known.users++
      return known
    }
    if (known) retire(key, known)
    const entry: Entry = {
      cluster: make(),
      mark,
      users: 1,
      retired: false,
      failed: false,
      trouble: () => 'not asked yet',
    }
    entry.cluster.then(
      cluster => {
        entry.trouble = cluster.trouble
      },
      error => {
        entry.failed = true
        entry.trouble = () => messageOf(error)
      },
    )
    entries.set(key, entry)
    return entry
  }

  function giveBack(entry: Entry): void {
    entry.users--
    if (entry.retired && entry.users === 0) settle(entry, cluster => void cluster.close())
  }

  function retire(key: string, entry: Entry): void {
    entries.delete(key)
    entry.retired = true
    settle(entry, cluster => (entry.users === 0 ? void cluster.close() : cluster.leave()))
  }

  function settle(entry: Entry, then: (cluster: Cluster) => void): void {
    entry.cluster.then(then, () => {})
  }

  return {
    async use(key, mark, make, work) {
      const entry = borrow(key, mark, make)
      try {
        return await work(await entry.cluster)
      } finally {
        giveBack(entry)
      }
    },
    trouble: key => entries.get(key)?.trouble(),
    keep(keys) {
      for (const [key, entry] of entries) if (!keys.has(key)) retire(key, entry)
    },
    async close() {
      closed = true
      const all = [...entries.values()]
      entries.clear()
      await Promise.allSettled(all.map(async ({ cluster }) => (await cluster).close()))
    },
  }
}
