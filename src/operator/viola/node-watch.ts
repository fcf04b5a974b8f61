/**
 * Wakes the objects that select VMs by the Nodes of their cluster, when Nodes join or leave.
 *
 * A stream only says that something changed: each sync reads the Nodes itself. Without a stream, the objects poll.
 */
import { type Clock, monotonic } from '../../kube/clock.ts'
import type { Backoff } from '../../runtime/retry.ts'
import type { Log } from '../../telemetry/log.ts'
import { createCoalescer } from '../limits/coalesce.ts'
import type { ViolaClient } from './viola-client.ts'
import { createViolaStreams } from './viola-streams.ts'

export interface NodeWatch {
  /** Follows the Nodes for this object, which has read this version of them. */
  follow(key: string, viola: NodeSource, version: string): void
  forget(key: string): void
  /** Ends all streams. Objects can follow again later. */
  close(): void
}

/** The client of one Viola, provider and token. */
type NodeSource = Pick<ViolaClient, 'watchClusterNodes'>

interface User {
  /** The version that its last sync read. */
  read: string
  /** The version for which it was woken last. */
  woken?: string | undefined
}

export interface NodeWatchOptions {
  wake: (key: string) => void
  log: Log
  backoff?: Backoff
  clock?: Clock
}

export function createNodeWatch(options: NodeWatchOptions): NodeWatch {
  const { wake, log, backoff = { firstMs: 500, maxMs: 30_000 }, clock = monotonic } = options
  // A Viola of a tenant may report as many versions as it likes.
  const coalescer = createCoalescer(wake, clock)
  const streams = createViolaStreams<NodeSource, User, string>({
    ...{ what: 'Nodes', backoff, log },
    open: (viola, signal) => viola.watchClusterNodes(signal),
    onItem(users, version, last) {
      if (version === last) return
      for (const [key, user] of users) notify(key, user, version)
    },
  })

  /** Once for each version: a replica of Viola that is behind must not cause sync after sync. */
  function notify(key: string, user: User, version: string): void {
    const isNew = version !== user.read && version !== user.woken
    user.woken = version === user.read ? undefined : version
    if (isNew) coalescer.add(key)
  }

  return {
    follow(key, viola, version) {
      const last = streams.last(viola)
      streams.follow(key, viola, before => {
        const user = { ...before, read: version }
        if (last !== undefined) notify(key, user, last)
        return user
      })
    },
    forget(key) {
      coalescer.forget(key)
      streams.forget(key)
    },
    close() {
      streams.close()
      coalescer.close()
    },
  }
}
