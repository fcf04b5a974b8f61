/**
 * What the services of a cloud say when they refuse, and which refusals are worth another try: decided here only.
 *
 * A message holds the service, the path without its query, the status, the service's own words and the request id; never
 * a header, a body that we sent, or a query of a thousand ids.
 */
export type FailureKind = 'answer' | 'connection' | 'timeout' | 'malformed'

export interface Failure {
  service: string
  kind: FailureKind
  status?: number | undefined
  requestId?: string | undefined
  /** What the service asked us to wait. */
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
 * A read may be asked again after anything that passes by itself. A write only when the service cannot have begun it:
 * it was not reached, or said so itself (429, 503).
 */
export function isWorthRetrying(error: unknown, repeatable: boolean): boolean {
  if (!(error instanceof ServiceError)) return false
  const { kind, status = 0 } = error
  if (kind === 'malformed') return false
  if (kind === 'answer') return repeatable ? passesByItself(status) : status === 429 || status === 503
  return repeatable || (kind === 'connection' && neverArrived(error.cause))
}

/** 501 and 505 apart: the server does not learn it by waiting. */
function passesByItself(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505)
}

function neverArrived(cause: unknown): boolean {
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

/** The service's own words in one of the shapes they have; undefined when there are none worth showing. */
export function wordsOf(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const inner = 'error' in body ? body.error : Object.values(body)[0]
  for (const place of [inner, body]) {
    if (typeof place !== 'object' || place === null) continue
    for (const field of ['message', 'detail', 'returnMessage', 'title'] as const) {
      const words = (place as Record<string, unknown>)[field]
      if (typeof words === 'string' && words !== '') return cut(words, 500)
    }
  }
  return undefined
}

export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
