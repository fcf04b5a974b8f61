/**
 * Sends the history to event streams as it grows.
 *
 * Each new entry is read and serialized once, and the same bytes go to every listener that is up to date. A listener that is
 * behind reads pages of its own until it is up to date. Listeners do so one after the other and give way to requests: neither
 * their number nor their speed slows down writes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { HistoryEntry } from '../contract/inventory.ts'
import { giveWay, nextTurn } from '../runtime/event-loop.ts'
import { type EventStream, eventText } from '../server/event-stream.ts'
import type { Log } from '../telemetry/log.ts'
import type { Store } from './store.ts'

export interface ChangeFeed {
  /** Sends every entry after `after`, by default every new one, in order. Opens the stream when the database has answered. */
  follow(open: () => EventStream, filter: { after?: number | undefined; providerId?: string }): Promise<void>
  close(): void
}

interface Listener {
  stream: EventStream
  providerId?: string
}

/** An entry of a node with ten interfaces takes about 10 KiB. */
const pageSize = 20
const streamsPerTurn = 20
const retryMs = 2_000
/** Work that grows with the number of listeners is followed by nine times its duration for requests. */
const [restFactor, maxRestMs] = [9, 1_000]

export function createChangeFeed(store: Pick<Store, 'history' | 'subscribe'>, log: Log): ChangeFeed {
  const closed = new AbortController()
  /** Those that have every entry up to `last`. */
  const upToDate = new Set<Listener>()
  let last = 0
  let [isReading, isBehind] = [false, false]
  let lastPage: Promise<unknown> = Promise.resolve()
  let waiting = 0
  let newest: Promise<number> | undefined
  const stop = store.subscribe(() => {
    isBehind = true
    void readNew()
  })

  async function readNew(): Promise<void> {
    if (isReading) return
    isReading = true
    while (isBehind && upToDate.size > 0 && !closed.signal.aborted) {
      isBehind = false
      try {
        const after = last
        const entries = await store.history({ after, limit: pageSize })
        if (entries.length > 0) await sendNew(entries, after)
        else last = Math.min(last, await newestId())
        if (entries.length === pageSize) isBehind = true
      } catch (error) {
        isBehind = true
        await waitForDatabase(error)
      }
    }
    isReading = false
  }

  async function sendNew(entries: readonly HistoryEntry[], after: number): Promise<void> {
    const events: Event[] = []
    for (const entry of entries) {
      events.push(eventOf(entry))
      await giveWay()
    }
    // The database was restored meanwhile: these entries may be gone.
    if (last !== after) return
    const startedAt = performance.now()
    const bytes = new Map<string | undefined, Buffer>()
    const listeners = [...upToDate]
    // A listener that joins from here on has these entries.
    last = entries.at(-1)?.id ?? last
    for (const [index, listener] of listeners.entries()) {
      // Node sends what a turn has written at its end.
      if (index % streamsPerTurn === 0) await nextTurn()
      const { stream, providerId } = listener
      if (stream.isFull) {
        upToDate.delete(listener)
        void catchUp(listener, after)
        continue
      }
      const wanted = bytes.get(providerId) ?? bytesOf(events, providerId)
      bytes.set(providerId, wanted)
      if (wanted.length > 0) stream.write(wanted)
    }
    await nextTurn()
    await rest(startedAt)
  }

  async function catchUp(listener: Listener, after: number): Promise<void> {
    const { stream } = listener
    let position = after
    for (;;) {
      await stream.drained()
      if (stream.done.aborted || closed.signal.aborted) return
      if (position >= last) break
      position = await inOrder(() => sendPage(listener, position))
    }
    upToDate.add(listener)
    // There may be changes that nobody was up to date for.
    void readNew()
  }

  /** Returns the ID up to which the listener has all entries. */
  async function sendPage({ stream, providerId }: Listener, after: number): Promise<number> {
    if (stream.done.aborted) return after
    const until = last
    const filter = { after, before: until + 1, limit: pageSize }
    try {
      const entries = await store.history({ ...filter, ...(providerId !== undefined && { providerId }) })
      for (const entry of entries) {
        stream.write(eventOf(entry).text)
        if (stream.isFull) await nextTurn()
        // The rest is read again later: a slow listener keeps nothing in memory.
        if (stream.isFull) return entry.id
        await giveWay()
      }
      return entries.length < pageSize ? until : (entries.at(-1)?.id ?? until)
    } catch (error) {
      await waitForDatabase(error)
      return after
    }
  }

  /** Many that reconnect at once must not keep requests waiting. */
  function inOrder<T>(read: () => Promise<T>): Promise<T> {
    waiting++
    const result = lastPage.then(async () => {
      const startedAt = performance.now()
      try {
        return await read()
      } finally {
        waiting--
        if (waiting > 0) await rest(startedAt)
      }
    })
    lastPage = result.catch(() => {})
    return result
  }

  /** Nothing is lost: the next attempt resumes after the same entry. */
  async function waitForDatabase(error: unknown): Promise<void> {
    if (closed.signal.aborted) return
    log.warn('event streams wait for the database', { error })
    await sleep(retryMs, undefined, { signal: closed.signal }).catch(() => {})
  }

  /** Shared by all that ask in one turn: after a restart, every client does. */
  function newestId(): Promise<number> {
    newest ??= store
      .history({ limit: 1 })
      .then(([entry]) => entry?.id ?? 0)
      .finally(() =>
        setImmediate(() => {
          newest = undefined
        }),
      )
    return newest
  }

  return {
    async follow(open, { after, providerId }) {
      if (upToDate.size === 0 || (after ?? 0) > last) {
        const id = await newestId()
        // Nobody needs the entries since, or the database was restored.
        if (upToDate.size === 0 || id < last) last = id
      }
      const stream = open()
      const listener: Listener = { stream, ...(providerId !== undefined && { providerId }) }
      stream.done.addEventListener('abort', () => upToDate.delete(listener), { once: true })
      // An ID above the newest comes from a lost database; without the limit the caller would miss new entries.
      void catchUp(listener, Math.min(after ?? last, last))
    },
    close() {
      closed.abort()
      stop()
    },
  }
}

function rest(startedAt: number): Promise<void> {
  return sleep(Math.min(maxRestMs, restFactor * (performance.now() - startedAt)))
}

interface Event {
  providerId: string | undefined
  text: string
}

function eventOf(entry: HistoryEntry): Event {
  const { providerId } = entry.after ?? entry.before ?? {}
  return { providerId, text: eventText(entry.what, entry, String(entry.id)) }
}

function bytesOf(events: readonly Event[], providerId: string | undefined): Buffer {
  const wanted = events.filter(one => providerId === undefined || one.providerId === providerId)
  return Buffer.from(wanted.map(({ text }) => text).join(''))
}
