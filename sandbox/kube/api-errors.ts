/**
 * Error responses of the API server: a Status with reason, code and causes.
 */
export interface Cause {
  reason: string
  message: string
  field?: string
}

export interface Status {
  kind: 'Status'
  apiVersion: 'v1'
  metadata: Record<string, unknown>
  status: 'Success' | 'Failure'
  message?: string
  reason?: string
  details?: {
    name?: string
    group?: string
    kind?: string
    uid?: string
    causes?: Cause[]
    retryAfterSeconds?: number
  }
  code?: number
}

export class ApiError extends Error {
  readonly status: Status

  constructor(code: number, reason: string, message: string, details?: Status['details']) {
    super(message)
    this.name = 'ApiFailure'
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason && { reason }),
      ...(details && { details }),
      code,
    }
  }
}

/** A resource type, as error messages name it. */
export interface ResourceType {
  group: string
  plural: string
  kind: string
}

const qualified = (name: string, group: string) => (group ? `${name}.${group}` : name)

export function resourceName(resource: ResourceType): string {
  return qualified(resource.plural, resource.group)
}

function detailsOf(resource: ResourceType, name: string): { name?: string; group?: string; kind: string } {
  return { ...(name && { name }), ...(resource.group && { group: resource.group }), kind: resource.plural }
}

export function notFound(resource: ResourceType, name: string): ApiError {
  return new ApiError(404, 'NotFound', `${resourceName(resource)} "${name}" not found`, detailsOf(resource, name))
}

/** Sent as plain text instead of a Status: distinguishes an unserved path from a missing object. */
export const pathNotServed = 'PathNotServed'

export function noSuchPath(): ApiError {
  return new ApiError(404, pathNotServed, 'the server could not find the requested resource')
}

/** The same in groups of built-in kinds, which send a Status for every path. */
export function noSuchResource(): ApiError {
  return new ApiError(404, 'NotFound', 'the server could not find the requested resource', {})
}

export function alreadyExists(resource: ResourceType, name: string): ApiError {
  const message = `${resourceName(resource)} "${name}" already exists`
  return new ApiError(409, 'AlreadyExists', message, detailsOf(resource, name))
}

export function conflict(resource: ResourceType, name: string, because: string): ApiError {
  const message = `Operation cannot be fulfilled on ${resourceName(resource)} "${name}": ${because}`
  return new ApiError(409, 'Conflict', message, detailsOf(resource, name))
}

export const modified = 'the object has been modified; please apply your changes to the latest version and try again'

export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message)
}

export function forbidden(resource: ResourceType, name: string, because: string, causes?: Cause[]): ApiError {
  const message = `${resourceName(resource)} "${name}" is forbidden: ${because}`
  return new ApiError(403, 'Forbidden', message, { ...detailsOf(resource, name), ...(causes && { causes }) })
}

export function expired(message: string): ApiError {
  return new ApiError(410, 'Expired', message)
}

/** Why a Pod has no such subresource here, and what to use instead. */
const hints: Record<string, (node: string) => string> = {
  exec: node => `the sandbox runs no commands in containers; open a shell on the node: multinic sandbox shell ${node}`,
  attach: () => 'the sandbox does not attach to containers; read the log: kubectl logs --follow',
  portforward: node =>
    `the sandbox forwards no ports for this client; a Pod has the network of its node: multinic sandbox shell ${node}`,
}

export function isHinted(subresource: string | undefined): subresource is string {
  return subresource !== undefined && subresource in hints
}

export function notInSandbox(subresource: string, node: string): ApiError {
  return new ApiError(501, 'NotImplemented', hints[subresource]?.(node || 'NODE') ?? '')
}

export function methodNotAllowed(): ApiError {
  return new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {})
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`
  return new ApiError(415, 'UnsupportedMediaType', message)
}

export function notAcceptable(offered: readonly string[]): ApiError {
  return new ApiError(406, 'NotAcceptable', `only the following media types are accepted: ${offered.join(', ')}`)
}

export function unauthorized(): ApiError {
  return new ApiError(401, 'Unauthorized', 'Unauthorized')
}

/** One invalid field, with the message of Kubernetes. */
export interface FieldError {
  reason: string
  field: string
  message: string
}

const print = (value: unknown) => JSON.stringify(value) ?? 'null'

export const fieldError = {
  invalid: (field: string, value: unknown, detail: string): FieldError => ({
    reason: 'FieldValueInvalid',
    field,
    message: `Invalid value: ${print(value)}: ${detail}`,
  }),
  /** For objects and arrays: the message does not repeat the value. */
  invalidObject: (field: string, detail: string): FieldError => ({
    reason: 'FieldValueInvalid',
    field,
    message: `Invalid value: ${detail}`,
  }),
  typeInvalid: (field: string, value: unknown, detail: string): FieldError => ({
    reason: 'FieldValueTypeInvalid',
    field,
    message: `Invalid value: ${print(value)}: ${detail}`,
  }),
  required: (field: string, detail = ''): FieldError => ({
    reason: 'FieldValueRequired',
    field,
    message: `Required value${detail && `: ${detail}`}`,
  }),
  forbidden: (field: string, detail: string): FieldError => ({
    reason: 'FieldValueForbidden',
    field,
    message: `Forbidden: ${detail}`,
  }),
  unsupported: (field: string, value: unknown, supported: readonly unknown[]): FieldError => ({
    reason: 'FieldValueNotSupported',
    field,
    message: `Unsupported value: ${print(value)}: supported values: ${supported.map(print).join(', ')}`,
  }),
  notFound: (field: string, value: unknown): FieldError => ({
    reason: 'FieldValueNotFound',
    field,
    message: `Not found: ${print(value)}`,
  }),
  duplicate: (field: string, value: unknown): FieldError => ({
    reason: 'FieldValueDuplicate',
    field,
    message: `Duplicate value: ${print(value)}`,
  }),
  tooLong: (field: string, max: number): FieldError => ({
    reason: 'FieldValueTooLong',
    field,
    message: `Too long: may not be more than ${max} byte${max === 1 ? '' : 's'}`,
  }),
  tooMany: (field: string, actual: number, max: number): FieldError => ({
    reason: 'FieldValueTooMany',
    field,
    message: `Too many: ${actual}: must have at most ${max} item${max === 1 ? '' : 's'}`,
  }),
}

export function invalid(resource: ResourceType, name: string, errors: readonly FieldError[]): ApiError {
  const lines = errors.map(error => `${error.field || '<nil>'}: ${error.message}`)
  const what = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`
  const message = `${qualified(resource.kind, resource.group)} "${name}" is invalid: ${what}`
  const causes = errors.map(({ reason, message, field }) => ({ reason, message, field: field || '<nil>' }))
  return new ApiError(422, 'Invalid', message, {
    ...detailsOf(resource, name),
    kind: resource.kind,
    causes,
  })
}

/** Invalid options of a request; `kind` is the kind of the options. */
export function invalidOptions(kind: string, errors: readonly FieldError[]): ApiError {
  return invalid({ group: 'meta.k8s.io', plural: kind, kind }, '', errors)
}

export function success(resource: ResourceType, name: string, uid: string | undefined): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { ...detailsOf(resource, name), ...(uid && { uid }) },
  }
}
