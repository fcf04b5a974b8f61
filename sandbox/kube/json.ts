/**
 * JSON values of the store, which are never changed in place, and the fields that every object has.
 */
import type { OwnerReference } from '../../src/contract/object.ts'

export type { OwnerReference }
export type Fields = Record<string, unknown>

export interface ManagedFields {
  manager: string
  operation: 'Apply' | 'Update'
  apiVersion: string
  time: string
  fieldsType: 'FieldsV1'
  fieldsV1: Fields
  subresource?: string
}

export interface Metadata {
  name: string
  namespace?: string
  generateName?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  finalizers?: string[]
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  managedFields?: ManagedFields[]
  [field: string]: unknown
}

export interface ApiObject {
  apiVersion: string
  kind: string
  metadata: Metadata
  [field: string]: unknown
}

export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value if it is a record, otherwise an empty record. For objects of unknown shape. */
export function recordOf(value: unknown): Fields {
  return isRecord(value) ? value : {}
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function numberOf(value: unknown, otherwise = 0): number {
  return typeof value === 'number' ? value : otherwise
}

export function valueAt(value: unknown, ...path: string[]): unknown {
  let at = value
  for (const step of path) {
    if (!isRecord(at)) return undefined
    at = at[step]
  }
  return at
}

/** A deep copy. */
export function copy<T>(value: T): T
export function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(item => copy(item))
  if (!isRecord(value)) return value
  const result: Fields = {}
  for (const key in value) if (value[key] !== undefined) result[key] = copy(value[key])
  return result
}

/** A copy of the record without some keys. */
export function without(record: Fields, ...keys: string[]): Fields {
  const result: Fields = {}
  for (const key in record) if (!keys.includes(key)) result[key] = record[key]
  return result
}

/** A copy with sorted keys, as Go serializes maps. */
export function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (!isRecord(value)) return value
  const keys = Object.keys(value).sort()
  return Object.fromEntries(keys.map(key => [key, ordered(value[key])]))
}
