/**
 * HTTP to one API server: connection pools, credentials, timeouts, and retries of reads.
 *
 * Watches use a separate pool without a limit, so that a request never waits for a watch.
 */
import { isUtf8 } from 'node:buffer'
import type { Dispatcher } from 'undici'
import { withoutSlash } from '../contract/url.ts'
import { BodyError, type BodyLimits, readBody } from '../runtime/bounded-body.ts'
import { explain } from '../runtime/errors.ts'
import { retry } from '../runtime/retry.ts'
import { type StartCall, statusClass } from '../telemetry/client-metrics.ts'
import type { Log } from '../telemetry/log.ts'
import type { Certificates, ClusterAccess } from './config.ts'
import { connectionsTo, currentCertificates, isPair, loadedCertificates } from './connections.ts'
import { isRetryable, KubeError, kubeErrorFrom, timedOut } from './errors.ts'
import { parseWithoutManagedFields } from './managed-fields.ts'

export interface TransportOptions {
  log: Log
  requestTimeoutMs: number
  /** Attempts of a read in total. */
  attempts: number
  /** The maximum delay before a retry, whatever Retry-After says. */
  maxRetryDelayMs: number
  startCall: StartCall | undefined
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

export interface KubeResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** Parsed if the content type is JSON, otherwise the text. */
  body: unknown
}

export type Stream = Dispatcher.ResponseData['body']

export interface Transport {
  /** Throws KubeError for a status of 300 and above. */
  send(request: Request): Promise<KubeResponse>
  /** The open body of a streaming response. The signal ends it. */
  stream(request: Request & { signal: AbortSignal }): Promise<Stream>
  close(): Promise<void>
}

export function createTransport(access: ClusterAccess, options: TransportOptions): Transport {
  const { origin, pathname } = new URL(access.server)
  const base = withoutSlash(pathname)
  const poolsFor = (certificates: Certificates) => {
    const pool = (connections: number | null) =>
      connectionsTo(access, certificates, {
        connectTimeoutMs: Math.min(10_000, options.requestTimeoutMs),
        connections,
        keepAliveTimeout: 30_000,
        headersTimeout: options.requestTimeoutMs,
        bodyTimeout: 0,
      })
    return { certificates, requests: pool(32), watches: pool(null) }
  }
  let pools = poolsFor(loadedCertificates(access))

  /** New certificates need new connections; running requests end on the old ones. */
  async function poolFor(use: 'requests' | 'watches'): Promise<Dispatcher> {
    const current = await currentCertificates(access)
    const { certificates: old, requests, watches } = pools
    const isNew = current.ca !== old.ca || current.cert !== old.cert || current.key !== old.key
    if (isNew && isPair(current)) {
      pools = poolsFor(current)
      for (const pool of [requests, watches])
        pool.close().catch(error => options.log.debug('cannot close connections', { error }))
    }
    return pools[use]
  }

  async function dispatch(use: 'requests' | 'watches', request: Request): Promise<Dispatcher.ResponseData> {
    const pool = await poolFor(use)
    const { method, query, body, contentType, accept = 'application/json', signal } = request
    const call = (token: string | undefined) =>
      pool.request({
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
    // The token may have rotated since it was read.
    const renewed = await access.token(token)
    if (renewed === token) return response
    await response.body.dump()
    return call(renewed)
  }

  async function once(request: Request): Promise<KubeResponse> {
    const { method, path, signal } = request
    const bounded = withDeadline(signal, options.requestTimeoutMs)
    const ended = options.startCall?.('kubernetes', method)
    let status = 'error'
    try {
      const response = await dispatch('requests', { ...request, signal: bounded.signal })
      const bytes = await bytesOf(response.body, method === 'GET' ? maxPage : maxObject)
      status = statusClass(response.statusCode)
      return responseFrom(response, bytes)
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof KubeError) throw error
      const cause = bounded.expired() ? timedOut(`no response within ${options.requestTimeoutMs} ms`) : error
      throw explain(`${method} ${origin}${path}`, cause)
    } finally {
      ended?.(status)
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
      const deadline = withDeadline(request.signal, options.requestTimeoutMs)
      const opened = options.startCall?.('kubernetes', request.method)
      let status = 'error'
      try {
        // The deadline is for the first byte. After that, only the signal of the caller ends the stream.
        const response = await dispatch('watches', { ...request, signal: deadline.signal })
        status = statusClass(response.statusCode)
        if (response.statusCode >= 300) responseFrom(response, await bytesOf(response.body, maxObject))
        return response.body
      } catch (error) {
        request.signal.throwIfAborted()
        if (error instanceof KubeError) throw error
        const cause = deadline.expired() ? timedOut(`no response within ${options.requestTimeoutMs} ms`) : error
        throw explain(`watch ${origin}${request.path}`, cause)
      } finally {
        opened?.(status)
        deadline.stopClock()
      }
    },

    async close() {
      await Promise.all([pools.requests.destroy(), pools.watches.destroy()])
    },
  }
}

function responseFrom({ statusCode: status, headers }: Dispatcher.ResponseData, bytes: Buffer): KubeResponse {
  const body = String(headers['content-type']).includes('json') ? parse(bytes) : bytes.toString('utf8')
  // Redirects are errors too: the other host would get our token.
  if (status >= 300) throw kubeErrorFrom(status, body, secondsOf(headers['retry-after']))
  return { status, headers, body }
}

/** More than twice the maximum size of an object in etcd. A node config has some hundred elements. */
export const maxObject = { bytes: 4 * 1024 * 1024, elements: 100_000 } satisfies BodyLimits
/** 80 KiB and 3,000 elements for each object of a page. While a page is parsed, it takes four times its bytes. */
const maxPage: BodyLimits = { bytes: 16 * 1024 * 1024, elements: 600_000 }

async function bytesOf(body: Stream, limits: BodyLimits): Promise<Buffer> {
  try {
    return await readBody(body, limits)
  } catch (error) {
    throw error instanceof BodyError ? explain('the response', error) : error
  } finally {
    body.destroy()
  }
}

function parse(bytes: Buffer): unknown {
  const text = bytes.toString('utf8')
  // Otherwise two different names become the same text.
  if (!isUtf8(bytes)) return text
  try {
    return parseWithoutManagedFields(text)
  } catch {
    return text
  }
}

function secondsOf(header: string | string[] | undefined): number | undefined {
  const seconds = Number(header)
  return header !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}

function queryText(query: Request['query'] = {}): string {
  const entries = Object.entries(query).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '',
  )
  return entries.length ? `?${new URLSearchParams(entries)}` : ''
}

/** A new signal for each request, so that a long-lived signal of the caller collects no listeners. */
function withDeadline(outer: AbortSignal | undefined, ms: number) {
  const inner = new AbortController()
  let expired = false
  // setTimeout overflows above 2^31-1 and fires after 1 ms.
  const limit = Math.min(ms, 2 ** 31 - 1)
  const timer = setTimeout(() => {
    expired = true
    inner.abort()
  }, limit)
  const onAbort = () => inner.abort(outer?.reason)
  if (outer?.aborted) onAbort()
  else outer?.addEventListener('abort', onAbort, { once: true })
  const stopClock = () => clearTimeout(timer)
  return {
    signal: inner.signal,
    expired: () => expired,
    stopClock,
    clear() {
      stopClock()
      outer?.removeEventListener('abort', onAbort)
    },
  }
}
