/**
 * Errors of calls to Viola.
 */
interface ViolaErrorOptions extends ErrorOptions {
  status?: number
  retryAfterMs?: number | undefined
  knownProviders?: readonly string[] | undefined
}

/** Viola could not be reached, or refused a whole request. */
export class ViolaError extends Error {
  readonly status: number | undefined
  /** How long Viola asked us to wait. */
  readonly retryAfterMs: number | undefined
  /** Viola has no cluster of this provider, and these that we may read. */
  readonly knownProviders: readonly string[] | undefined

  constructor(message: string, { status, retryAfterMs, knownProviders, ...options }: ViolaErrorOptions = {}) {
    super(message, options)
    this.name = 'ViolaError'
    this.status = status
    this.retryAfterMs = retryAfterMs
    this.knownProviders = knownProviders
  }

  /** Viola refused the content: a smaller request may be accepted. */
  get isAboutContent(): boolean {
    return this.status !== undefined && [400, 413, 422].includes(this.status)
  }
}
