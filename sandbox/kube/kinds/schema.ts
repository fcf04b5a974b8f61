/**
 * Structural schemas: defaulting, pruning and validation, with the messages of Kubernetes.
 *
 * `applyDefaults` and `prune` change their argument: callers pass a copy.
 */
import { equalJson } from '../../../src/contract/json.ts'
import { type FieldError, fieldError } from '../api-errors.ts'
import { copy, type Fields, isRecord } from '../json.ts'
import { formatHolds } from './formats.ts'

export interface Rule {
  rule: string
  message?: string
  fieldPath?: string
  reason?: string
  optionalOldSelf?: boolean
}

export interface Schema {
  type?: string
  description?: string
  format?: string
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  items?: Schema
  required?: string[]
  enum?: unknown[]
  pattern?: string
  minimum?: number
  maximum?: number
  exclusiveMinimum?: boolean
  exclusiveMaximum?: boolean
  multipleOf?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  minProperties?: number
  maxProperties?: number
  nullable?: boolean
  default?: unknown
  'x-kubernetes-int-or-string'?: boolean
  'x-kubernetes-preserve-unknown-fields'?: boolean
  'x-kubernetes-embedded-resource'?: boolean
  'x-kubernetes-list-type'?: 'atomic' | 'map' | 'set'
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-map-type'?: 'atomic' | 'granular'
  'x-kubernetes-patch-merge-key'?: string
  'x-kubernetes-patch-strategy'?: string
  'x-kubernetes-validations'?: Rule[]
}

/** The schema of a field: from properties or additionalProperties. */
export function fieldSchema(schema: Schema | undefined, name: string): Schema | undefined {
  const declared = schema?.properties?.[name]
  if (declared) return declared
  return isRecord(schema?.additionalProperties) ? schema.additionalProperties : undefined
}

/** The key of an item in a list of type map. */
export function itemKey(item: unknown, keys: readonly string[], schema?: Schema): Fields {
  const key: Fields = {}
  for (const name of keys) {
    const value = isRecord(item) ? (item[name] ?? schema?.properties?.[name]?.default) : undefined
    if (value !== undefined) key[name] = value
  }
  return key
}

/** Sets defaults, and removes nulls of fields that are not nullable. */
export function applyDefaults(value: unknown, schema: Schema | undefined): void {
  if (!schema) return
  if (Array.isArray(value)) {
    for (const item of value) applyDefaults(item, schema.items)
    return
  }
  if (!isRecord(value)) return
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    if (value[name] === null && !field.nullable) delete value[name]
    if (value[name] === undefined && field.default !== undefined) value[name] = copy(field.default)
  }
  for (const name of Object.keys(value)) applyDefaults(value[name], fieldSchema(schema, name))
}

/** Removes fields that are not in the schema and adds their paths to `unknown`. */
export function prune(value: unknown, schema: Schema | undefined, unknown: string[], path = ''): void {
  if (!schema) return
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      prune(item, schema.items, unknown, `${path}[${index}]`)
    })
    return
  }
  if (!isRecord(value)) return
  const keepsAll = schema['x-kubernetes-preserve-unknown-fields'] || schema.additionalProperties === true
  const isObject = path === '' || schema['x-kubernetes-embedded-resource']
  for (const name of Object.keys(value)) {
    const field = fieldSchema(schema, name)
    if (isObject && !field && ['apiVersion', 'kind', 'metadata'].includes(name)) continue
    const at = path ? `${path}.${name}` : name
    if (field) prune(value[name], field, unknown, at)
    else if (!keepsAll) {
      delete value[name]
      unknown.push(at)
    }
  }
}

/** Fields of an applied value that are undeclared or have the wrong type. */
export function undeclared(value: unknown, schema: Schema | undefined, path = ''): string[] {
  if (!schema || value === null || value === undefined) return []
  if (!typeHolds(value, schema)) {
    return [`${path}: expected ${appliedTypes[schema.type ?? ''] ?? schema.type}, got ${typeName(value)}`]
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => undeclared(item, schema.items, `${path}[${index}]`))
  if (!isRecord(value)) return []
  const keepsAll = schema['x-kubernetes-preserve-unknown-fields'] || schema.additionalProperties === true
  return Object.keys(value).flatMap(name => {
    const field = fieldSchema(schema, name)
    if (field) return undeclared(value[name], field, `${path}.${name}`)
    return keepsAll ? [] : [`${path}.${name}: field not declared in schema`]
  })
}

const appliedTypes: Record<string, string> = {
  ...{ object: 'map', array: 'list', integer: 'numeric (int or float)', number: 'numeric (int or float)' },
}

/** The first value with the wrong type, with the decoding error of the real server. */
export function typeMismatch(value: unknown, schema: Schema | undefined, path = ''): string | undefined {
  if (!schema || value === null || value === undefined) return undefined
  if (!typeHolds(value, schema)) {
    const expected = goTypes[schema.type ?? ''] ?? schema.type
    return `json: cannot unmarshal ${jsonTypes[typeName(value)]} into Go struct field ${path} of type ${expected}`
  }
  if (Array.isArray(value)) return firstOf(value, item => typeMismatch(item, schema.items, path))
  if (!isRecord(value)) return undefined
  return firstOf(Object.keys(value), name => {
    return typeMismatch(value[name], fieldSchema(schema, name), path ? `${path}.${name}` : name)
  })
}

const goTypes: Record<string, string> = { integer: 'int32', boolean: 'bool', object: 'map', array: 'slice' }
const jsonTypes: Record<string, string> = {
  ...{ string: 'string', integer: 'number', number: 'number', boolean: 'bool', array: 'array', object: 'object' },
}

function firstOf<T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * All invalid fields. As in the real server, values that an update does not change are not validated again: an object that
 * is invalid under a new schema can still be changed elsewhere.
 */
export function validate(value: unknown, schema: Schema, old?: unknown): FieldError[] {
  const errors: FieldError[] = []
  check(value, schema, old, '', errors)
  return errors
}

function check(value: unknown, schema: Schema, old: unknown, path: string, errors: FieldError[]): void {
  if (old !== undefined && equalJson(old, value)) return
  if (value === null && schema.nullable) return
  if (!typeHolds(value, schema)) {
    const actual = typeName(value)
    const expected = schema['x-kubernetes-int-or-string'] ? 'integer,string' : schema.type
    errors.push(fieldError.typeInvalid(path, actual, `${path} in body must be of type ${expected}: "${actual}"`))
    return
  }
  if (schema.enum && !schema.enum.some(one => equalJson(one, value))) {
    errors.push(fieldError.unsupported(path, value, schema.enum))
  }
  if (typeof value === 'string') checkText(value, schema, path, errors)
  else if (typeof value === 'number') checkNumber(value, schema, path, errors)
  else if (Array.isArray(value)) checkList(value, schema, old, path, errors)
  else if (isRecord(value)) checkFields(value, schema, old, path, errors)
}

function checkText(value: string, schema: Schema, path: string, errors: FieldError[]): void {
  const wrong = (detail: string) => errors.push(fieldError.invalid(path, value, `${path} in body ${detail}`))
  const { minLength, maxLength, pattern, format } = schema
  const length = minLength === undefined && maxLength === undefined ? 0 : [...value].length
  if (maxLength !== undefined && length > maxLength) errors.push(fieldError.tooLong(path, maxLength))
  if (minLength !== undefined && length < minLength) wrong(`should be at least ${minLength} chars long`)
  if (pattern !== undefined && !regularExpression(pattern).test(value)) wrong(`should match '${pattern}'`)
  if (format !== undefined && !formatHolds(format, value)) {
    const detail = `${path} in body must be of type ${format}: ${JSON.stringify(value)}`
    errors.push(fieldError.typeInvalid(path, value, detail))
  }
}

function checkNumber(value: number, schema: Schema, path: string, errors: FieldError[]): void {
  const wrong = (detail: string) => errors.push(fieldError.invalid(path, value, `${path} in body should be ${detail}`))
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum)) {
    wrong(`greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`)
  }
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum)) {
    wrong(`less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`)
  }
  if (multipleOf !== undefined && value % multipleOf !== 0) wrong(`a multiple of ${multipleOf}`)
}

function checkList(value: unknown[], schema: Schema, old: unknown, path: string, errors: FieldError[]): void {
  const { minItems, maxItems, items } = schema
  if (maxItems !== undefined && value.length > maxItems) errors.push(fieldError.tooMany(path, value.length, maxItems))
  if (minItems !== undefined && value.length < minItems) {
    errors.push(fieldError.invalid(path, value.length, `${path} in body should have at least ${minItems} items`))
  }
  const before = oldItems(schema, old)
  const seen = new Set<string>()
  value.forEach((item, index) => {
    const at = `${path}[${index}]`
    const identity = identityOf(item, schema)
    if (identity !== undefined) {
      if (seen.has(identity)) errors.push(fieldError.duplicate(at, JSON.parse(identity)))
      seen.add(identity)
    }
    if (items) check(item, items, identity === undefined ? undefined : before.get(identity), at, errors)
  })
}

function checkFields(value: Fields, schema: Schema, old: unknown, path: string, errors: FieldError[]): void {
  const at = (name: string) => (path ? `${path}.${name}` : name)
  for (const name of schema.required ?? []) {
    if (value[name] === undefined) errors.push(fieldError.required(at(name)))
  }
  const count = Object.keys(value).length
  const { minProperties, maxProperties } = schema
  if (maxProperties !== undefined && count > maxProperties) errors.push(fieldError.tooMany(path, count, maxProperties))
  if (minProperties !== undefined && count < minProperties) {
    errors.push(fieldError.invalid(path, count, `${path} in body should have at least ${minProperties} properties`))
  }
  for (const name of Object.keys(value)) {
    const field = fieldSchema(schema, name)
    if (field) check(value[name], field, isRecord(old) ? old[name] : undefined, at(name), errors)
  }
}

function identityOf(item: unknown, schema: Schema): string | undefined {
  if (schema['x-kubernetes-list-type'] === 'set') return JSON.stringify(item)
  if (schema['x-kubernetes-list-type'] !== 'map') return undefined
  return JSON.stringify(itemKey(item, schema['x-kubernetes-list-map-keys'] ?? [], schema.items))
}

/** The items of a list before the update by their identity. Empty for atomic lists. */
export function oldItems(schema: Schema, old: unknown): Map<string, unknown> {
  const items = new Map<string, unknown>()
  if (!Array.isArray(old)) return items
  for (const item of old) {
    const identity = identityOf(item, schema)
    if (identity !== undefined) items.set(identity, item)
  }
  return items
}

export function oldItem(item: unknown, schema: Schema, items: Map<string, unknown>): unknown {
  const identity = identityOf(item, schema)
  return identity === undefined ? undefined : items.get(identity)
}

function typeHolds(value: unknown, schema: Schema): boolean {
  if (schema['x-kubernetes-int-or-string']) return typeof value === 'string' || Number.isInteger(value)
  const actual = typeName(value)
  return schema.type === undefined || schema.type === actual || (schema.type === 'number' && actual === 'integer')
}

function typeName(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

const expressions = new Map<string, RegExp>()

/** Converts a Go regular expression: only the leading flags have another syntax. */
export function regularExpression(pattern: string): RegExp {
  let found = expressions.get(pattern)
  if (!found) {
    const flags = /^\(\?([ims]+)\)/.exec(pattern)
    found = new RegExp(flags ? pattern.slice(flags[0].length) : pattern, `u${flags?.[1] ?? ''}`)
    expressions.set(pattern, found)
  }
  return found
}
