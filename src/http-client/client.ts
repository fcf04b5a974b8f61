/**
 * HTTP client for one service: timeouts, limited retries with jitter, bounded bodies, no redirects, metrics for each call.
 *
 * Never follows redirects, because the next host would get our token. Reads bodies as JSON and never decompresses them.
 * Never calls link-local addresses: the metadata service of the machine would answer there. Every request passes
 * `isAllowedHost`, wherever its URL comes from.
 */
import { type LookupAddress, type LookupOptions, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { Agent, type Dispatcher, EnvHttpProxyAgent, request as send } from 'undici'
import { truncate } from '../contract/truncate.ts'
import { hostNotAllowed, isLinkLocal, urlOf } from '../contract/url.ts'
import { BodyError, type BodyLimits, maxElements, parseJson, readBody, readChunks } from '../runtime/bounded-body.ts'
import { isUntrusted } from '../runtime/certificate-errors.ts'
import { explain } from '../runtime/errors.ts'
import { retry } from '../runtime/retry.ts'
import { type StartCall, statusClass } from '../telemetry/client-metrics.ts'
import { detailOf, isRetryable, ServiceError } from './errors.ts'

export interface Tls {
  ca?: string | undefined
  /** The setting of `ca`, for errors. */
  caSetting?: string
  cert?: string | undefined
  key?: string | undefined
  insecure?: boolean | undefined
}

export interface Proxies {
  http?: string | undefined
  https?: string | undefined
  no?: string | undefined
}

export interface HttpOptions {
  service: string
  timeoutMs: number
  tls?: Tls
  proxies?: Proxies | undefined
  /** Total attempts, including the first. */
  attempts?: number
  /** Maximum wait before a retry. If the service asks for more, the call fails. */
  maxWaitMs?: number
  limits?: Partial<BodyLimits> | undefined
  connections?: number
  /** Hosts that others name. Default: all. */
  isAllowedHost?: (host: string) => boolean
  startCall?: StartCall | undefined
  random?: () => number
}

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  headers?: Record<string, string>
  body?: unknown
  signal?: AbortSignal | undefined
  /** The request may be repeated. Default: GET and DELETE. */
  repeatable?: boolean
  /** Statuses that are not a failure. Default: 200 to 299. */
  accept?: (status: number) => boolean
  /** Accepts a 2xx answer whose body is not JSON. `body` is undefined then. */
  anyBody?: boolean
  /** Leaves a 2xx body in chunks, unparsed and its elements uncounted: the caller compares the bytes first. */
  unread?: boolean
}

export interface HttpAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** The body of an unread answer, otherwise empty. */
  chunks: readonly Buffer[]
  body: unknown
}

export interface Http {
  readonly service: string
  request(request: HttpRequest): Promise<HttpAnswer>
  /** The body of a 200 as it arrives, without an end. Throws when nothing arrives for a while: the server must send heartbeats. */
  stream(request: HttpRequest): AsyncIterable<Buffer>
  close(): Promise<void>
}

const connectTimeoutMs = 5_000
/** The kernel then sends ten probes in 10 s, and closes an idle connection whose server has vanished. */
const keepAliveInitialDelay = 5_000
/** Three heartbeats of a stream. */
const maxSilenceMs = 45_000
/** setTimeout overflows above 2^31-1 and fires after 1 ms. */
const maxTimeoutMs = 2 ** 31 - 10_000

export function createHttp(options: HttpOptions): Http {
  const { service, attempts = 3, maxWaitMs = 10_000, isAllowedHost, startCall, random = Math.random } = options
  const limits = { bytes: 32 * 1024 * 1024, elements: maxElements, ...options.limits }
  const timeoutMs = Math.min(options.timeoutMs, maxTimeoutMs)
  const dispatcher = dispatcherFor({ ...options, timeoutMs })

  async function attempt(request: HttpRequest): Promise<HttpAnswer> {
    const { method, url, headers = {}, body, accept = (status: number) => status >= 200 && status < 300 } = request
    const ended = startCall?.(service, method)
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout
    let status = 'error'
    try {
      checkHost(url)
      const answer = await send(url, {
        dispatcher,
        method,
        signal,
        headers: { accept: 'application/json', ...(body !== undefined && jsonHeaders), ...headers },
        body: body === undefined ? null : JSON.stringify(body),
      })
      const isUnread = request.unread === true && answer.statusCode < 300 && accept(answer.statusCode)
      const bodyLimits = isUnread ? { bytes: limits.bytes } : limits
      const chunks = await readChunks(answer.body, bodyLimits).finally(() => answer.body.destroy())
      status = statusClass(answer.statusCode)
      if (isUnread) return { status: answer.statusCode, headers: answer.headers, chunks, body: undefined }
      return toAnswer(request, answer.statusCode, answer.headers, Buffer.concat(chunks), accept)
    } catch (error) {
      throw error instanceof ServiceError ? error : callError(request, error, timeout.aborted)
    } finally {
      ended?.(status)
    }
  }

  async function* stream(request: HttpRequest): AsyncGenerator<Buffer> {
    const { url, method, headers, signal } = request
    let isOpen = false
    const opened = startCall?.(service, method)
    try {
      checkHost(url)
      const answer = await send(url, {
        ...{ dispatcher, method, bodyTimeout: maxSilenceMs, headers: headers ?? {} },
        signal: signal ?? null,
      })
      isOpen = true
      opened?.(statusClass(answer.statusCode))
      if (answer.statusCode === 200) return yield* answer.body
      const bytes = await readBody(answer.body, limits).finally(() => answer.body.destroy())
      toAnswer(request, answer.statusCode, answer.headers, bytes, () => false)
    } catch (error) {
      if (!isOpen) opened?.('error')
      throw error instanceof ServiceError ? error : callError(request, error, false)
    }
  }

  function checkHost(url: string): void {
    const host = urlOf(url)?.hostname ?? ''
    if (isAllowedHost && !isAllowedHost(host))
      throw new ServiceError(`${service}: the host ${host} ${hostNotAllowed}`, { service, kind: 'refused' })
    if (isLinkLocal(host)) throw linkLocal()
  }

  function toAnswer(
    request: HttpRequest,
    status: number,
    headers: HttpAnswer['headers'],
    bytes: Buffer,
    accept: (status: number) => boolean,
  ): HttpAnswer {
    const isOptional = status >= 300 || request.anyBody === true || !accept(status)
    const body = bytes.length === 0 ? undefined : parsed(bytes, isOptional)
    if (accept(status)) {
      return { status, headers, chunks: [], body }
    }
    const requestId = requestIdIn(headers)
    const detail = detailOf(body)
    const message = [`${where(request)}: HTTP ${status}`, detail, requestId && `(request ${requestId})`]
    throw new ServiceError(message.filter(Boolean).join(' '), {
      service,
      kind: 'answer',
      status,
      requestId,
      retryAfterMs: retryAfterIn(headers),
    })
  }

  function callError(request: HttpRequest, error: unknown, isTimeout: boolean): Error {
    if (isTimeout)
      return new ServiceError(`${where(request)}: no answer within ${timeoutMs / 1_000} s`, {
        service,
        kind: 'timeout',
      })
    if (request.signal?.aborted) return explain(where(request), error)
    if (error instanceof BodyError) {
      // Another large answer had its turn: the next sync reads this one again.
      const kind = error.kind === 'cut' || error.kind === 'overBudget' ? 'connection' : 'malformed'
      return new ServiceError(`${where(request)}: the answer ${error.message}`, { service, kind }, { cause: error })
    }
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'connection failed'
    const { caSetting } = options.tls ?? {}
    const remedy = caSetting && isUntrusted(error) ? `; set ${caSetting} to the CA of the server` : ''
    return new ServiceError(`${where(request)}: ${code}${remedy}`, { service, kind: 'connection' }, { cause: error })
  }

  /** Without the query, which may contain hundreds of ids. */
  function where({ method, url }: HttpRequest): string {
    const parsedUrl = urlOf(url)
    return truncate(
      `${service}: ${method} ${parsedUrl ? `${parsedUrl.host}${parsedUrl.pathname}` : 'invalid URL'}`,
      300,
    )
  }

  return {
    service,
    async request(request) {
      const repeatable = request.repeatable ?? (request.method === 'GET' || request.method === 'DELETE')
      const retryAfterMs = (error: unknown) => (error instanceof ServiceError ? error.retryAfterMs : undefined)
      return retry(() => attempt(request), {
        ...{ attempts, firstMs: 200, maxMs: maxWaitMs, signal: request.signal, random, retryAfterMs },
        // After a longer Retry-After the next sync repeats the request.
        isRetryable: error => isRetryable(error, repeatable) && (retryAfterMs(error) ?? 0) <= maxWaitMs,
      })
    },
    stream,
    close: () => dispatcher.destroy(),
  }
}

const jsonHeaders = { 'content-type': 'application/json' }

function dispatcherFor({ tls = {}, proxies, timeoutMs, connections = 16 }: HttpOptions): Dispatcher {
  const secure = {
    ...(tls.ca !== undefined && { ca: tls.ca }),
    ...(tls.cert !== undefined && { cert: tls.cert }),
    ...(tls.key !== undefined && { key: tls.key }),
    ...(tls.insecure && { rejectUnauthorized: false }),
  }
  const common = {
    connections,
    headersTimeout: timeoutMs + 1_000,
    bodyTimeout: timeoutMs + 1_000,
    keepAliveTimeout: 30_000,
    connect: { timeout: Math.min(connectTimeoutMs, timeoutMs), lookup: lookUp, keepAliveInitialDelay, ...secure },
  }
  if (!proxies?.http && !proxies?.https) return new Agent(common)
  return new EnvHttpProxyAgent({
    ...common,
    requestTls: secure,
    ...(proxies.http && { httpProxy: proxies.http }),
    ...(proxies.https && { httpsProxy: proxies.https }),
    ...(proxies.no && { noProxy: proxies.no }),
  })
}

/** Checks resolved addresses too: whoever names a host controls what its name resolves to. */
function lookUp(host: string, options: LookupOptions, done: Parameters<LookupFunction>[2]): void {
  lookup(host, options, (error: NodeJS.ErrnoException | null, found: string | LookupAddress[], family?: number) => {
    const all = typeof found === 'string' ? [found] : (found ?? []).map(({ address }) => address)
    done(error ?? (all.some(isLinkLocal) ? linkLocal() : null), found, family)
  })
}

function linkLocal(): NodeJS.ErrnoException {
  return Object.assign(new Error('link-local addresses are not allowed'), { code: 'LINK_LOCAL_ADDRESS' })
}

/** Undefined if the body is not JSON and need not be. */
function parsed(bytes: Buffer, isOptional: boolean): unknown {
  try {
    return parseJson(bytes)
  } catch (error) {
    if (isOptional) return undefined
    throw error
  }
}

function requestIdIn(headers: HttpAnswer['headers']): string | undefined {
  const id = headers['x-openstack-request-id'] ?? headers['x-compute-request-id']
  return typeof id === 'string' ? truncate(id, 100) : undefined
}

/** Seconds or a date. */
function retryAfterIn(headers: HttpAnswer['headers']): number | undefined {
  const text = headers['retry-after']
  if (typeof text !== 'string') return undefined
  if (/^\d+$/.test(text)) return Number(text) * 1_000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}
