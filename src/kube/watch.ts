/**
 * One watch: the stream of a long answer, cut into lines and read as events.
 *
 * A connection whose other end vanished without a word stays open for ever, so a watch has a deadline of its own, a
 * little after the server's; TCP keep-alive (transport.ts) mostly notices earlier.
 */
import { explain } from '../runtime/errors.ts'
import { isStatus, kubeErrorFrom, timedOut } from './errors.ts'
import { parseUnmanaged } from './managed-fields.ts'
import { tidied } from './paths.ts'
import type { Stream, Transport } from './transport.ts'
import type { KubeObject, Resource, WatchEvent } from './types.ts'

export interface WatchTimes {
  /** How long the server is asked to keep one watch: spread, so that watches do not all end together. */
  seconds(): number
  /** How much longer we wait for the server to end it. */
  graceMs: number
}

export const usualTimes: WatchTimes = { seconds: () => 290 + Math.floor(Math.random() * 291), graceMs: 30_000 }

export async function* watchStream<T extends KubeObject>(
  transport: Transport,
  resource: Resource<T>,
  request: { path: string; query: Record<string, string | undefined>; signal?: AbortSignal | undefined },
  times: WatchTimes,
): AsyncGenerator<WatchEvent<T>> {
  const { path, query, signal } = request
  if (signal?.aborted) return
  const seconds = times.seconds()
  const ending = new AbortController()
  const stop = () => ending.abort(signal?.reason)
  signal?.addEventListener('abort', stop, { once: true })
  let silent = false
  const deadline = setTimeout(
    () => {
      silent = true
      ending.abort()
    },
    seconds * 1_000 + times.graceMs,
  )

  try {
    const stream = await transport.stream({
      method: 'GET',
      path,
      query: { ...query, watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: String(seconds) },
      signal: ending.signal,
    })
    for await (const line of linesOf(stream)) yield eventFrom(resource, line)
  } catch (error) {
    if (signal?.aborted) return
    if (silent) throw timedOut(`watching ${resource.plural}: the server did not end the watch after ${seconds} s`)
    throw error
  } finally {
    clearTimeout(deadline)
    signal?.removeEventListener('abort', stop)
  }
}

/** Ten times what etcd takes for an object. */
const longestEvent = 16 * 1024 * 1024

async function* linesOf(stream: Stream): AsyncGenerator<string> {
  // The stream's own decoder keeps the bytes of a character together that came in two pieces.
  stream.setEncoding('utf8')
  let rest = ''
  try {
    for await (const piece of stream as AsyncIterable<string>) {
      const lines = (rest + piece).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > longestEvent) throw new Error(`an event is longer than ${longestEvent} characters`)
      for (const line of lines) if (line.trim()) yield line
    }
  } catch (error) {
    throw explain('the connection of a watch broke', error)
  }
  if (rest.trim()) yield rest
}

function eventFrom<T extends KubeObject>(resource: Resource<T>, line: string): WatchEvent<T> {
  const { type, object } = parse<T>(line)
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') return { type, object: tidied(resource, object) }
  if (type === 'BOOKMARK') return { type, resourceVersion: object.metadata.resourceVersion ?? '' }
  if (type === 'ERROR' && isStatus(object)) throw kubeErrorFrom(object.code ?? 500, object)
  throw kubeErrorFrom(500, `a watch of ${resource.plural} sent an event of type ${type}`)
}

function parse<T>(line: string): { type: string; object: T } {
  try {
    return parseUnmanaged(line) as { type: string; object: T }
  } catch (error) {
    // The server died in the middle of a line.
    throw Object.assign(new Error('a watch ended within an event', { cause: error }), { code: 'ECONNRESET' })
  }
}
