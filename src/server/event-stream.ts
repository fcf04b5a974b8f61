/**
 * Server-sent events: one open answer that says what changes, with a sign of life in between.
 *
 * A reader that does not keep up is cut off: it comes back, says where it was, and gets the rest.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'

export interface EventStream {
  send(event: string, data: unknown, id?: string): void
  /** Resolves when the reader has taken most of what was sent, or is gone: who has much to send waits for it in between. */
  taken(): Promise<void>
  end(): void
  /** Aborted when either side is done. */
  readonly done: AbortSignal
}

export interface EventStreams {
  open(reply: FastifyReply): EventStream
}

const signOfLifeMs = 15_000
const mostUnread = 1024 * 1024

/** Streams of one app. They end before the app closes, or it would wait for them. */
export function eventStreams(app: FastifyInstance): EventStreams {
  const streams = new Set<EventStream>()
  app.addHook('preClose', async () => {
    for (const stream of streams) stream.end()
  })

  return {
    open(reply) {
      const { raw } = reply.hijack()
      const done = new AbortController()
      const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream', 'cache-control': 'no-store' }
      raw.writeHead(200, { ...headers, 'x-accel-buffering': 'no' } as Record<string, string>)
      raw.flushHeaders()
      const alive = setInterval(() => raw.write(': alive\n\n'), signOfLifeMs)
      const stream: EventStream = {
        send(event, data, id) {
          if (done.signal.aborted) return
          raw.write(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
          if (raw.writableLength > mostUnread) raw.destroy()
        },
        taken: () =>
          new Promise(resolve => {
            if (!raw.writableNeedDrain || done.signal.aborted) return resolve()
            const go = () => {
              raw.off('drain', go)
              done.signal.removeEventListener('abort', go)
              resolve()
            }
            raw.once('drain', go)
            done.signal.addEventListener('abort', go)
          }),
        end: () => raw.end(),
        done: done.signal,
      }
      streams.add(stream)
      raw.once('close', () => {
        clearInterval(alive)
        streams.delete(stream)
        done.abort()
      })
      return stream
    },
  }
}
