/**
 * One watch: a response stream, split into lines and parsed as events.
 *
 * A connection whose peer vanished stays open forever, so a watch has its own deadline, shortly after that of the server.
 * TCP keep-alive (transport.ts) mostly detects it earlier.
 */
import { isUtf8 } from 'node:buffer'
import { elementCounter } from '../runtime/bounded-body.ts'
import { explain } from '../runtime/errors.ts'
import { isStatus, kubeErrorFrom, timedOut } from './errors.ts'
import { parseWithoutManagedFields } from './managed-fields.ts'
import { normalized } from './paths.ts'
import { maxObject, type Stream, type Transport } from './transport.ts'
import type { KubeObject, Resource, WatchEvent } from './types.ts'

export interface WatchTimes {
  /** The timeoutSeconds of a watch: random, so that watches do not all end together. */
  seconds(): number
  /** How much longer to wait for the server to end it. */
  graceMs: number
}

/** Short, because a server checks the rights of a watch only when it starts. */
export const defaultWatchTimes: WatchTimes = { seconds: () => 90 + Math.floor(Math.random() * 91), graceMs: 30_000 }

export async function* watchStream<T extends KubeObject>(
  transport: Transport,
  resource: Resource<T>,
  request: {
    path: string
    query: Record<string, string | undefined>
    signal?: AbortSignal | undefined
    onOpen?: (() => void) | undefined
  },
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
    request.onOpen?.()
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

const newline = 0x0a

/** JSON escapes a newline inside of a string, so a newline always ends an event. */
async function* linesOf(stream: Stream): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = []
  let size = 0
  let count = elementCounter(maxObject.elements)
  const add = (piece: Buffer) => {
    size += piece.length
    const excess = size > maxObject.bytes ? `is longer than ${maxObject.bytes} bytes` : count(piece)
    if (excess !== undefined) throw new Error(`a watch event ${excess}`)
    pieces.push(piece)
  }
  const take = () => {
    const line = Buffer.concat(pieces)
    pieces = []
    size = 0
    count = elementCounter(maxObject.elements)
    return line
  }
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      let start = 0
      for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
        add(chunk.subarray(start, end))
        start = end + 1
        const line = take()
        if (line.length > 0) yield line
      }
      add(chunk.subarray(start))
    }
  } catch (error) {
    throw explain('watch connection lost', error)
  }
  const rest = take()
  if (rest.length > 0) yield rest
}

function eventFrom<T extends KubeObject>(resource: Resource<T>, line: Buffer): WatchEvent<T> {
  const { type, object } = parse<T>(line)
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED')
    return { type, object: normalized(resource, object) }
  if (type === 'BOOKMARK') return { type, resourceVersion: object.metadata.resourceVersion ?? '' }
  if (type === 'ERROR' && isStatus(object)) throw kubeErrorFrom(object.code ?? 500, object)
  throw kubeErrorFrom(500, `watch of ${resource.plural}: unknown event type ${type}`)
}

function parse<T>(line: Buffer): { type: string; object: T } {
  if (!isUtf8(line)) throw new Error('a watch event is not UTF-8')
  try {
    return parseWithoutManagedFields(line.toString('utf8')) as { type: string; object: T }
  } catch (error) {
    // The server stopped in the middle of a line.
    throw Object.assign(new Error('watch ended in the middle of an event', { cause: error }), { code: 'ECONNRESET' })
  }
}
