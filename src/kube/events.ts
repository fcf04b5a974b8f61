/**
 * Records Kubernetes Events, which `kubectl describe` shows.
 *
 * The name of an Event is a hash of its content, so a repetition raises its count instead of creating an object, even after
 * a restart. Events are sent in the background with limits; a failure is logged and never reaches the caller.
 */
import { createHash } from 'node:crypto'
import { visible } from '../contract/truncate.ts'
import { createBucket } from '../runtime/token-bucket.ts'
import type { Log } from '../telemetry/log.ts'
import type { Kube } from './api.ts'
import { isAlreadyExists, isNotFound } from './errors.ts'
import { events } from './resources.ts'
import type { EventObject, KubeObject } from './types.ts'

export interface EventRecorder {
  event(object: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string): void
  /** Sends all pending Events now, before the process ends. */
  flush(): Promise<void>
}

export interface EventRecorderOptions {
  kube: Pick<Kube, 'get' | 'create' | 'patch'>
  component: string
  log: Log
  now?: () => Date
}

interface PendingEvent {
  body: EventObject
  count: number
  last: string
}

const maxPending = 1_000
const maxRemembered = 5_000

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { kube, component, log, now = () => new Date() } = options
  const pending = new Map<string, PendingEvent>()
  /** Known counts of Events; the oldest are dropped first. */
  const counts = new Map<string, number>()
  const buckets = new Map<string, ReturnType<typeof createBucket>>()
  const overall = createBucket({ size: 50, perSecond: 10, now: () => now().getTime() })
  let sending: Promise<void> | undefined
  let flushing = false
  let endPause = () => {}

  function isAllowedFor(uid: string): boolean {
    const bucket = buckets.get(uid) ?? createBucket({ size: 25, perSecond: 1 / 60, now: () => now().getTime() })
    remember(buckets, uid, bucket)
    return bucket.take()
  }

  async function drain(): Promise<void> {
    for (;;) {
      const [first] = pending
      if (!first) return
      const wait = overall.msUntilNext()
      if (wait > 0 && !flushing) {
        await pause(wait)
        continue
      }
      overall.take()
      const [id, next] = first
      pending.delete(id)
      try {
        remember(counts, id, await send(next, counts.get(id)))
      } catch (error) {
        log.warn('cannot record event', { reason: next.body.reason, about: next.body.involvedObject.name, error })
      }
    }
  }

  /** Keeps no process alive; `flush` ends it early. */
  function pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms).unref()
      endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Returns the count in the cluster. */
  async function send({ body, count, last }: PendingEvent, known: number | undefined): Promise<number> {
    const { namespace, name } = body.metadata
    const key = { name, ...(namespace && { namespace }) }
    const raise = async (from: number) => {
      await kube.patch(events, key, { count: from + count, lastTimestamp: last })
      return from + count
    }
    try {
      if (known !== undefined) return await raise(known)
    } catch (error) {
      // Events expire after an hour.
      if (!isNotFound(error)) throw error
    }
    try {
      await kube.create(events, { ...body, count, lastTimestamp: last })
      return count
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
      return raise((await kube.get(events, key))?.count ?? 1)
    }
  }

  function start(): void {
    sending ??= drain().finally(() => {
      sending = undefined
      if (pending.size) start()
    })
  }

  return {
    event(object, type, reason, message) {
      const at = seconds(now())
      const body = eventFor(component, object, type, reason, truncate(message, 1_024), at)
      const id = `${body.metadata.namespace}/${body.metadata.name}`
      const same = pending.get(id)
      if (same) {
        same.count++
        same.last = at
        return
      }
      if (pending.size >= maxPending || !isAllowedFor(object.metadata.uid ?? id)) {
        log.debug('event dropped by rate limit', { reason, about: object.metadata.name })
        return
      }
      pending.set(id, { body, count: 1, last: at })
      start()
    },
    async flush() {
      flushing = true
      endPause()
      while (sending) await sending
      flushing = false
    },
  }
}

function eventFor(
  component: string,
  object: KubeObject,
  type: EventObject['type'],
  reason: string,
  message: string,
  at: string,
): EventObject {
  const { apiVersion, kind } = object
  const { name, namespace, uid } = object.metadata
  const content = [component, apiVersion, kind, namespace, name, uid, type, reason, message]
  const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 16)
  return {
    apiVersion: 'v1',
    kind: 'Event',
    // Events of cluster-scoped objects belong to the namespace default.
    metadata: { name: `${name.slice(0, 236)}.${hash}`, namespace: namespace ?? 'default' },
    involvedObject: { apiVersion, kind, name, ...(namespace && { namespace }), ...(uid && { uid }) },
    type,
    reason,
    message,
    firstTimestamp: at,
    source: { component },
    reportingComponent: component,
  }
}

/** By bytes, without splitting a character. */
function truncate(given: string, maxBytes: number): string {
  const text = visible(given.slice(0, maxBytes + 1))
  const all = Buffer.from(text)
  if (all.length <= maxBytes) return text
  let end = maxBytes - 3
  while (end > 0 && ((all[end] ?? 0) & 0xc0) === 0x80) end--
  return `${all.subarray(0, end).toString()}…`
}

function seconds(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > maxRemembered && oldest !== undefined) map.delete(oldest)
}
