/**
 * One watch: a response stream, split into lines and parsed as events.
 *
 * A connection whose peer vanished stays open forever, so a watch has its own deadline, shortly after that of the server.
 * TCP keep-alive (transport.ts) mostly detects it earlier.
 */
import { explain } from '../runtime/errors.ts'
import { isStatus, kubeErrorFrom, timedOut } from './errors.ts'
import { parseWithoutManagedFields } from './managed-fields.ts'
import { normalized } from './paths.ts'
import type { Stream, Transport } from './transport.ts'
import type { KubeObject, Resource, WatchEvent } from './types.ts'

export interface WatchTimes {
  /** The timeoutSeconds of a watch: random, so that watches do not all end together. */
  seconds(): number
  /** How much longer to wait for the server to end it. */
  graceMs: number
}

export const defaultWatchTimes: WatchTimes = { seconds: () => 290 + Math.floor(Math.random() * 291), graceMs: 30_000 }

export async function* watchStream<T extends KubeObject>(
  transport: Transport,
  resource: Resource<T>,
  request: { path: string; query: Record<string, string | undefined>; signal?: AbortSignal | undefined },
  times: WatchTimes,
): AsyncGenerator<WatchEvent<T>> {
  const { path, query, signal } = request
  if (signal?.aborted) return
  const seconds = times.seconds()
  const abort = new AbortController()
  const stop = () => abort.abort(signal?.reason)
  signal?.addEventListener('abort', stop, { once: true })
  let expired = false
  const deadline = setTimeout(
    () => {
      expired = true
      abort.abort()
    },
    seconds * 1_000 + times.graceMs,
  )

  try {
    const stream = await transport.stream({
      method: 'GET',
      path,
      query: { ...query, watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: String(seconds) },
      signal: abort.signal,
    })
    for await (const line of linesOf(stream)) yield eventFrom(resource, line)
  } catch (error) {
    if (signal?.aborted) return
    if (expired) throw timedOut(`watch of ${resource.plural}: the server did not end it after ${seconds} s`)
    throw error
  } finally {
    clearTimeout(deadline)
    signal?.removeEventListener('abort', stop)
  }
}

/** Ten times the maximum size of an object in etcd. */
const maxEventLength = 16 * 1024 * 1024

async function* linesOf(stream: Stream): AsyncGenerator<string> {
  // The decoder of the stream joins the bytes of a character that arrive in two chunks.
  stream.setEncoding('utf8')
  let rest = ''
  try {
    for await (const chunk of stream as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > maxEventLength) throw new Error(`a watch event is longer than ${maxEventLength} characters`)
      for (const line of lines) if (line.trim()) yield line
    }
  } catch (error) {
    throw explain('watch connection lost', error)
  }
  if (rest.trim()) yield rest
}

function eventFrom<T extends KubeObject>(resource: Resource<T>, line: string): WatchEvent<T> {
  const { type, object } = parse<T>(line)
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED')
    return { type, object: normalized(resource, object) }
  if (type === 'BOOKMARK') return { type, resourceVersion: object.metadata.resourceVersion ?? '' }
  if (type === 'ERROR' && isStatus(object)) throw kubeErrorFrom(object.code ?? 500, object)
  throw kubeErrorFrom(500, `watch of ${resource.plural}: unknown event type ${type}`)
}

function parse<T>(line: string): { type: string; object: T } {
  try {
    return parseWithoutManagedFields(line) as { type: string; object: T }
  } catch (error) {
    // The server stopped in the middle of a line.
    throw Object.assign(new Error('watch ended in the middle of an event', { cause: error }), { code: 'ECONNRESET' })
  }
}
