/**
 * Streams of Viola, each shared by the objects with the same client: the same Viola, provider and token.
 *
 * A stream is opened again after every end, with backoff. It closes with its last object.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Backoff, backoffMs } from '../../runtime/retry.ts'
import type { Log } from '../../telemetry/log.ts'

export interface ViolaStreams<Source, User, Item> {
  /** Follows the source for this object, which leaves any other source. */
  follow(key: string, source: Source, update: (before: User | undefined) => User): void
  /** What the source sent last, while an object follows it. */
  last(source: Source): Item | undefined
  forget(key: string): void
  close(): void
}

export interface ViolaStreamsOptions<Source, User, Item> {
  /** For the log: what the stream is about. */
  what: string
  open: (source: Source, signal: AbortSignal) => AsyncIterable<Item>
  /** `last`: what this source sent before, also on an earlier connection. */
  onItem: (users: ReadonlyMap<string, User>, item: Item, last: Item | undefined) => void
  backoff: Backoff
  log: Log
}

interface Stream<User, Item> {
  users: Map<string, User>
  stop: AbortController
  last?: Item
}

/** A stream that ends earlier counts as a failure: a proxy may end each one at once. */
const stableMs = 30_000

export function createViolaStreams<Source, User, Item>(
  options: ViolaStreamsOptions<Source, User, Item>,
): ViolaStreams<Source, User, Item> {
  const { what, open, onItem, backoff, log } = options
  const streams = new Map<Source, Stream<User, Item>>()

  async function run(source: Source, stream: Stream<User, Item>): Promise<void> {
    const { signal } = stream.stop
    let failures = 0
    while (!signal.aborted) {
      const opened = performance.now()
      try {
        for await (const item of open(source, signal)) {
          const { last } = stream
          stream.last = item
          onItem(stream.users, item, last)
        }
      } catch (error) {
        if (signal.aborted) return
        log.debug('stream of Viola ended', { what, error })
      }
      if (performance.now() - opened > stableMs) failures = 0
      await sleep(backoffMs(++failures, backoff), undefined, { signal }).catch(() => {})
    }
  }

  function leave(key: string, except?: Source): void {
    for (const [source, { users, stop }] of streams) {
      if (source === except || !users.delete(key) || users.size > 0) continue
      streams.delete(source)
      stop.abort()
    }
  }

  return {
    follow(key, source, update) {
      leave(key, source)
      const known = streams.get(source)
      const stream = known ?? { users: new Map<string, User>(), stop: new AbortController() }
      stream.users.set(key, update(stream.users.get(key)))
      if (known) return
      streams.set(source, stream)
      void run(source, stream)
    },
    last: source => streams.get(source)?.last,
    forget: key => leave(key),
    close() {
      for (const { stop } of streams.values()) stop.abort()
      streams.clear()
    },
  }
}
