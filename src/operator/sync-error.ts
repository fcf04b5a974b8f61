/**
 * The error of a sync, with the reason that the Ready condition shows.
 */
import type { SyncReason } from '../contract/reasons/catalogue.ts'
import { messageOf } from '../runtime/errors.ts'
import { type CloudPart, isCloudError } from './cloud.ts'
import { ViolaError } from './viola-error.ts'

interface SyncErrorOptions extends ErrorOptions {
  retryAfterMs?: number | undefined
  cloudError?: SyncError
}

export class SyncError extends Error {
  readonly reason: SyncReason
  /** How long the service asked us to wait. */
  readonly retryAfterMs: number | undefined
  /** Viola failed, and so did the login to the cloud. */
  readonly cloudError: SyncError | undefined

  constructor(reason: SyncReason, message: string, options: SyncErrorOptions = {}) {
    super(message, options)
    this.name = 'SyncError'
    this.reason = reason
    this.retryAfterMs = options.retryAfterMs
    this.cloudError = options.cloudError
  }
}

export function configError(errors: readonly string[]): SyncError {
  return new SyncError('ConfigError', errors.join('; '))
}

/** Runs one stage of a sync. The service that failed determines the reason: a token may expire in any stage. */
export async function stage<T>(reason: SyncReason, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw stagedError(reason, error)
  }
}

function stagedError(reason: SyncReason, error: unknown): Error {
  if (error instanceof SyncError) return error
  const retryAfterMs = isCloudError(error) || error instanceof ViolaError ? error.retryAfterMs : undefined
  const shown = isCloudError(error) ? reasonOf(error.part, reason) : reason
  return new SyncError(shown, messageOf(error), { cause: error, retryAfterMs })
}

function reasonOf(part: CloudPart, reason: SyncReason): SyncReason {
  if (part === 'directory') return 'ContrabassError'
  if (part === 'identity') return 'KeystoneError'
  return part === 'catalog' && reason !== 'NovaError' ? 'NeutronEndpointError' : reason
}
