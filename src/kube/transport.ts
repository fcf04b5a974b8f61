/**
 * HTTP to one API server: two pools, credentials, time-outs, and another try for reads that are worth it.
 *
 * Watches have connections of their own, as many as they need: however many are open, a request never queues behind one.
 */
import { type Dispatcher, Pool, ProxyAgent } from 'undici'
import { withoutSlash } from '../contract/url.ts'
import { explain } from '../runtime/errors.ts'
import { retry } from '../runtime/retry.ts'
import type { Log } from '../telemetry/log.ts'
import type { ClusterAccess } from './config.ts'
import { isRetryable, KubeError, kubeErrorFrom, timedOut } from './errors.ts'
import type { Identity } from './exec.ts'
import { parseUnmanaged } from './managed-fields.ts'

export interface TransportOptions {
  log: Log
  requestTimeoutMs: number
  /** Attempts of a read in total. */
  attempts: number
  /** The maximum delay before a retry, whatever Retry-After says. */
  maxRetryDelayMs: number
}

export interface Request {
  method: Dispatcher.HttpMethod
  path: string
  query?: Record<string, string | undefined>
  body?: unknown
  contentType?: string
  accept?: string
  signal?: AbortSignal | undefined
}

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** Parsed when the server says it is JSON, otherwise the text. */
  body: unknown
}

export type Stream = Dispatcher.ResponseData['body']

export interface Transport {
  /** Throws KubeError for every status of 300 and above. */
  send(request: Request): Promise<Answer>
  /** The open body of a long answer. The signal ends it. */
  stream(request: Request & { signal: AbortSignal }): Promise<Stream>
  close(): Promise<void>
}

export function createTransport(access: ClusterAccess, options: TransportOptions): Transport {
  const { origin, pathname } = new URL(access.server)
  const base = withoutSlash(pathname)
  const secureAs = ({ cert, key }: Partial<Identity>) => ({
    timeout: Math.min(10_000, options.requestTimeoutMs),
    allowH2: false,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    rejectUnauthorized: !access.insecure,
    ...(access.ca && { ca: access.ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(access.servername && { servername: access.servername }),
  })
  const pool = (connections: number | null, secure: ReturnType<typeof secureAs>): Dispatcher => {
    const usual = {
      connections,
      pipelining: 1,
      // A Go server would choose HTTP/2 when it is offered: everything on one connection, watches beside requests.
      allowH2: false,
      keepAliveTimeout: 30_000,
      headersTimeout: options.requestTimeoutMs,
      bodyTimeout: 0,
    }
    return access.proxy
      ? new ProxyAgent({ ...usual, uri: access.proxy, requestTls: secure })
      : new Pool(origin, { ...usual, connect: secure })
  }
  const poolsAs = (identity: Partial<Identity>) => {
    const secure = secureAs(identity)
    return { identity, requests: pool(32, secure), watches: pool(null, secure) }
  }
  let pools = poolsAs(access)

  /** With a new certificate everything goes over new connections; what is under way ends on the old ones. */
  async function poolFor(use: 'requests' | 'watches'): Promise<Dispatcher> {
    const identity = await access.identity?.()
    if (identity && identity.cert !== pools.identity.cert) {
      const { requests, watches } = pools
      pools = poolsAs(identity)
      for (const old of [requests, watches]) old.close().catch(error => options.log.debug('closing', { error }))
    }
    return pools[use]
  }

  async function dispatch(use: 'requests' | 'watches', request: Request): Promise<Dispatcher.ResponseData> {
    const from = await poolFor(use)
    const { method, query, body, contentType, accept = 'application/json', signal } = request
    const call = (token: string | undefined) =>
      from.request({
        origin,
        method,
        path: `${base}${request.path}${queryText(query)}`,
        headers: {
          accept,
          'user-agent': 'multinic',
          ...(body !== undefined && { 'content-type': contentType ?? 'application/json' }),
          ...(token && { authorization: `Bearer ${token}` }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: signal ?? null,
      })

    const token = await access.token?.()
    const response = await call(token)
    if (response.statusCode !== 401 || !access.token) return response
    // The token may have rotated between the reading of it and the server's look at it.
    const renewed = await access.token(token)
    if (renewed === token) return response
    await response.body.dump()
    return call(renewed)
  }

  async function once(request: Request): Promise<Answer> {
    const { method, path, signal } = request
    const bounded = withDeadline(signal, options.requestTimeoutMs)
    try {
      const response = await dispatch('requests', { ...request, signal: bounded.signal })
      return await answerOf(response)
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof KubeError) throw error
      const cause = bounded.expired() ? timedOut(`no answer within ${options.requestTimeoutMs} ms`) : error
      throw explain(`${method} ${origin}${path}`, cause)
    } finally {
      bounded.clear()
    }
  }

  return {
    async send(request) {
      return retry(() => once(request), {
        attempts: request.method === 'GET' ? options.attempts : 1,
        firstMs: 300,
        maxMs: options.maxRetryDelayMs,
        isRetryable,
        retryAfterMs: error => (error instanceof KubeError ? (error.retryAfter ?? 0) * 1_000 : undefined),
        onRetry: (error, attempt) => options.log.debug('retrying a read', { path: request.path, attempt, error }),
        signal: request.signal,
      })
    },

    async stream(request) {
      const answered = withDeadline(request.signal, options.requestTimeoutMs)
      try {
        // The deadline is for the first byte only: after that, the caller's signal ends the stream.
        const response = await dispatch('watches', { ...request, signal: answered.signal })
        if (response.statusCode >= 300) await answerOf(response)
        return response.body
      } catch (error) {
        request.signal.throwIfAborted()
        if (error instanceof KubeError) throw error
        const cause = answered.expired() ? timedOut(`no answer within ${options.requestTimeoutMs} ms`) : error
        throw explain(`watching ${origin}${request.path}`, cause)
      } finally {
        answered.stopClock()
      }
    },

    async close() {
      await Promise.all([pools.requests.destroy(), pools.watches.destroy()])
    },
  }
}

async function answerOf(response: Dispatcher.ResponseData): Promise<Answer> {
  const { statusCode: status, headers } = response
  const text = await textOf(response.body)
  const body = String(headers['content-type']).includes('json') ? parsed(text) : text
  // A redirect is refused too: the next host would be given our token.
  if (status >= 300) throw kubeErrorFrom(status, body, secondsOf(headers['retry-after']))
  return { status, headers, body }
}

/** Far above a page of 500 objects, far below what ends the process. */
const longestAnswer = 256 * 1024 * 1024

async function textOf(body: Stream): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > longestAnswer) throw new Error(`the answer is longer than ${longestAnswer} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parsed(text: string): unknown {
  try {
    return parseUnmanaged(text)
  } catch {
    return text
  }
}

function secondsOf(header: string | string[] | undefined): number | undefined {
  const seconds = Number(header)
  return header !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}

function queryText(query: Request['query'] = {}): string {
  const given = Object.entries(query).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '',
  )
  return given.length ? `?${new URLSearchParams(given)}` : ''
}

/** A signal of our own, so that a caller's long-lived signal collects no listeners. */
function withDeadline(outer: AbortSignal | undefined, ms: number) {
  const inner = new AbortController()
  let expired = false
  // Of more than 31 bits a timer makes 1 ms.
  const limit = Math.min(ms, 2 ** 31 - 1)
  const timer = setTimeout(() => {
    expired = true
    inner.abort()
  }, limit)
  const follow = () => inner.abort(outer?.reason)
  if (outer?.aborted) follow()
  else outer?.addEventListener('abort', follow, { once: true })
  const stopClock = () => clearTimeout(timer)
  return {
    signal: inner.signal,
    expired: () => expired,
    stopClock,
    clear() {
      stopClock()
      outer?.removeEventListener('abort', follow)
    },
  }
}
