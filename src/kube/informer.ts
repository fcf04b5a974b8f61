/**
 * A copy of a collection that follows the cluster: list once, watch from there, list again only when the server has
 * forgotten where we were.
 *
 * Listeners hear of every difference between two states, so a deletion that happened while nobody watched is told too.
 * Objects are shared: readers do not change them.
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
  /** Ways to find objects: a name, and the values under which an object is found. */
  index?: Record<string, (object: T) => string[]>
  /** Every so many ms each object is told again as `updated`, with itself as `old`. */
  resync?: number
  /** Delays between failed watches. */
  backoff?: Backoff
}

export interface Informer<T> {
  /** Resolves with the first complete list, rejects only when the signal ends it before. Runs until the signal. */
  start(signal: AbortSignal): Promise<void>
  get(key: string | Key): T | undefined
  list(): T[]
  by(index: string, value: string): T[]
  /** What is already there is told as `added` at once. Returns the way to stop listening. */
  on(listener: (change: Change<T>) => void): () => void
  readonly synced: boolean
  /** When the server last said anything: a list, an event or a bookmark. */
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

  function hear(listener: (change: Change<T>) => void, change: Change<T>): void {
    try {
      listener(change)
    } catch (error) {
      log.error('a listener failed', { change: change.type, name: change.object.metadata.name, error })
    }
  }

  function tell(changes: Change<T>[]): void {
    lastEventAt = new Date()
    for (const change of changes) for (const listener of listeners) hear(listener, change)
  }

  async function listAll(signal: AbortSignal): Promise<string> {
    const { items, resourceVersion } = await kube.list(resource, { ...collection, signal })
    tell(cache.replaceAll(items))
    synced = true
    return resourceVersion
  }

  /** One watch, until the server ends it: where it had come. */
  async function follow(signal: AbortSignal, from: string, alive: () => void): Promise<string> {
    let at = from
    try {
      for await (const event of kube.watch(resource, { ...selection, resourceVersion: from, signal })) {
        if (event.type === 'BOOKMARK') tell([])
        else tell(event.type === 'DELETED' ? cache.remove(keep(event.object)) : cache.put(keep(event.object)))
        at = resourceVersionOf(event) ?? at
        alive()
      }
    } catch (error) {
      throw new Broken(at, error)
    }
    return at
  }

  async function run(signal: AbortSignal, onSynced: () => void): Promise<void> {
    let at: string | undefined
    let failures = 0
    let pauseAtLeast = 0
    let forgotten = false
    // Only a watch that lives counts as health: else a server that refuses watches would be listed in a tight loop.
    const healthy = () => {
      failures = 0
      forgotten = false
    }
    while (!signal.aborted) {
      const started = performance.now()
      try {
        at ??= await listAll(signal)
        onSynced()
        at = await follow(signal, at, healthy)
        if (performance.now() - started > livedMs) healthy()
        else failures++
      } catch (error) {
        if (signal.aborted) break
        const cause = error instanceof Broken ? error.cause : error
        // 410 is the word of a server that works, but said twice in a row it is no health either.
        if (performance.now() - started > livedMs || (isGone(cause) && !forgotten)) healthy()
        forgotten = isGone(cause)
        failures++
        at = error instanceof Broken && canResume(cause) ? error.at : undefined
        pauseAtLeast = (kubeErrorIn(cause)?.retryAfter ?? 0) * 1_000
        log.warn('the watch broke', { error: cause, resumes: at !== undefined, failures })
      }
      if (failures > 0) await pauseAfter(failures, pauseAtLeast, signal)
      pauseAtLeast = 0
    }
  }

  async function pauseAfter(failures: number, retryAfterMs: number, signal: AbortSignal): Promise<void> {
    await sleep(backoffMs(failures, backoff, { retryAfterMs }), undefined, { signal }).catch(() => {})
  }

  return {
    async start(signal) {
      if (resync && !signal.aborted) {
        const all = (): Change<T>[] => cache.list().map(object => ({ type: 'updated', object, old: object }))
        const ticking = setInterval(() => tell(all()), resync)
        signal.addEventListener('abort', () => clearInterval(ticking), { once: true })
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
      for (const object of cache.list()) hear(listener, { type: 'added', object })
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

/** A watch that lasted so long was a working one. */
const livedMs = 5_000

/** A watch that broke, and how far it had come. */
class Broken extends Error {
  readonly at: string

  constructor(at: string, cause: unknown) {
    super('the watch broke', { cause })
    this.at = at
  }
}

/** A broken connection or a busy server loses nothing. Every other refusal (410 above all) means: list again. */
function canResume(cause: unknown): boolean {
  return isRetryable(cause) && !isFromTheFuture(cause)
}

function resourceVersionOf(event: { resourceVersion: string } | { object: KubeObject }): string | undefined {
  return 'object' in event ? event.object.metadata.resourceVersion : event.resourceVersion || undefined
}
