/**
 * Validation of metadata, and the metadata fields that the server sets.
 */

import { randomBytes } from 'node:crypto'
import { equalJson } from '../../../src/contract/json.ts'
import { type FieldError, fieldError } from '../api-errors.ts'
import { type ApiObject, isRecord, listOf, type Metadata } from '../json.ts'
import type { Kind } from '../kinds/kinds.ts'

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const subdomain = `${label}(\\.${label})*`
const wholeLabel = new RegExp(`^${label}$`)
const isSubdomain = new RegExp(`^${subdomain}$`)
const qualifiedName = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/

const subdomainDetail = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomain}')`
export const labelDetail = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`
const valueDetail = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`
const keyDetail = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`

export function isLabel(text: string): boolean {
  return text.length <= 63 && wholeLabel.test(text)
}

export function metadataErrors(object: ApiObject, old: ApiObject | undefined, kind: Kind): FieldError[] {
  const { metadata } = object
  return [
    ...nameErrors(metadata.name, kind),
    ...labelErrors(metadata),
    ...ownerErrors(metadata),
    ...(metadata.finalizers ?? []).flatMap(name => finalizerNameErrors(name, kind)),
    ...(old ? finalizerErrors(metadata, old.metadata) : []),
  ]
}

function nameErrors(name: string, kind: Kind): FieldError[] {
  const at = 'metadata.name'
  if (!name) return [fieldError.required(at, 'name or generateName is required')]
  if (kind.behaviour.anyPathName) {
    return /[/%]|^\.\.?$/.test(name) ? [fieldError.invalid(at, name, "may not contain '/' or '%'")] : []
  }
  const isNamespace = kind.group === '' && kind.kind === 'Namespace'
  const max = isNamespace ? 63 : 253
  if (name.length > max) return [fieldError.invalid(at, name, `must be no more than ${max} characters`)]
  if ((isNamespace ? wholeLabel : isSubdomain).test(name)) return []
  return [fieldError.invalid(at, name, isNamespace ? labelDetail : subdomainDetail)]
}

function labelErrors(metadata: Metadata): FieldError[] {
  const errors: FieldError[] = []
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    const name = key.slice(key.indexOf('/') + 1)
    if (!qualifiedName.test(name) || name.length > 63) {
      errors.push(fieldError.invalid('metadata.labels', key, keyDetail))
    }
    if (typeof value !== 'string') errors.push(fieldError.invalid('metadata.labels', value, valueDetail))
    else if (value.length > 63) {
      errors.push(fieldError.invalid('metadata.labels', value, 'must be no more than 63 bytes'))
    } else if (!labelValue.test(value)) errors.push(fieldError.invalid('metadata.labels', value, valueDetail))
  }
  return errors
}

function ownerErrors(metadata: Metadata): FieldError[] {
  const owners = listOf(metadata.ownerReferences).filter(isRecord)
  const errors = owners.flatMap((owner, index) =>
    ['apiVersion', 'kind', 'name', 'uid']
      .filter(name => !owner[name])
      .map(name => fieldError.invalid(`metadata.ownerReferences[${index}].${name}`, '', 'must not be empty')),
  )
  if (owners.filter(owner => owner['controller'] === true).length > 1) {
    errors.push(
      fieldError.invalidObject('metadata.ownerReferences', 'Only one reference can have Controller set to true'),
    )
  }
  return errors
}

/** As in the real server, finalizers of custom resources and CRDs need no domain. */
function finalizerNameErrors(name: string, { custom, group }: Kind): FieldError[] {
  const own = name.slice(name.indexOf('/') + 1)
  if (!qualifiedName.test(own) || own.length > 63) return [fieldError.invalid('metadata.finalizers', name, keyDetail)]
  if (custom || group === 'apiextensions.k8s.io' || name.includes('/') || standardFinalizers.includes(name)) return []
  const detail = 'name is neither a standard finalizer name nor is it fully qualified'
  return [fieldError.invalid('metadata.finalizers', name, detail)]
}

const standardFinalizers = ['kubernetes', 'orphan', 'foregroundDeletion']

function finalizerErrors(metadata: Metadata, old: Metadata): FieldError[] {
  if (!old.deletionTimestamp) return []
  const added = (metadata.finalizers ?? []).filter(name => !(old.finalizers ?? []).includes(name))
  if (added.length === 0) return []
  const named = added.map(name => JSON.stringify(name)).join(', ')
  const detail = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${named}}`
  return [fieldError.forbidden('metadata.finalizers', detail)]
}

/** Five characters without vowels, as the real server appends to generateName. */
export function nameSuffix(): string {
  const letters = 'bcdfghjklmnpqrstvwxz2456789'
  return [...randomBytes(5)].map(byte => letters[byte % letters.length]).join('')
}

/** Replaces fields that only the server may set by those of the old object. */
export function withServerMetadata(next: Metadata, old: Metadata): Metadata {
  const result: Metadata = { ...next }
  for (const name of [
    ...['namespace', 'uid', 'creationTimestamp', 'generation', 'resourceVersion', 'selfLink', 'generateName'],
    ...['deletionTimestamp', 'deletionGracePeriodSeconds'],
  ]) {
    if (old[name] === undefined) delete result[name]
    else result[name] = old[name]
  }
  for (const name of ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const) {
    const value = result[name]
    if (value !== undefined && (value === null || Object.keys(value).length === 0)) delete result[name]
  }
  return equalJson(result, old) ? old : result
}

/** Time with a resolution of seconds, as in Kubernetes. */
export function timestamp(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z')
}
