/**
 * From what a caller sent to what would be stored: new metadata, subresources, pruning, defaults, ownership, generation, checks.
 */

import { randomUUID } from 'node:crypto'
import { equalJson } from '../../../src/contract/json.ts'
import { ApiFailure, conflict, type FieldError, fieldError, invalid, modified } from '../failures.ts'
import { type ApiObject, copy, isRecord, type Metadata, without } from '../json.ts'
import { ruleErrors } from '../kinds/cel.ts'
import { apiVersion, type Kind, type KindVersion } from '../kinds/kinds.ts'
import { defaulted, mistyped, pruned, validated } from '../kinds/schema.ts'
import { undecodable } from './identity.ts'
import { managersAfterUpdate, type Writer } from './managers.ts'
import { keptMetadata, metadataErrors, nameSuffix, timestamp } from './metadata.ts'

/** What a request is about. */
export interface Target {
  kind: Kind
  version: KindVersion
  namespace: string | undefined
  name: string
  subresource: string | undefined
}

export interface WriteOptions {
  manager: string
  dryRun?: boolean
  fieldValidation?: 'Ignore' | 'Warn' | 'Strict'
  warn?: (text: string) => void
}

export interface Admission {
  target: Target
  old: ApiObject | undefined
  /** What was sent, or what a patch made of the old object. */
  body: ApiObject
  options: WriteOptions
  now: Date
  /** The patch that made the body, where one did. */
  patch?: string
  /** Set by apply, which computes them itself. */
  managedFields?: Metadata['managedFields']
}

/** The object to store; the old one itself when nothing changes. */
export function admitted(admission: Admission): ApiObject {
  const { target, old, body, options, now } = admission
  const { kind, version } = target
  const object = copy(body)
  object.metadata = old ? keptMetadata(copy(body.metadata), old.metadata) : newMetadata(body.metadata, target, now)
  if (kind.behaviour.generation && !old) object.metadata.generation = 1
  const scoped = withSubresource(object, target, old)
  const sent = target.subresource === 'status' ? onlyStatus(scoped) : scoped
  if (!kind.custom) checkTypes(sent, admission)
  const unknown: string[] = []
  pruned(sent, version.schema, unknown)
  tellUnknown(unknown, admission)
  defaulted(sent, version.schema)
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
  if (old && kind.behaviour.generation && !equalJson(counted(withOwners, version), counted(old, version))) {
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
    statusApart: target.version.status,
    time: timestamp(now),
  }
}

/** 409 when the caller has read an older object than the one that is there. */
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
    throw new ApiFailure(500, '', 'resourceVersion should not be set on objects to be created')
  }
  const name = given.name || (given.generateName ? `${given.generateName}${nameSuffix()}` : '')
  const metadata = without(copy(given), 'namespace', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation')
  const server = { name, uid: randomUUID(), creationTimestamp: timestamp(now) }
  const { namespace } = target
  return keptMetadata(
    { ...metadata, name },
    { ...server, ...(namespace !== undefined && { namespace }), ...generated(given) },
  )
}

function generated({ generateName }: Metadata): { generateName?: string } {
  return generateName ? { generateName } : {}
}

/** A write to a subresource changes only that; any other write leaves it alone. */
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
  // Only /finalize may let a namespace go.
  if (kind.group === '' && kind.kind === 'Namespace' && old) object['spec'] = copy(old['spec'])
  if (!version.status || (!old && kind.behaviour.keepsStatusAtCreate)) return object
  const kept: ApiObject = { ...object }
  if (old?.['status'] === undefined) delete kept['status']
  else kept['status'] = copy(old['status'])
  return kept
}

/** Built-in kinds are read into typed fields before anything else is looked at. */
function checkTypes(object: ApiObject, { target, patch }: Admission): void {
  const wrong = mistyped(object, target.version.schema)
  if (wrong !== undefined) throw undecodable(target, wrong, patch)
}

/** The rest is as it was and need not be looked at again. */
function onlyStatus(object: ApiObject): ApiObject {
  if (object['status'] === undefined || object['status'] === null) delete object['status']
  const { apiVersion, kind, metadata, status } = object
  return { apiVersion, kind, metadata: { name: metadata.name }, ...(status !== undefined && { status }) }
}

function tellUnknown(unknown: readonly string[], { target, options, patch }: Admission): void {
  if (unknown.length === 0) return
  const named = unknown.toSorted().map(path => `unknown field ${JSON.stringify(path)}`)
  if (options.fieldValidation === 'Strict') {
    throw undecodable(target, `strict decoding error: ${named.join(', ')}`, patch)
  }
  if (options.fieldValidation !== 'Ignore') for (const text of named) options.warn?.(text)
}

/** What a generation counts: all that is neither metadata nor, where it is written on its own, status. */
function counted(object: ApiObject, version: KindVersion): Record<string, unknown> {
  return without(object, 'metadata', 'apiVersion', ...(version.status ? ['status'] : []))
}

/** A write to the status is judged by that part of the schema alone, and its messages start there. */
function schemaErrors(object: ApiObject, old: ApiObject | undefined, { version, subresource }: Target): FieldError[] {
  const { schema } = version
  if (!schema) return []
  const part = schema.properties?.['status']
  if (subresource !== 'status' || !part) return validated(object, schema, old)
  if (object['status'] === undefined) return []
  const errors = validated(object['status'], part, old?.['status'])
  return errors.map(error => ({ ...error, field: error.field ? `status.${error.field}` : 'status' }))
}

/** Errors after which the rules would only repeat what is known. */
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
  // The status is the business of whoever may write it.
  if (target.subresource === 'status') return errors
  return [...errors, ...(kind.behaviour.validate?.(object, old) ?? [])]
}
