/**
 * Server-sent events, with a heartbeat.
 *
 * A stream ends when its caller loses the right to read it. A client that does not keep up is disconnected. It reconnects with the ID of its last event and gets the rest.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { countAsStream } from './request-metrics.ts'
import { HttpProblem } from './server.ts'

export interface EventStream {
  send(event: string, data: unknown, id?: string): void
  /** Sends events that `eventText` serialized: many streams share one buffer. */
  write(events: string | Buffer): void
  /** Whether the client has yet to read what was sent. Await `drained` then. */
  readonly isFull: boolean
  /** Resolves when the client has read most of the buffer, or is gone. A client that reads nothing is disconnected. */
  drained(): Promise<void>
  end(): void
  /** Aborted when either side has closed the stream. */
  readonly done: AbortSignal
}

export interface EventStreams {
  /** `checkAccess` runs again and again: a stream ends when it throws a 4xx. Throws a 429 above the limits. */
  open(reply: FastifyReply, checkAccess: () => Promise<void>, caller?: string): EventStream
}

export interface StreamLimits {
  perCaller: number
  inTotal: number
  /** A client that reads nothing for this long is disconnected when more is to be sent. */
  stallMs: number
}

/** A server whose streams cost nothing beside their connection limits its connections instead. */
const defaultLimits: StreamLimits = { perCaller: Infinity, inTotal: Infinity, stallMs: 30_000 }
const heartbeatMs = 15_000
/** Reviews are cached: a stream costs few requests to the API server. */
const accessMs = 5_000
const maxUnreadBytes = 1024 * 1024
/** Streams end when a page is closed, which takes minutes rather than seconds. */
const retryAfterSeconds = 30

/** One event as the protocol writes it. */
export function eventText(event: string, data: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

/** Streams of one server. They end before it closes; otherwise closing would wait for them. */
export function eventStreams(app: FastifyInstance, limits: Partial<StreamLimits> = {}): EventStreams {
  const { perCaller, inTotal, stallMs } = { ...defaultLimits, ...limits }
  const streams = new Set<EventStream>()
  const openOf = new Map<string, number>()
  app.addHook('preClose', async () => {
    for (const stream of streams) stream.end()
  })

  function requireRoom(caller: string): void {
    const refuse = (text: string) => new HttpProblem(429, `${text}; retry later`, { retryAfterSeconds })
    if ((openOf.get(caller) ?? 0) >= perCaller) throw refuse(`${caller} has ${perCaller} event streams open`)
    if (streams.size >= inTotal) throw refuse(`${inTotal} event streams are open`)
  }

  function count(caller: string, by: number): void {
    const open = (openOf.get(caller) ?? 0) + by
    if (open > 0) openOf.set(caller, open)
    else openOf.delete(caller)
  }

  return {
    open(reply, checkAccess, caller = '') {
      requireRoom(caller)
      const { raw } = reply.hijack()
      const done = new AbortController()
      const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream', 'cache-control': 'no-store' }
      raw.writeHead(200, { ...headers, 'x-accel-buffering': 'no' } as Record<string, string>)
      raw.flushHeaders()
      countAsStream(reply.request)
      const heartbeat = setInterval(() => raw.write(': alive\n\n'), heartbeatMs)
      const access = setInterval(() => {
        checkAccess().catch(error => {
          if (error instanceof HttpProblem && error.status < 500) raw.end()
        })
      }, accessMs)
      const stream: EventStream = {
        send: (event, data, id) => stream.write(eventText(event, data, id)),
        write(events) {
          if (done.signal.aborted) return
          // Before the write: one event may be larger than the limit.
          if (raw.writableLength > maxUnreadBytes) raw.destroy()
          else raw.write(events)
        },
        get isFull() {
          return raw.writableNeedDrain
        },
        drained: () =>
          new Promise(resolve => {
            if (!raw.writableNeedDrain || done.signal.aborted) return resolve()
            const stalled = setTimeout(() => raw.destroy(), stallMs)
            const settle = () => {
              clearTimeout(stalled)
              raw.off('drain', settle)
              done.signal.removeEventListener('abort', settle)
              resolve()
            }
            raw.once('drain', settle)
            done.signal.addEventListener('abort', settle)
          }),
        end: () => raw.end(),
        done: done.signal,
      }
      streams.add(stream)
      count(caller, 1)
      raw.once('close', () => {
        clearInterval(heartbeat)
        clearInterval(access)
        streams.delete(stream)
        count(caller, -1)
        done.abort()
      })
      return stream
    },
  }
}
