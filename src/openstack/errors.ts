/**
 * The errors of an OpenStack cloud, as the operator's `CloudError`.
 */
import { ServiceError } from '../http-client/errors.ts'
import type { CloudError, CloudPart } from '../operator/cloud.ts'
import { messageOf } from '../runtime/errors.ts'

/** The catalog has no such service in this region and on this interface, or names a host that is not allowed. */
export class EndpointError extends Error {}

export class OpenStackError extends Error implements CloudError {
  override readonly name = 'CloudError'
  readonly part: CloudPart
  readonly retryAfterMs: number | undefined

  constructor(part: CloudPart, message: string, options: ErrorOptions & { retryAfterMs?: number | undefined } = {}) {
    super(message, options)
    this.part = part
    this.retryAfterMs = options.retryAfterMs
  }
}

const parts: Record<string, CloudPart> = {
  contrabass: 'directory',
  keystone: 'identity',
  neutron: 'network',
  nova: 'compute',
}

interface ErrorContext {
  /** The part of an error that no service caused. */
  otherwise?: CloudPart
  /** What the user can do. */
  advice?: string | undefined
}

/** Errors that no service caused, such as an aborted signal, stay as they are unless `otherwise` names a part. */
export function toOpenStackError(error: unknown, { otherwise, advice }: ErrorContext = {}): unknown {
  if (error instanceof OpenStackError) return error
  if (error instanceof EndpointError) return new OpenStackError('catalog', error.message, { cause: error })
  const part = error instanceof ServiceError ? (parts[error.service] ?? otherwise) : otherwise
  if (part === undefined) return error
  const retryAfterMs = error instanceof ServiceError ? error.retryAfterMs : undefined
  const message = [messageOf(error), advice].filter(Boolean).join('; ')
  return new OpenStackError(part, message, { cause: error, retryAfterMs })
}
