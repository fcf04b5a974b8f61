/**
 * Errors of HTTP services, and which of them are retried.
 *
 * A message contains the service, the path without its query, the status, the service's own detail and the request id. It
 * never contains a header, a request body or a query.
 */
import { truncate } from '../contract/truncate.ts'

/** `refused`: nothing was sent, because the host is not allowed. */
export type FailureKind = 'answer' | 'connection' | 'timeout' | 'malformed' | 'refused'

export interface Failure {
  service: string
  kind: FailureKind
  status?: number | undefined
  requestId?: string | undefined
  /** How long the service asked us to wait. */
  retryAfterMs?: number | undefined
}

export class ServiceError extends Error {
  readonly service: string
  readonly kind: FailureKind
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(message: string, failure: Failure, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ServiceError'
    this.service = failure.service
    this.kind = failure.kind
    this.status = failure.status
    this.requestId = failure.requestId
    this.retryAfterMs = failure.retryAfterMs
  }
}

/**
 * A read is retried after every transient error. A write is retried only if the service cannot have started it: it was not
 * reached, or it answered 429 or 503.
 */
export function isRetryable(error: unknown, repeatable: boolean): boolean {
  if (!(error instanceof ServiceError)) return false
  const { kind, status = 0 } = error
  if (kind === 'malformed' || kind === 'refused') return false
  if (kind === 'answer') return repeatable ? isTransient(status) : status === 429 || status === 503
  return repeatable || (kind === 'connection' && wasNotReached(error.cause))
}

/** 501 and 505 are permanent. */
function isTransient(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505)
}

function wasNotReached(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return ['ECONNREFUSED', 'EAI_AGAIN', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'].includes(
    code,
  )
}

export function isUnauthorized(error: unknown): boolean {
  return error instanceof ServiceError && error.status === 401
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ServiceError && error.status === 404
}

/** The service's own error text, in one of the formats in use. */
export function detailOf(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const inner = 'error' in body ? body.error : Object.values(body)[0]
  for (const source of [inner, body]) {
    if (typeof source !== 'object' || source === null) continue
    for (const field of ['message', 'detail', 'returnMessage', 'title'] as const) {
      const text = (source as Record<string, unknown>)[field]
      if (typeof text === 'string' && text !== '') return truncate(text, 500)
    }
  }
  return undefined
}
