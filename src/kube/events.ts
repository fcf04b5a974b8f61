/**
 * Events for people: `kubectl describe` shows them.
 *
 * The name of an Event is computed from what it says, so saying it again, even after a restart, raises a count instead of
 * making a new object. Sending is in the background and bounded; a failure is logged and never reaches the caller.
 */
import { createHash } from 'node:crypto'
import { createBucket } from '../runtime/token-bucket.ts'
import type { Log } from '../telemetry/log.ts'
import type { Kube } from './api.ts'
import { isAlreadyExists, isNotFound } from './errors.ts'
import { events } from './resources.ts'
import type { EventObject, KubeObject } from './types.ts'

export interface EventRecorder {
  event(object: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string): void
  /** Sends what waits, now: for the end of a process. */
  flush(): Promise<void>
}

export interface EventRecorderOptions {
  kube: Pick<Kube, 'get' | 'create' | 'patch'>
  component: string
  log: Log
  now?: () => Date
}

/** Said, and not sent yet. */
interface Waiting {
  body: EventObject
  count: number
  last: string
}

const mostWaiting = 1_000
const mostRemembered = 5_000

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { kube, component, log, now = () => new Date() } = options
  const waiting = new Map<string, Waiting>()
  /** How often each Event was said, as far as we know; the oldest are forgotten first. */
  const counts = new Map<string, number>()
  const buckets = new Map<string, ReturnType<typeof createBucket>>()
  const overall = createBucket({ size: 50, perSecond: 10, now: () => now().getTime() })
  let sending: Promise<void> | undefined
  let hurry = false
  let nudge = () => {}

  function mayTalkAbout(uid: string): boolean {
    const bucket = buckets.get(uid) ?? createBucket({ size: 25, perSecond: 1 / 60, now: () => now().getTime() })
    remember(buckets, uid, bucket)
    return bucket.take()
  }

  async function drain(): Promise<void> {
    for (;;) {
      const [first] = waiting
      if (!first) return
      const wait = overall.msUntilNext()
      if (wait > 0 && !hurry) {
        await pause(wait)
        continue
      }
      overall.take()
      const [id, said] = first
      waiting.delete(id)
      try {
        remember(counts, id, await send(said, counts.get(id)))
      } catch (error) {
        log.warn('an event was not recorded', { reason: said.body.reason, about: said.body.involvedObject.name, error })
      }
    }
  }

  /** Keeps no process alive, and `flush` cuts it short. */
  function pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms).unref()
      nudge = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Returns the count that the cluster now has. */
  async function send({ body, count, last }: Waiting, known: number | undefined): Promise<number> {
    const { namespace, name } = body.metadata
    const key = { name, ...(namespace && { namespace }) }
    const raise = async (from: number) => {
      await kube.patch(events, key, { count: from + count, lastTimestamp: last })
      return from + count
    }
    try {
      if (known !== undefined) return await raise(known)
    } catch (error) {
      // The cluster forgets Events after an hour.
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
      if (waiting.size) start()
    })
  }

  return {
    event(object, type, reason, message) {
      const at = seconds(now())
      const body = eventFor(component, object, type, reason, cut(message, 1_024), at)
      const id = `${body.metadata.namespace}/${body.metadata.name}`
      const same = waiting.get(id)
      if (same) {
        same.count++
        same.last = at
        return
      }
      if (waiting.size >= mostWaiting || !mayTalkAbout(object.metadata.uid ?? id)) {
        log.debug('an event was left out: too many', { reason, about: object.metadata.name })
        return
      }
      waiting.set(id, { body, count: 1, last: at })
      start()
    },
    async flush() {
      hurry = true
      nudge()
      while (sending) await sending
      hurry = false
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
  const said = [component, apiVersion, kind, namespace, name, uid, type, reason, message]
  const mark = createHash('sha256').update(JSON.stringify(said)).digest('hex').slice(0, 16)
  return {
    apiVersion: 'v1',
    kind: 'Event',
    // Events of what is cluster-wide live in "default".
    metadata: { name: `${name.slice(0, 236)}.${mark}`, namespace: namespace ?? 'default' },
    involvedObject: { apiVersion, kind, name, ...(namespace && { namespace }), ...(uid && { uid }) },
    type,
    reason,
    message,
    firstTimestamp: at,
    source: { component },
    reportingComponent: component,
  }
}

/** At most so many bytes, never half a character. */
function cut(text: string, bytes: number): string {
  const all = Buffer.from(text)
  if (all.length <= bytes) return text
  let end = bytes - 3
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
  if (map.size > mostRemembered && oldest !== undefined) map.delete(oldest)
}
