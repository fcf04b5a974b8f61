/**
 * CEL validation rules of a schema (x-kubernetes-validations), with the Kubernetes extension functions used here.
 */

import { isIP } from 'node:net'
import { Environment } from '@marcbachmann/cel-js'
import { equalJson } from '../../../src/contract/json.ts'
import { messageOf } from '../../../src/runtime/errors.ts'
import { type FieldError, fieldError } from '../api-errors.ts'
import { type Fields, isRecord } from '../json.ts'
import { isCidr } from './formats.ts'
import { fieldSchema, oldItem, oldItems, type Rule, regularExpression, type Schema } from './schema.ts'

type Numbers = readonly (bigint | number)[]

const celEnvironment = new Environment({
  unlistedVariablesAreDyn: true,
  enableOptionalTypes: true,
  homogeneousAggregateLiterals: false,
})
  .registerFunction('isIP(string): bool', (text: string) => isIP(text) !== 0)
  .registerFunction('isCIDR(string): bool', isCidr)
  .registerFunction(
    'string.find(string): string',
    (text: string, regex: string) => regularExpression(regex).exec(text)?.[0] ?? '',
  )
  .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) =>
    text.replaceAll(from, to),
  )
  .registerFunction('list.isSorted(): bool', (list: Numbers) =>
    list.every((one, at) => at === 0 || (list[at - 1] ?? one) <= one),
  )
  .registerFunction('list.sum(): int', (list: readonly bigint[]) => list.reduce((sum, one) => sum + one, 0n))
  .registerFunction('list.min(): dyn', (list: Numbers) => list.reduce((least, one) => (one < least ? one : least)))
  .registerFunction('list.max(): dyn', (list: Numbers) => list.reduce((most, one) => (one > most ? one : most)))

interface Compiled {
  rule: Rule
  usesOld: boolean
  run: (context: Record<string, unknown>) => unknown
}

const compiled = new WeakMap<Schema, Compiled[]>()
const anyRules = new WeakMap<Schema, boolean>()

/** Throws on an invalid rule, so that the CRD is rejected. */
export function compile(schema: Schema): Compiled[] {
  const known = compiled.get(schema)
  if (known) return known
  const rules = (schema['x-kubernetes-validations'] ?? []).map(rule => {
    const run = celEnvironment.parse(rule.rule)
    return { rule, usesOld: /\boldSelf\b/.test(rule.rule), run: (context: Record<string, unknown>) => run(context) }
  })
  compiled.set(schema, rules)
  return rules
}

/** Violations of the rules. `old` is the value before an update; rules with oldSelf apply only then. */
export function ruleErrors(value: unknown, schema: Schema, old?: unknown): FieldError[] {
  const errors: FieldError[] = []
  checkRules(value, schema, old, '', errors)
  return errors
}

function checkRules(value: unknown, schema: Schema, old: unknown, path: string, errors: FieldError[]): void {
  if (value === undefined || value === null || !hasRules(schema)) return
  runRules(value, schema, old, path, errors)
  if (Array.isArray(value)) {
    const { items } = schema
    if (!items) return
    const before = oldItems(schema, old)
    value.forEach((item, index) => {
      checkRules(item, items, oldItem(item, schema, before), `${path}[${index}]`, errors)
    })
  } else if (isRecord(value)) {
    for (const name of Object.keys(value)) {
      const field = fieldSchema(schema, name)
      const before = isRecord(old) ? old[name] : undefined
      if (field) checkRules(value[name], field, before, path ? `${path}.${name}` : name, errors)
    }
  }
}

function runRules(value: unknown, schema: Schema, old: unknown, path: string, errors: FieldError[]): void {
  const rules = compile(schema)
  if (rules.length === 0) return
  const unchanged = old !== undefined && equalJson(old, value)
  let self: unknown
  for (const { rule, usesOld, run } of rules) {
    if (usesOld ? old === undefined && !rule.optionalOldSelf : unchanged) continue
    self ??= celValue(value, schema)
    const at = `${path}${rule.fieldPath ?? ''}`.replace(/^\./, '')
    const ruleText = rule.message?.trim() || rule.rule.trim()
    try {
      const context: Record<string, unknown> = usesOld ? { self, oldSelf: celValue(old, schema) } : { self }
      if (run(context) === true) continue
      const detail = rule.message?.trim() || `failed rule: ${rule.rule.trim()}`
      errors.push(failureOf(rule, at, value, detail))
    } catch (error) {
      const what = messageOf(error).split('\n')[0]
      errors.push(fieldError.invalid(at, schema.type ?? '', `${what} evaluating rule: ${ruleText}`))
    }
  }
}

function failureOf(rule: Rule, at: string, value: unknown, detail: string): FieldError {
  if (rule.reason === 'FieldValueForbidden') return fieldError.forbidden(at, detail)
  if (rule.reason === 'FieldValueRequired') return fieldError.required(at, detail)
  if (typeof value === 'object') return fieldError.invalidObject(at, detail)
  return fieldError.invalid(at, value, detail)
}

function hasRules(schema: Schema): boolean {
  const known = anyRules.get(schema)
  if (known !== undefined) return known
  const inner = [...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties]
  const found =
    (schema['x-kubernetes-validations'] ?? []).length > 0 || inner.some(one => isRecord(one) && hasRules(one as Schema))
  anyRules.set(schema, found)
  return found
}

const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)

/** A field name escaped as a CEL identifier. */
function identifier(name: string): string {
  if (reserved.has(name)) return `__${name}__`
  return name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__')
}

/** Converts integers to CEL int and times to timestamp, and escapes names of declared fields.  */
function celValue(value: unknown, schema: Schema | undefined): unknown {
  if (typeof value === 'number') return Number.isInteger(value) && schema?.type !== 'number' ? BigInt(value) : value
  if (typeof value === 'string') return schema?.format === 'date-time' ? new Date(value) : value
  if (Array.isArray(value)) return value.map(item => celValue(item, schema?.items))
  if (!isRecord(value)) return value
  const result: Fields = {}
  for (const name of Object.keys(value)) {
    const declared = schema?.properties?.[name]
    result[declared ? identifier(name) : name] = celValue(value[name], fieldSchema(schema, name))
  }
  return result
}
