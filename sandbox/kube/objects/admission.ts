/**
 * Turns a request body into the object to store: metadata, subresources, pruning, defaults, field managers, generation,
 * validation.
 */

import { randomUUID } from 'node:crypto'
import { equalJson } from '../../../src/contract/json.ts'
import { ApiError, conflict, type FieldError, fieldError, invalid, modified } from '../api-errors.ts'
import { type ApiObject, copy, isRecord, type Metadata, without } from '../json.ts'
import { ruleErrors } from '../kinds/cel.ts'
import { apiVersion, type KindVersion } from '../kinds/kinds.ts'
import { applyDefaults, prune, typeMismatch, validate } from '../kinds/schema.ts'
import { undecodable } from './identity.ts'
import { managersAfterUpdate, type Writer } from './managers.ts'
import { metadataErrors, nameSuffix, timestamp, withServerMetadata } from './metadata.ts'
import type { Target } from './target.ts'

export interface WriteOptions {
  manager: string
  dryRun?: boolean
  fieldValidation?: 'Ignore' | 'Warn' | 'Strict'
  warn?: (text: string) => void
}

export interface Admission {
  target: Target
  old: ApiObject | undefined
  /** The request body, or the result of a patch. */
  body: ApiObject
  options: WriteOptions
  now: Date
  /** The patch, if the body is the result of one. */
  patch?: string
  /** Computed by apply. */
  managedFields?: Metadata['managedFields']
}

/** The object to store; the identical old object if nothing changes. */
export function admit(admission: Admission): ApiObject {
  const { target, old, body, options, now } = admission
  const { kind, version } = target
  const object = copy(body)
  object.metadata = old
    ? withServerMetadata(copy(body.metadata), old.metadata)
    : newMetadata(body.metadata, target, now)
  if (kind.behaviour.generation && !old) object.metadata.generation = 1
  const scoped = withSubresource(object, target, old)
  const sent = target.subresource === 'status' ? onlyStatus(scoped) : scoped
  if (!kind.custom) checkTypes(sent, admission)
  const unknown: string[] = []
  prune(sent, version.schema, unknown)
  reportUnknownFields(unknown, admission)
  applyDefaults(sent, version.schema)
  kind.behaviour.prepare?.(scoped, old)

  const stored = apiVersion(kind.group, kind.versions[0]?.name ?? version.name)
  const writer = writerOf(target, options, now)
  const withOwners: ApiObject = {
    ...scoped,
    apiVersion: stored,
    kind: kind.kind,
    metadata: {
      ...scoped.metadata,
      managedFields: admission.managedFields ?? managersAfterUpdate(old, scoped, version.schema, writer),
    },
  }
  if (withOwners.metadata.managedFields?.length === 0) delete withOwners.metadata.managedFields
  if (old && equalJson(withOwners, old)) return old
  if (
    old &&
    kind.behaviour.generation &&
    !equalJson(generationFields(withOwners, version), generationFields(old, version))
  ) {
    withOwners.metadata.generation = (old.metadata.generation ?? 0) + 1
  }
  const errors = errorsOf(withOwners, old, target)
  if (errors.length > 0) throw invalid(kind, withOwners.metadata.name, errors)
  return withOwners
}

export function writerOf(target: Target, options: WriteOptions, now: Date): Writer {
  return {
    manager: options.manager,
    apiVersion: apiVersion(target.kind.group, target.version.name),
    subresource: target.subresource,
    hasStatusSubresource: target.version.status,
    time: timestamp(now),
  }
}

/** Throws 409 if the caller has an outdated object. */
export function checkVersion(target: Target, old: ApiObject, metadata: Metadata): void {
  const { uid, resourceVersion } = metadata
  if (uid && uid !== old.metadata.uid) {
    const because = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`
    throw conflict(target.kind, target.name, because)
  }
  if (resourceVersion && resourceVersion !== old.metadata.resourceVersion) {
    throw conflict(target.kind, target.name, modified)
  }
}

function newMetadata(given: Metadata, target: Target, now: Date): Metadata {
  if (given.resourceVersion) {
    throw new ApiError(500, '', 'resourceVersion should not be set on objects to be created')
  }
  const name = given.name || (given.generateName ? `${given.generateName}${nameSuffix()}` : '')
  const metadata = without(copy(given), 'namespace', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation')
  const server = { name, uid: randomUUID(), creationTimestamp: timestamp(now) }
  const { namespace } = target
  return withServerMetadata(
    { ...metadata, name },
    { ...server, ...(namespace !== undefined && { namespace }), ...generated(given) },
  )
}

function generated({ generateName }: Metadata): { generateName?: string } {
  return generateName ? { generateName } : {}
}

/** A write to a subresource changes only that subresource; other writes do not change it. */
function withSubresource(object: ApiObject, target: Target, old: ApiObject | undefined): ApiObject {
  const { subresource, version, kind } = target
  if (subresource === 'status' && old) {
    const { managedFields } = object.metadata
    const metadata = { ...copy(old.metadata), ...(managedFields && { managedFields }) }
    return { ...copy(old), status: object['status'], metadata }
  }
  if (subresource === 'finalize' && old) {
    const spec = isRecord(object['spec']) ? object['spec'] : {}
    return { ...copy(old), spec: { ...(isRecord(old['spec']) ? old['spec'] : {}), finalizers: spec['finalizers'] } }
  }
  // Only /finalize changes the finalizers of a namespace.
  if (kind.group === '' && kind.kind === 'Namespace' && old) object['spec'] = copy(old['spec'])
  if (!version.status || (!old && kind.behaviour.keepsStatusAtCreate)) return object
  const result: ApiObject = { ...object }
  if (old?.['status'] === undefined) delete result['status']
  else result['status'] = copy(old['status'])
  return result
}

/** Built-in kinds are decoded into typed fields before any other check. */
function checkTypes(object: ApiObject, { target, patch }: Admission): void {
  const wrong = typeMismatch(object, target.version.schema)
  if (wrong !== undefined) throw undecodable(target, wrong, patch)
}

/** The rest of the object is unchanged and needs no check. */
function onlyStatus(object: ApiObject): ApiObject {
  if (object['status'] === undefined || object['status'] === null) delete object['status']
  const { apiVersion, kind, metadata, status } = object
  return { apiVersion, kind, metadata: { name: metadata.name }, ...(status !== undefined && { status }) }
}

function reportUnknownFields(unknown: readonly string[], { target, options, patch }: Admission): void {
  if (unknown.length === 0) return
  const named = unknown.toSorted().map(path => `unknown field ${JSON.stringify(path)}`)
  if (options.fieldValidation === 'Strict') {
    throw undecodable(target, `strict decoding error: ${named.join(', ')}`, patch)
  }
  if (options.fieldValidation !== 'Ignore') for (const text of named) options.warn?.(text)
}

/** The fields whose changes increase the generation: all except metadata and the status subresource. */
function generationFields(object: ApiObject, version: KindVersion): Record<string, unknown> {
  return without(object, 'metadata', 'apiVersion', ...(version.status ? ['status'] : []))
}

/** A write to the status is validated with that part of the schema only. */
function schemaErrors(object: ApiObject, old: ApiObject | undefined, { version, subresource }: Target): FieldError[] {
  const { schema } = version
  if (!schema) return []
  const part = schema.properties?.['status']
  if (subresource !== 'status' || !part) return validate(object, schema, old)
  if (object['status'] === undefined) return []
  const errors = validate(object['status'], part, old?.['status'])
  return errors.map(error => ({ ...error, field: error.field ? `status.${error.field}` : 'status' }))
}

/** CEL rules are skipped after these errors. */
const blocking = ['FieldValueRequired', 'FieldValueTypeInvalid', 'FieldValueTooLong', 'FieldValueTooMany']

function errorsOf(object: ApiObject, old: ApiObject | undefined, target: Target): FieldError[] {
  const { kind, version } = target
  const errors = metadataErrors(object, old, kind)
  if (version.schema && kind.custom) {
    errors.push(...schemaErrors(object, old, target))
    if (!errors.some(error => blocking.includes(error.reason))) {
      errors.push(...ruleErrors(object, version.schema, old))
    } else {
      const detail =
        'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'
      errors.push(fieldError.invalid('', null, detail))
    }
  }
  // Kind-specific validation does not cover the status.
  if (target.subresource === 'status') return errors
  return [...errors, ...(kind.behaviour.validate?.(object, old) ?? [])]
}
