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

/** The endpoints of Neutron and Nova are those of the catalog, or replace them. */
function partOf({ service, kind }: ServiceError): CloudPart | undefined {
  const isEndpoint = kind === 'refused' && (service === 'neutron' || service === 'nova')
  return isEndpoint ? 'catalog' : parts[service]
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

/**
 * The error of a service whose endpoint a tenant names, without what a tenant could scan ports or read pages with: a closed
 * port, a refused certificate, a status and a wrong body look alike. An OpenStack service, known by the header of its
 * request id, keeps its status: of it, a user can correct the account.
 */
export function withoutAnswer(error: ServiceError): ServiceError {
  const { service, kind, status, requestId, retryAfterMs } = error
  if (kind === 'refused') return error
  const details = 'the log of the operator has the details'
  if (kind === 'answer' && requestId !== undefined)
    return new ServiceError(`${service}: HTTP ${status}; ${details}`, { service, kind, status, retryAfterMs })
  const check = 'check the endpoint, the account and the CA certificate that the object or its Secret names'
  return new ServiceError(`${service}: no usable answer; ${check}; ${details}`, { service, kind: 'connection' })
}

/** Errors that no service caused, such as an aborted signal, stay as they are unless `otherwise` names a part. */
export function toOpenStackError(error: unknown, { otherwise, advice }: ErrorContext = {}): unknown {
  if (error instanceof OpenStackError) return error
  if (error instanceof EndpointError) return new OpenStackError('catalog', error.message, { cause: error })
  const part = error instanceof ServiceError ? (partOf(error) ?? otherwise) : otherwise
  if (part === undefined) return error
  const retryAfterMs = error instanceof ServiceError ? error.retryAfterMs : undefined
  const message = [messageOf(error), advice].filter(Boolean).join('; ')
  return new OpenStackError(part, message, { cause: error, retryAfterMs })
}
