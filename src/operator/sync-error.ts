/**
 * Why a sync ended early, in the reason that the Ready condition shows.
 */
import type { SyncReason } from '../contract/reasons/catalogue.ts'
import { ServiceError } from '../http-client/errors.ts'
import { EndpointError } from '../openstack/keystone.ts'
import { messageOf } from '../runtime/errors.ts'

export class SyncError extends Error {
  readonly reason: SyncReason
  /** What the other side asked us to wait. */
  readonly retryAfterMs: number | undefined

  constructor(reason: SyncReason, message: string, options: ErrorOptions & { retryAfterMs?: number | undefined } = {}) {
    super(message, options)
    this.name = 'SyncError'
    this.reason = reason
    this.retryAfterMs = options.retryAfterMs
  }
}

export function configError(mistakes: readonly string[]): SyncError {
  return new SyncError('ConfigError', mistakes.join('; '))
}

/** Does one stage of a sync. Whoever really failed gives the reason: a token may have to be renewed at any stage. */
export async function stage<T>(reason: SyncReason, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw stagedError(reason, error)
  }
}

function stagedError(reason: SyncReason, error: unknown): Error {
  if (error instanceof SyncError) return error
  if (error instanceof EndpointError)
    return new SyncError(reason === 'NovaError' ? reason : 'NeutronEndpointError', error.message, { cause: error })
  if (error instanceof ServiceError) {
    const own = { keystone: 'KeystoneError', contrabass: 'ContrabassError' } as const
    const service = error.service as keyof typeof own
    return new SyncError(own[service] ?? reason, error.message, { cause: error, retryAfterMs: error.retryAfterMs })
  }
  return new SyncError(reason, messageOf(error), { cause: error })
}
