/**
 * Whether what a caller sent can be read at all, and is what the path names: its version, its kind, its metadata.
 */

import { ApiFailure, badRequest, fieldError, invalid } from '../failures.ts'
import { type ApiObject, type Fields, isRecord, recordOf } from '../json.ts'
import { formatHolds } from '../kinds/formats.ts'
import { apiVersion } from '../kinds/kinds.ts'
import { mistyped, undeclared } from '../kinds/schema.ts'
import { typeSchema } from '../kinds/types.ts'
import type { Target } from './admission.ts'

/** With the patch, where it was one that made the body. */
export function checkIdentity(body: unknown, target: Target, patch?: string): ApiObject {
  const { kind, version, namespace, name } = target
  if (!isRecord(body)) throw badRequest('the body is no object')
  const wanted = apiVersion(kind.group, version.name)
  if (kind.custom && !body['kind']) {
    throw badRequest(`the object provided is unrecognized (must be of type ${kind.kind}): Object 'Kind' is missing`)
  }
  const given = { apiVersion: wanted, kind: kind.kind, ...body }
  if (given.apiVersion !== wanted) {
    throw badRequest(
      `the API version in the data (${said(given.apiVersion)}) does not match the expected API version (${wanted})`,
    )
  }
  if (given.kind !== kind.kind) {
    if (!kind.custom) {
      throw badRequest(`${said(given.kind)} in version "${version.name}" cannot be handled as a ${kind.kind}`)
    }
    throw invalid({ ...kind, kind: said(given.kind) }, name || nameIn(body), [
      fieldError.invalid('kind', given.kind, `must be ${kind.kind}`),
    ])
  }
  const unread = unreadMetadata(body['metadata'], kind.custom ? 'ObjectMeta' : 'ObjectMeta.metadata')
  if (unread !== undefined) throw undecodable(target, unread, patch)
  const metadata = readMetadata(recordOf(body['metadata']))
  if (kind.namespaced && metadata['namespace'] && metadata['namespace'] !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  if (name && !metadata['name']) {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  }
  if (name && metadata['name'] !== name) {
    throw badRequest(`the name of the object (${said(metadata['name'])}) does not match the name on the URL (${name})`)
  }
  const full = { ...metadata, name: name || nameIn(body) }
  return { ...given, apiVersion: wanted, kind: kind.kind, metadata: full }
}

/** What cannot be read into the fields of its kind: a bad request, or a bad patch. */
export function undecodable({ kind, version }: Target, because: string, patch?: string): ApiFailure {
  if (patch !== undefined) {
    return invalid({ group: '', plural: '', kind: '' }, '', [fieldError.invalid('patch', patch, because)])
  }
  const what = `${kind.kind} in version ${JSON.stringify(version.name)} cannot be handled as a ${kind.kind}`
  return badRequest(`${what}: ${because}`)
}

/** What is applied must fit before it can be laid over anything; the real server answers 500 too. */
export function checkDeclared(body: unknown, { kind, version }: Target): void {
  if (!isRecord(body)) return
  const { apiVersion: _version, kind: _kind, metadata, ...rest } = body
  const wrong = [...undeclared(metadata, objectMeta(), '.metadata'), ...undeclared(rest, version.schema)]
  if (wrong.length === 0) return
  const what = wrong.length === 1 ? wrong[0] : `errors:\n  ${wrong.join('\n  ')}`
  const { namespace, name } = recordOf(metadata)
  const gvk = `${kind.group}/${version.name}, Kind=${kind.kind}`
  throw new ApiFailure(
    500,
    '',
    `failed to create typed patch object (${said(namespace ?? '')}/${said(name ?? '')}; ${gvk}): ${what}`,
  )
}

function objectMeta() {
  return typeSchema('ObjectMeta')
}

function unreadMetadata(metadata: unknown, path: string): string | undefined {
  const wrong = mistyped(metadata, objectMeta(), path)
  if (wrong !== undefined) return wrong
  const { creationTimestamp, deletionTimestamp } = recordOf(metadata)
  const time = [creationTimestamp, deletionTimestamp].find(
    each => typeof each === 'string' && !formatHolds('date-time', each),
  )
  return time === undefined ? undefined : `parsing time ${JSON.stringify(time)} as "2006-01-02T15:04:05Z07:00"`
}

/** Where a text is wanted, null is an empty one; where a record is, an empty record. */
function readMetadata(metadata: Fields): Fields {
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

/** Whatever was sent in place of a text. */
function said(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function nameIn(body: Fields): string {
  return said(recordOf(body['metadata'])['name'] ?? '')
}
