/**
 * What the API answers when it refuses: a Status of Kubernetes with its reason, code and causes.
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

export class ApiFailure extends Error {
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

/** Where an object lives, as far as a message names it. */
export interface Place {
  group: string
  plural: string
  kind: string
}

const qualified = (name: string, group: string) => (group ? `${name}.${group}` : name)

export function resourceName(place: Place): string {
  return qualified(place.plural, place.group)
}

function detailsOf(place: Place, name: string): { name?: string; group?: string; kind: string } {
  return { ...(name && { name }), ...(place.group && { group: place.group }), kind: place.plural }
}

export function notFound(place: Place, name: string): ApiFailure {
  return new ApiFailure(404, 'NotFound', `${resourceName(place)} "${name}" not found`, detailsOf(place, name))
}

/** No Status is sent for it: that tells a path that is not served from an object that is not there. */
export const nowhere = 'Nowhere'

export function noSuchPath(): ApiFailure {
  return new ApiFailure(404, nowhere, 'the server could not find the requested resource')
}

/** The same where the built-in kinds live, which answer for all paths there. */
export function noSuchResource(): ApiFailure {
  return new ApiFailure(404, 'NotFound', 'the server could not find the requested resource', {})
}

export function alreadyExists(place: Place, name: string): ApiFailure {
  const message = `${resourceName(place)} "${name}" already exists`
  return new ApiFailure(409, 'AlreadyExists', message, detailsOf(place, name))
}

export function conflict(place: Place, name: string, because: string): ApiFailure {
  const message = `Operation cannot be fulfilled on ${resourceName(place)} "${name}": ${because}`
  return new ApiFailure(409, 'Conflict', message, detailsOf(place, name))
}

export const modified = 'the object has been modified; please apply your changes to the latest version and try again'

export function badRequest(message: string): ApiFailure {
  return new ApiFailure(400, 'BadRequest', message)
}

export function forbidden(place: Place, name: string, because: string, causes?: Cause[]): ApiFailure {
  const message = `${resourceName(place)} "${name}" is forbidden: ${because}`
  return new ApiFailure(403, 'Forbidden', message, { ...detailsOf(place, name), ...(causes && { causes }) })
}

export function expired(message: string): ApiFailure {
  return new ApiFailure(410, 'Expired', message)
}

export function methodNotAllowed(): ApiFailure {
  return new ApiFailure(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {})
}

export function unsupportedMediaType(accepted: readonly string[]): ApiFailure {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`
  return new ApiFailure(415, 'UnsupportedMediaType', message)
}

export function notAcceptable(offered: readonly string[]): ApiFailure {
  return new ApiFailure(406, 'NotAcceptable', `only the following media types are accepted: ${offered.join(', ')}`)
}

export function unauthorized(): ApiFailure {
  return new ApiFailure(401, 'Unauthorized', 'Unauthorized')
}

/** One field that is wrong, in the words of Kubernetes. */
export interface FieldError {
  reason: string
  field: string
  message: string
}

const show = (value: unknown) => JSON.stringify(value) ?? 'null'

export const fieldError = {
  invalid: (field: string, value: unknown, detail: string): FieldError => ({
    reason: 'FieldValueInvalid',
    field,
    message: `Invalid value: ${show(value)}: ${detail}`,
  }),
  /** For objects and arrays, whose value is not repeated. */
  broken: (field: string, detail: string): FieldError => ({
    reason: 'FieldValueInvalid',
    field,
    message: `Invalid value: ${detail}`,
  }),
  typeInvalid: (field: string, value: unknown, detail: string): FieldError => ({
    reason: 'FieldValueTypeInvalid',
    field,
    message: `Invalid value: ${show(value)}: ${detail}`,
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
    message: `Unsupported value: ${show(value)}: supported values: ${supported.map(show).join(', ')}`,
  }),
  notFound: (field: string, value: unknown): FieldError => ({
    reason: 'FieldValueNotFound',
    field,
    message: `Not found: ${show(value)}`,
  }),
  duplicate: (field: string, value: unknown): FieldError => ({
    reason: 'FieldValueDuplicate',
    field,
    message: `Duplicate value: ${show(value)}`,
  }),
  tooLong: (field: string, most: number): FieldError => ({
    reason: 'FieldValueTooLong',
    field,
    message: `Too long: may not be more than ${most} byte${most === 1 ? '' : 's'}`,
  }),
  tooMany: (field: string, actual: number, most: number): FieldError => ({
    reason: 'FieldValueTooMany',
    field,
    message: `Too many: ${actual}: must have at most ${most} item${most === 1 ? '' : 's'}`,
  }),
}

export function invalid(place: Place, name: string, errors: readonly FieldError[]): ApiFailure {
  const lines = errors.map(error => `${error.field || '<nil>'}: ${error.message}`)
  const what = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`
  const message = `${qualified(place.kind, place.group)} "${name}" is invalid: ${what}`
  const causes = errors.map(({ reason, message, field }) => ({ reason, message, field: field || '<nil>' }))
  return new ApiFailure(422, 'Invalid', message, {
    ...detailsOf(place, name),
    kind: place.kind,
    causes,
  })
}

/** Options of a request that are wrong, by the name of their kind. */
export function wrongOptions(kind: string, errors: readonly FieldError[]): ApiFailure {
  return invalid({ group: 'meta.k8s.io', plural: kind, kind }, '', errors)
}

export function success(place: Place, name: string, uid: string | undefined): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { ...detailsOf(place, name), ...(uid && { uid }) },
  }
}
