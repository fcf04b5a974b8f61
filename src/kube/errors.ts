/**
 * Errors of a Kubernetes API, and which of them are retryable.
 *
 * All predicates look through wrapped errors (`explain`).
 */
export interface StatusDetails {
  name?: string
  group?: string
  kind?: string
  uid?: string
  causes?: { reason?: string; message?: string; field?: string }[]
  retryAfterSeconds?: number
}

export class KubeError extends Error {
  /** The HTTP status. */
  readonly status: number
  /** The reason of the server: NotFound, AlreadyExists, Conflict, Invalid, Forbidden, Expired, … */
  readonly reason: string
  declare readonly details?: StatusDetails
  /** The body, if the server did not send a `Status`. */
  declare readonly body?: unknown
  /** Retry-After in seconds. */
  declare readonly retryAfter?: number

  constructor(
    status: number,
    reason: string,
    message: string,
    more: { details?: StatusDetails | undefined; retryAfter?: number | undefined; body?: unknown } = {},
  ) {
    super(message)
    this.name = 'KubeError'
    this.status = status
    this.reason = reason
    if (more.details !== undefined) this.details = more.details
    if (more.body !== undefined) this.body = more.body
    const retryAfter = more.retryAfter ?? more.details?.retryAfterSeconds
    if (retryAfter !== undefined) this.retryAfter = retryAfter
  }
}

/** From the body of a response: a `Status`, or whatever a proxy returned instead. */
export function kubeErrorFrom(status: number, body: unknown, retryAfter?: number): KubeError {
  if (isStatus(body)) {
    const code = body.code ?? status
    const reason = body.reason || (reasonFor[code] ?? 'Unknown')
    return new KubeError(code, reason, body.message || reason, { details: body.details, retryAfter })
  }
  const text = typeof body === 'string' ? body.trim().slice(0, 200) : ''
  const reason = reasonFor[status] ?? 'Unknown'
  return new KubeError(status, reason, text ? `HTTP ${status}: ${text}` : `HTTP ${status}`, { retryAfter, body })
}

export interface Status {
  kind: 'Status'
  code?: number
  reason?: string
  message?: string
  details?: StatusDetails
}

export function isStatus(body: unknown): body is Status {
  return typeof body === 'object' && body !== null && 'kind' in body && body.kind === 'Status'
}

const reasonFor: Record<number, string> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Gone',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
}

export function isNotFound(error: unknown): boolean {
  return kubeErrorIn(error)?.status === 404
}

/** The object has changed, or another field manager owns the field. Not AlreadyExists. */
export function isConflict(error: unknown): boolean {
  const found = kubeErrorIn(error)
  return found?.status === 409 && found.reason !== 'AlreadyExists'
}

export function isAlreadyExists(error: unknown): boolean {
  const found = kubeErrorIn(error)
  return found?.status === 409 && found.reason === 'AlreadyExists'
}

/** The resourceVersion (or the continue token) is too old: list again. */
export function isGone(error: unknown): boolean {
  return kubeErrorIn(error)?.status === 410
}

export function isForbidden(error: unknown): boolean {
  return kubeErrorIn(error)?.status === 403
}

export function isInvalid(error: unknown): boolean {
  return kubeErrorIn(error)?.status === 422
}

/** The server does not have this resourceVersion yet, and never will if it was restored from a backup. */
export function isFromTheFuture(error: unknown): boolean {
  const causes = kubeErrorIn(error)?.details?.causes ?? []
  return causes.some(cause => cause.reason === 'ResourceVersionTooLarge')
}

/** Connection errors, timeouts, 429 and 5xx except 501 (not implemented). */
export function isRetryable(error: unknown): boolean {
  const found = kubeErrorIn(error)
  if (found) return found.status === 429 || (found.status >= 500 && found.status !== 501)
  return causesOf(error).some(cause => 'code' in cause && connectionCodes.has(String(cause.code)))
}

export function kubeErrorIn(error: unknown): KubeError | undefined {
  return causesOf(error).find(cause => cause instanceof KubeError)
}

export function timedOut(message: string): Error {
  return Object.assign(new Error(message), { code: 'ETIMEDOUT' })
}

const connectionCodes = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'EPROTO',
  'ETIMEDOUT',
  'HPE_INVALID_EOF_STATE',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_SOCKET',
])

function causesOf(error: unknown): Error[] {
  const chain: Error[] = []
  for (let at = error; at instanceof Error && chain.length < 10; at = at.cause) {
    chain.push(at)
    if (at instanceof AggregateError) chain.push(...at.errors.filter(one => one instanceof Error))
  }
  return chain
}
