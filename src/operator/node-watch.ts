/**
 * Wakes the objects that select VMs by the Nodes of their cluster, when Nodes join or leave. Objects with the same Viola,
 * provider and token share one stream.
 *
 * A stream only says that something changed: each sync reads the Nodes itself. Without a stream, the objects poll.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, monotonic } from '../kube/clock.ts'
import { type Backoff, backoffMs } from '../runtime/retry.ts'
import type { Log } from '../telemetry/log.ts'
import { createCoalescer } from './events/coalesce.ts'
import type { ViolaClient } from './viola-client.ts'

export interface NodeWatch {
  /** Follows the Nodes for this object, which has read this version of them. */
  follow(key: string, viola: NodeSource, version: string): void
  forget(key: string): void
  close(): void
}

/** The client of one Viola, provider and token. */
type NodeSource = Pick<ViolaClient, 'watchClusterNodes'>

interface Stream {
  users: Map<string, User>
  /** The last version that Viola sent. A new connection continues from it. */
  version?: string
  stop: AbortController
}

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
  const streams = new Map<NodeSource, Stream>()
  // A Viola of a tenant may report as many versions as it likes.
  const coalescer = createCoalescer(wake, clock)

  async function run(viola: NodeSource, stream: Stream): Promise<void> {
    const { signal } = stream.stop
    let failures = 0
    while (!signal.aborted) {
      try {
        for await (const version of viola.watchClusterNodes(signal)) {
          failures = 0
          if (version === stream.version) continue
          stream.version = version
          for (const [key, user] of stream.users) notify(key, user, version)
        }
      } catch (error) {
        if (signal.aborted) return
        log.debug('watch of Nodes ended', { error })
      }
      await sleep(backoffMs(++failures, backoff), undefined, { signal }).catch(() => {})
    }
  }

  /** Once for each version: a replica of Viola that is behind must not cause sync after sync. */
  function notify(key: string, user: User, version: string): void {
    const isNew = version !== user.read && version !== user.woken
    user.woken = version === user.read ? undefined : version
    if (isNew) coalescer.add(key)
  }

  function leave(key: string, except?: NodeSource): void {
    for (const [viola, { users, stop }] of streams) {
      if (viola === except || !users.delete(key) || users.size > 0) continue
      streams.delete(viola)
      stop.abort()
    }
  }

  return {
    follow(key, viola, version) {
      leave(key, viola)
      const stream: Stream = streams.get(viola) ?? { users: new Map(), stop: new AbortController() }
      const user: User = { ...stream.users.get(key), read: version }
      stream.users.set(key, user)
      if (!streams.has(viola)) {
        streams.set(viola, stream)
        void run(viola, stream)
      }
      if (stream.version !== undefined) notify(key, user, stream.version)
    },
    forget(key) {
      coalescer.forget(key)
      leave(key)
    },
    close() {
      for (const { stop } of streams.values()) stop.abort()
      streams.clear()
      coalescer.close()
    },
  }
}
