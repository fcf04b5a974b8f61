/**
 * HTTP towards one service: time-outs, bounded retries with jitter, bounded bodies, no redirects, a number for each call.
 *
 * Redirects are never followed, because the next host would be given our token. Bodies are read as JSON, and never
 * unpacked. Link-local addresses are never asked: the metadata service of the machine would answer there.
 */
import { type LookupAddress, type LookupOptions, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { Agent, type Dispatcher, EnvHttpProxyAgent, request as send } from 'undici'
import { isLinkLocal, urlOf } from '../contract/url.ts'
import { retry } from '../runtime/retry.ts'
import { cut, isWorthRetrying, ServiceError, wordsOf } from './errors.ts'

export interface Call {
  service: string
  method: string
  /** `2xx` to `5xx`, or `error` when there was no answer. */
  status: string
  seconds: number
}

export interface Tls {
  ca?: string | undefined
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
  /** Tries in all, the first included. */
  attempts?: number
  /** The longest wait before another try, whatever the service asks for. */
  longestWaitMs?: number
  maxBodyBytes?: number
  connections?: number
  onCall?: ((call: Call) => void) | undefined
  random?: () => number
}

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  headers?: Record<string, string>
  body?: unknown
  signal?: AbortSignal | undefined
  /** Doing it twice is as good as once. Default: GET and DELETE. */
  repeatable?: boolean
  /** Statuses that are an answer and no failure. Default: 200 to 299. */
  accept?: (status: number) => boolean
  /** A 2xx whose body is no JSON is taken, with no body. */
  anyBody?: boolean
  /** The caller reads the bytes of a 2xx itself: it may know them already. */
  unread?: boolean
}

export interface HttpAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** As they came. */
  bytes: Buffer
  body: unknown
}

export interface Http {
  readonly service: string
  request(request: HttpRequest): Promise<HttpAnswer>
  close(): Promise<void>
}

const connectTimeoutMs = 5_000
/** Of more than 31 bits a timer makes 1 ms. */
const longestTimeoutMs = 2 ** 31 - 10_000

export function createHttp(options: HttpOptions): Http {
  const { service, attempts = 3, longestWaitMs = 10_000, onCall, random = Math.random } = options
  const maxBodyBytes = options.maxBodyBytes ?? 64 * 1024 * 1024
  const timeoutMs = Math.min(options.timeoutMs, longestTimeoutMs)
  const dispatcher = dispatcherFor({ ...options, timeoutMs })

  async function once(request: HttpRequest): Promise<HttpAnswer> {
    const { method, url, headers = {}, body, accept = (status: number) => status >= 200 && status < 300 } = request
    const started = performance.now()
    const limit = AbortSignal.timeout(timeoutMs)
    const signal = request.signal ? AbortSignal.any([request.signal, limit]) : limit
    let status = 'error'
    try {
      if (isLinkLocal(urlOf(url)?.hostname ?? '')) throw linkLocal()
      const answer = await send(url, {
        dispatcher,
        method,
        signal,
        headers: { accept: 'application/json', ...(body !== undefined && jsonHeaders), ...headers },
        body: body === undefined ? null : JSON.stringify(body),
      })
      status = `${Math.floor(answer.statusCode / 100)}xx`
      const bytes = await readBounded(answer.body, maxBodyBytes, where(request))
      return judged(request, answer.statusCode, answer.headers, bytes, accept)
    } catch (error) {
      throw error instanceof ServiceError ? error : unanswered(request, error, limit.aborted)
    } finally {
      onCall?.({ service, method, status, seconds: (performance.now() - started) / 1_000 })
    }
  }

  function judged(
    request: HttpRequest,
    status: number,
    headers: HttpAnswer['headers'],
    bytes: Buffer,
    accept: (status: number) => boolean,
  ): HttpAnswer {
    if (request.unread && status < 300 && accept(status)) return { status, headers, bytes, body: undefined }
    const body = parsed(bytes.toString('utf8'))
    if (accept(status)) {
      if (body === undefined && bytes.length > 0 && status < 300 && !request.anyBody)
        throw new ServiceError(`${where(request)}: the answer is not JSON`, { service, kind: 'malformed', status })
      return { status, headers, bytes, body }
    }
    const requestId = requestIdIn(headers)
    const words = wordsOf(body)
    const message = [`${where(request)}: HTTP ${status}`, words, requestId && `(request ${requestId})`]
    throw new ServiceError(message.filter(Boolean).join(' '), {
      service,
      kind: 'answer',
      status,
      requestId,
      retryAfterMs: retryAfterIn(headers),
    })
  }

  function unanswered(request: HttpRequest, error: unknown, late: boolean): Error {
    if (late)
      return new ServiceError(`${where(request)}: no answer within ${timeoutMs / 1_000} s`, {
        service,
        kind: 'timeout',
      })
    if (request.signal?.aborted) return error instanceof Error ? error : new Error('stopped')
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'connection failed'
    return new ServiceError(`${where(request)}: ${code}`, { service, kind: 'connection' }, { cause: error })
  }

  /** The host and the path: a query may hold hundreds of ids. */
  function where({ method, url }: HttpRequest): string {
    const at = urlOf(url)
    return cut(`${service}: ${method} ${at ? `${at.host}${at.pathname}` : 'an address that is no URL'}`, 300)
  }

  return {
    service,
    async request(request) {
      const repeatable = request.repeatable ?? (request.method === 'GET' || request.method === 'DELETE')
      const retryAfterMs = (error: unknown) => (error instanceof ServiceError ? error.retryAfterMs : undefined)
      return retry(() => once(request), {
        ...{ attempts, firstMs: 200, maxMs: longestWaitMs, signal: request.signal, random, retryAfterMs },
        // After a longer Retry-After the next sync repeats the request.
        isRetryable: error => isWorthRetrying(error, repeatable) && (retryAfterMs(error) ?? 0) <= longestWaitMs,
      })
    },
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
    connect: { timeout: Math.min(connectTimeoutMs, timeoutMs), lookup: lookUp, ...secure },
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

/** Names too: whoever may name a host may have its name lead anywhere. */
function lookUp(host: string, options: LookupOptions, done: Parameters<LookupFunction>[2]): void {
  lookup(host, options, (error: NodeJS.ErrnoException | null, found: string | LookupAddress[], family?: number) => {
    const all = typeof found === 'string' ? [found] : (found ?? []).map(({ address }) => address)
    done(error ?? (all.some(isLinkLocal) ? linkLocal() : null), found, family)
  })
}

function linkLocal(): NodeJS.ErrnoException {
  return Object.assign(new Error('link-local addresses are not asked'), { code: 'LINK_LOCAL_ADDRESS' })
}

async function readBounded(body: AsyncIterable<Buffer>, limit: number, where: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > limit) {
      const service = where.split(':', 1)[0] ?? ''
      throw new ServiceError(`${where}: the answer is longer than ${limit} bytes`, { service, kind: 'malformed' })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function requestIdIn(headers: HttpAnswer['headers']): string | undefined {
  const id = headers['x-openstack-request-id'] ?? headers['x-compute-request-id']
  return typeof id === 'string' ? cut(id, 100) : undefined
}

/** Seconds or a date. */
function retryAfterIn(headers: HttpAnswer['headers']): number | undefined {
  const text = headers['retry-after']
  if (typeof text !== 'string') return undefined
  if (/^\d+$/.test(text)) return Number(text) * 1_000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}
