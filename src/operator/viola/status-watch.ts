/**
 * Wakes the objects whose nodes changed in their cluster: Viola streams the changes. Without a stream, the objects poll.
 */
import { type Clock, monotonic } from '../../kube/clock.ts'
import type { Backoff } from '../../runtime/retry.ts'
import type { Log } from '../../telemetry/log.ts'
import { createCoalescer } from '../limits/coalesce.ts'
import type { Concerned, ViolaClient } from './viola-client.ts'
import { createViolaStreams } from './viola-streams.ts'

export interface StatusWatch {
  follow(key: string, viola: StatusSource): void
  forget(key: string): void
  /** Ends all streams. Objects can follow again later. */
  close(): void
}

type StatusSource = Pick<ViolaClient, 'watchNodeConfigs'>

export interface StatusWatchOptions {
  wake: (key: string) => void
  log: Log
  backoff?: Backoff
  clock?: Clock
}

/** Many nodes report at the same time during a rollout, and a Viola of a tenant may report as often as it likes. */
const limits = { burst: 10, perSecond: 2, gapMs: 0 }

export function createStatusWatch(options: StatusWatchOptions): StatusWatch {
  const { wake, log, backoff = { firstMs: 500, maxMs: 60_000 }, clock = monotonic } = options
  const coalescer = createCoalescer(wake, clock, limits)
  const streams = createViolaStreams<StatusSource, true, Concerned>({
    ...{ what: 'node configs', backoff, log },
    open: (viola, signal) => viola.watchNodeConfigs(signal),
    onItem(users, concerned) {
      for (const key of concerned === 'all' ? users.keys() : concerned) if (users.has(key)) coalescer.add(key)
    },
  })
  return {
    follow(key, viola) {
      streams.follow(key, viola, before => {
        // A stream that is already open may have reported a change after this object read the list.
        if (!before) coalescer.add(key)
        return true
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
