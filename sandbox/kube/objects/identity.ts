/**
 * Checks that a request body can be decoded and matches the path: version, kind, name and namespace.
 */

import { ApiError, badRequest, fieldError, invalid } from '../api-errors.ts'
import { type ApiObject, type Fields, isRecord, recordOf } from '../json.ts'
import { formatHolds } from '../kinds/formats.ts'
import { apiVersion } from '../kinds/kinds.ts'
import { typeMismatch, undeclared } from '../kinds/schema.ts'
import { typeSchema } from '../kinds/types.ts'
import type { Target } from './target.ts'

/** `patch` is set if the body is the result of a patch. */
export function checkIdentity(body: unknown, target: Target, patch?: string): ApiObject {
  const { kind, version, namespace, name } = target
  if (!isRecord(body)) throw badRequest('the body is not an object')
  const expected = apiVersion(kind.group, version.name)
  if (kind.custom && !body['kind']) {
    throw badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): Object 'Kind' is missing`)
  }
  const given = { apiVersion: expected, kind: kind.kind, ...body }
  if (given.apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${textFrom(given.apiVersion)}) does not match the expected API version (${expected})`,
    )
  }
  if (given.kind !== kind.kind) {
    if (!kind.custom) {
      throw badRequest(`${textFrom(given.kind)} in version "${version.name}" cannot be handled as a ${kind.kind}`)
    }
    throw invalid({ ...kind, kind: textFrom(given.kind) }, name || nameIn(body), [
      fieldError.invalid('kind', given.kind, `must be ${kind.kind}`),
    ])
  }
  const unread = metadataMismatch(body['metadata'], kind.custom ? 'ObjectMeta' : 'ObjectMeta.metadata')
  if (unread !== undefined) throw undecodable(target, unread, patch)
  const metadata = normalizeMetadata(recordOf(body['metadata']))
  if (kind.namespaced && metadata['namespace'] && metadata['namespace'] !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  if (name && !metadata['name']) {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  }
  if (name && metadata['name'] !== name) {
    throw badRequest(
      `the name of the object (${textFrom(metadata['name'])}) does not match the name on the URL (${name})`,
    )
  }
  const full = { ...metadata, name: name || nameIn(body) }
  return { ...given, apiVersion: expected, kind: kind.kind, metadata: full }
}

/** The error for a body that cannot be decoded: 400, or 422 for a patch. */
export function undecodable({ kind, version }: Target, because: string, patch?: string): ApiError {
  if (patch !== undefined) {
    return invalid({ group: '', plural: '', kind: '' }, '', [fieldError.invalid('patch', patch, because)])
  }
  const what = `${kind.kind} in version ${JSON.stringify(version.name)} cannot be handled as a ${kind.kind}`
  return badRequest(`${what}: ${because}`)
}

/** An applied configuration must match the schema; the real server answers 500, too. */
export function checkDeclared(body: unknown, { kind, version }: Target): void {
  if (!isRecord(body)) return
  const { apiVersion: _version, kind: _kind, metadata, ...rest } = body
  const wrong = [...undeclared(metadata, objectMeta(), '.metadata'), ...undeclared(rest, version.schema)]
  if (wrong.length === 0) return
  const what = wrong.length === 1 ? wrong[0] : `errors:\n  ${wrong.join('\n  ')}`
  const { namespace, name } = recordOf(metadata)
  const gvk = `${kind.group}/${version.name}, Kind=${kind.kind}`
  throw new ApiError(
    500,
    '',
    `failed to create typed patch object (${textFrom(namespace ?? '')}/${textFrom(name ?? '')}; ${gvk}): ${what}`,
  )
}

function objectMeta() {
  return typeSchema('ObjectMeta')
}

function metadataMismatch(metadata: unknown, path: string): string | undefined {
  const wrong = typeMismatch(metadata, objectMeta(), path)
  if (wrong !== undefined) return wrong
  const { creationTimestamp, deletionTimestamp } = recordOf(metadata)
  const time = [creationTimestamp, deletionTimestamp].find(
    each => typeof each === 'string' && !formatHolds('date-time', each),
  )
  return time === undefined ? undefined : `parsing time ${JSON.stringify(time)} as "2006-01-02T15:04:05Z07:00"`
}

/** Replaces null by an empty string or record, as Go decodes it. */
function normalizeMetadata(metadata: Fields): Fields {
  const read: Fields = { ...metadata }
  for (const name of ['labels', 'annotations']) {
    const texts = read[name]
    if (isRecord(texts)) read[name] = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, text ?? '']))
  }
  const filled = (name: string, empty: unknown) => {
    const items = read[name]
    if (Array.isArray(items)) read[name] = items.map(item => item ?? empty)
  }
  filled('finalizers', '')
  filled('ownerReferences', {})
  return read
}

/** The value as text; it may be of any type. */
function textFrom(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function nameIn(body: Fields): string {
  return textFrom(recordOf(body['metadata'])['name'] ?? '')
}
