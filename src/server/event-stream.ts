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
  /** Resolves when the client has read most of the buffer, or is gone. Await it between large batches. */
  drained(): Promise<void>
  end(): void
  /** Aborted when either side has closed the stream. */
  readonly done: AbortSignal
}

export interface EventStreams {
  /** `checkAccess` runs again and again: a stream ends when it throws a 4xx. */
  open(reply: FastifyReply, checkAccess: () => Promise<void>): EventStream
}

const heartbeatMs = 15_000
/** Reviews are cached: a stream costs few requests to the API server. */
const accessMs = 5_000
const maxUnreadBytes = 1024 * 1024

/** Streams of one server. They end before it closes; otherwise closing would wait for them. */
export function eventStreams(app: FastifyInstance): EventStreams {
  const streams = new Set<EventStream>()
  app.addHook('preClose', async () => {
    for (const stream of streams) stream.end()
  })

  return {
    open(reply, checkAccess) {
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
        send(event, data, id) {
          if (done.signal.aborted) return
          raw.write(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
          if (raw.writableLength > maxUnreadBytes) raw.destroy()
        },
        drained: () =>
          new Promise(resolve => {
            if (!raw.writableNeedDrain || done.signal.aborted) return resolve()
            const settle = () => {
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
      raw.once('close', () => {
        clearInterval(heartbeat)
        clearInterval(access)
        streams.delete(stream)
        done.abort()
      })
      return stream
    },
  }
}
