/**
 * A cache of a collection: list once, watch from there, list again only when the server no longer has the resourceVersion.
 *
 * Listeners get every difference between two states, including deletions during a lost watch. Objects are shared and must
 * not be changed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Backoff, backoffMs } from '../runtime/retry.ts'
import type { Log } from '../telemetry/log.ts'
import type { CollectionOptions, Kube } from './api.ts'
import { type Change, createCache } from './cache.ts'
import { isFromTheFuture, isGone, isRetryable, kubeErrorIn } from './errors.ts'
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
}

export interface Informer<T> {
  /** Runs until the signal. Resolves after the first complete list; rejects only if the signal comes first. */
  start(signal: AbortSignal): Promise<void>
  get(key: string | Key): T | undefined
  list(): T[]
  by(index: string, value: string): T[]
  /** Reports existing objects as `added` at once. Returns a function that unsubscribes. */
  on(listener: (change: Change<T>) => void): () => void
  readonly synced: boolean
  /** Time of the last list, event or bookmark. */
  readonly lastEventAt: Date | undefined
}

export function createInformer<T extends KubeObject>(
  kube: Pick<Kube, 'list' | 'watch'>,
  resource: Resource<T>,
  options: InformerOptions<T>,
): Informer<T> {
  const { log: outer, index = {}, resync, backoff = { firstMs: 200, maxMs: 10_000 }, ...collection } = options
  const { keep = (object: T) => object, ...selection } = collection
  const log = outer.with({ resource: resource.plural })
  const cache = createCache<T>(index)
  const listeners = new Set<(change: Change<T>) => void>()
  let synced = false
  let lastEventAt: Date | undefined

  function call(listener: (change: Change<T>) => void, change: Change<T>): void {
    try {
      listener(change)
    } catch (error) {
      log.error('listener failed', { change: change.type, name: change.object.metadata.name, error })
    }
  }

  function notify(changes: Change<T>[]): void {
    lastEventAt = new Date()
    for (const change of changes) for (const listener of listeners) call(listener, change)
  }

  async function listAll(signal: AbortSignal): Promise<string> {
    const { items, resourceVersion } = await kube.list(resource, { ...collection, signal })
    notify(cache.replaceAll(items))
    synced = true
    return resourceVersion
  }

  /** One watch, until the server ends it. Returns the last resourceVersion. */
  async function watchOnce(signal: AbortSignal, from: string, onEvent: () => void): Promise<string> {
    let at = from
    try {
      for await (const event of kube.watch(resource, { ...selection, resourceVersion: from, signal })) {
        if (event.type === 'BOOKMARK') notify([])
        else notify(event.type === 'DELETED' ? cache.remove(keep(event.object)) : cache.put(keep(event.object)))
        at = resourceVersionOf(event) ?? at
        onEvent()
      }
    } catch (error) {
      throw new WatchError(at, error)
    }
    return at
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
    get synced() {
      return synced
    },
    get lastEventAt() {
      return lastEventAt
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

/** After a lost connection or an overloaded server the watch can resume. All other errors, such as 410, need a new list. */
function canResume(cause: unknown): boolean {
  return isRetryable(cause) && !isFromTheFuture(cause)
}

function resourceVersionOf(event: { resourceVersion: string } | { object: KubeObject }): string | undefined {
  return 'object' in event ? event.object.metadata.resourceVersion : event.resourceVersion || undefined
}
