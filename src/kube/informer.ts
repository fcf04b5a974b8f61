/**
 * A cache of a collection: list once, watch from there, list again when the server no longer has the resourceVersion, or when
 * a watch is silent. After a restore of etcd, an API server accepts a watch from a version that it has not reached yet and sends
 * nothing until then.
 *
 * Listeners get every difference between two states, including deletions during a lost watch. Objects are shared and must
 * not be changed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { formatDuration } from '../contract/duration.ts'
import { messageOf } from '../runtime/errors.ts'
import { type Backoff, backoffMs } from '../runtime/retry.ts'
import type { Log } from '../telemetry/log.ts'
import type { CollectionOptions, Kube } from './api.ts'
import { type Change, createCache } from './cache.ts'
import { isFromTheFuture, isGone, isRetryable, kubeErrorIn, timedOut } from './errors.ts'
import type { Key, KubeObject, Resource } from './types.ts'

export type { Change } from './cache.ts'

export interface InformerOptions<T> extends Omit<CollectionOptions<T>, 'signal'> {
  log: Log
  /** Indexes by name: the values under which `by` finds an object. */
  index?: Record<string, (object: T) => string[]>
  /** Interval in ms at which each object is reported again as `updated`, with itself as `old`. */
  resync?: number
  /** Delays between failed watches. */
  backoff?: Backoff
  times?: InformerTimes
}

export interface InformerTimes {
  /** After a watch that received nothing for this long, the collection is listed. API servers send a bookmark every minute. */
  silenceMs: number
  /** Without a list, event or new watch for this long, the cache counts as out of date. */
  staleMs: number
}

const defaultTimes: InformerTimes = { silenceMs: 90_000, staleMs: 120_000 }

export interface Informer<T> {
  /** Runs until the signal. Resolves after the first complete list; rejects only if the signal comes first. */
  start(signal: AbortSignal): Promise<void>
  get(key: string | Key): T | undefined
  list(): T[]
  by(index: string, value: string): T[]
  /** Reports existing objects as `added` at once. Returns a function that unsubscribes. */
  on(listener: (change: Change<T>) => void): () => void
  /** Called after each complete list, with the time of its request (performance.now). */
  onList(listener: (requestedAt: number) => void): () => void
  readonly synced: boolean
  /** When a list had an older version than one before (ms since 1970): the server was restored from a backup. */
  restoredAt(): number | undefined
  /** Why the cache may be out of date: not listed, not readable, or not watched. */
  problem(): string | undefined
}

export function createInformer<T extends KubeObject>(
  kube: Pick<Kube, 'list' | 'watch'>,
  resource: Resource<T>,
  options: InformerOptions<T>,
): Informer<T> {
  const {
    log: outer,
    index = {},
    resync,
    backoff = { firstMs: 200, maxMs: 10_000 },
    times = defaultTimes,
    ...collection
  } = options
  const { keep = (object: T) => object, ...selection } = collection
  const log = outer.with({ resource: resource.plural })
  const cache = createCache<T>(index)
  const listeners = new Set<(change: Change<T>) => void>()
  const listListeners = new Set<(requestedAt: number) => void>()
  let synced = false
  let succeededAt = performance.now()
  /** Of the last list or watch; undefined after a success. */
  let failure: unknown
  /** The newest version that the server has shown. */
  let newest = 0n
  let restoredAt: number | undefined

  function succeeded(): void {
    succeededAt = performance.now()
    failure = undefined
  }

  function call(listener: (change: Change<T>) => void, change: Change<T>): void {
    try {
      listener(change)
    } catch (error) {
      log.error('listener failed', { change: change.type, name: change.object.metadata.name, error })
    }
  }

  function notify(changes: Change<T>[]): void {
    for (const change of changes) for (const listener of listeners) call(listener, change)
  }

  async function listAll(signal: AbortSignal): Promise<string> {
    const requestedAt = performance.now()
    const { items, resourceVersion } = await kube.list(resource, { ...collection, signal })
    succeeded()
    notify(cache.replaceAll(items))
    if (isOlder(resourceVersion)) restored(resourceVersion)
    saw(resourceVersion)
    for (const listener of listListeners) listener(requestedAt)
    synced = true
    return resourceVersion
  }

  function saw(resourceVersion: string): void {
    const version = versionOf(resourceVersion)
    if (version !== undefined && version > newest) newest = version
  }

  const isOlder = (resourceVersion: string) => (versionOf(resourceVersion) ?? newest) < newest

  /** Objects that are as they were in the backup may be false by now: all are reported. */
  function restored(resourceVersion: string): void {
    log.warn('the API server was restored from a backup', { resourceVersion, newest: `${newest}` })
    newest = 0n
    restoredAt = Date.now()
    notify(cache.list().map(object => ({ type: 'updated', object, old: object })))
  }

  /** One watch, until the server ends it. Returns the last resourceVersion, or undefined if it says nothing any more. */
  async function watchOnce(outer: AbortSignal, from: string, onEvent: () => void): Promise<string | undefined> {
    let at = from
    let hasBookmarks = false
    const silence = new AbortController()
    const timer = setTimeout(() => silence.abort(), times.silenceMs)
    const signal = AbortSignal.any([outer, silence.signal])
    try {
      const request = { ...selection, resourceVersion: from, signal, onOpen: succeeded }
      for await (const event of kube.watch(resource, request)) {
        timer.refresh()
        succeeded()
        if (event.type === 'BOOKMARK') hasBookmarks = true
        else notify(event.type === 'DELETED' ? cache.remove(keep(event.object)) : cache.put(keep(event.object)))
        at = resourceVersionOf(event) ?? at
        saw(at)
        onEvent()
      }
    } catch (error) {
      throw new WatchError(at, error)
    } finally {
      clearTimeout(timer)
    }
    if (!silence.signal.aborted || outer.aborted) return at
    // Without bookmarks, nothing may have changed: not worth a warning.
    if (hasBookmarks) throw timedOut(`nothing received for ${times.silenceMs / 1_000} s`)
    return undefined
  }

  async function run(signal: AbortSignal, onSynced: () => void): Promise<void> {
    let at: string | undefined
    let failures = 0
    let retryAfterMs = 0
    let wasGone = false
    // Only a working watch resets the backoff: otherwise a server that rejects watches would be listed in a tight loop.
    const resetBackoff = () => {
      failures = 0
      wasGone = false
    }
    while (!signal.aborted) {
      const started = performance.now()
      try {
        at ??= await listAll(signal)
        onSynced()
        at = await watchOnce(signal, at, resetBackoff)
        if (performance.now() - started > stableMs) resetBackoff()
        else failures++
      } catch (error) {
        if (signal.aborted) break
        const cause = error instanceof WatchError ? error.cause : error
        failure = cause
        // A server that answers 410 works. Twice in a row still counts as a failure.
        if (performance.now() - started > stableMs || (isGone(cause) && !wasGone)) resetBackoff()
        wasGone = isGone(cause)
        failures++
        at = error instanceof WatchError && canResume(cause) ? error.at : undefined
        retryAfterMs = (kubeErrorIn(cause)?.retryAfter ?? 0) * 1_000
        log.warn('watch failed', { error: cause, resumes: at !== undefined, failures })
      }
      if (failures > 0) await pauseAfter(failures, retryAfterMs, signal)
      retryAfterMs = 0
    }
  }

  async function pauseAfter(failures: number, retryAfterMs: number, signal: AbortSignal): Promise<void> {
    await sleep(backoffMs(failures, backoff, { retryAfterMs }), undefined, { signal }).catch(() => {})
  }

  return {
    async start(signal) {
      if (resync && !signal.aborted) {
        const all = (): Change<T>[] => cache.list().map(object => ({ type: 'updated', object, old: object }))
        const timer = setInterval(() => notify(all()), resync)
        signal.addEventListener('abort', () => clearInterval(timer), { once: true })
      }
      await new Promise<void>((resolve, reject) => {
        run(signal, resolve).then(() => reject(signal.reason), reject)
      })
    },
    get: key => cache.get(key),
    list: () => cache.list(),
    by: (name, value) => cache.by(name, value),
    on(listener) {
      listeners.add(listener)
      for (const object of cache.list()) call(listener, { type: 'added', object })
      return () => listeners.delete(listener)
    },
    onList(listener) {
      listListeners.add(listener)
      return () => listListeners.delete(listener)
    },
    restoredAt: () => restoredAt,
    get synced() {
      return synced
    },
    problem() {
      if (!synced) return 'not listed yet'
      if (isDenied(failure)) return `not readable: ${messageOf(failure)}`
      const ageMs = performance.now() - succeededAt
      if (ageMs < times.staleMs) return undefined
      const cause = failure === undefined ? '' : `: ${messageOf(failure)}`
      return `no list or watch succeeded for ${formatDuration(ageMs)}${cause}`
    },
  }
}

/** A watch that lasted this long worked. */
const stableMs = 5_000

/** A failed watch, and its last resourceVersion. */
class WatchError extends Error {
  readonly at: string

  constructor(at: string, cause: unknown) {
    super('watch failed', { cause })
    this.at = at
  }
}

/** The permission or the CRD is gone. */
function isDenied(cause: unknown): boolean {
  return [401, 403, 404].includes(kubeErrorIn(cause)?.status ?? 0)
}

/** After a lost connection or an overloaded server the watch can resume. All other errors, such as 410, need a new list. */
function canResume(cause: unknown): boolean {
  return isRetryable(cause) && !isFromTheFuture(cause)
}

/** Versions of etcd are numbers. */
function versionOf(resourceVersion: string): bigint | undefined {
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : undefined
}

function resourceVersionOf(event: { resourceVersion: string } | { object: KubeObject }): string | undefined {
  return 'object' in event ? event.object.metadata.resourceVersion : event.resourceVersion || undefined
}
