/**
 * Sets of fields, for field ownership and the comparison of objects.
 *
 * A set is a tree of path elements as in metadata.managedFields: `f:name`, `k:{"type":"Ready"}`, `v:"value"`; `.` means that the
 * path itself is in the set.
 */
import { equalJson } from '../../../src/contract/json.ts'
import { type Fields, isRecord } from '../json.ts'
import { fieldSchema, itemKey, type Schema } from '../kinds/schema.ts'

export interface FieldSet {
  member: boolean
  children: Map<string, FieldSet>
}

function emptySet(): FieldSet {
  return { member: false, children: new Map() }
}

export function isEmpty(set: FieldSet): boolean {
  return !set.member && set.children.size === 0
}

export function parseSet(fields: Fields): FieldSet {
  const set = emptySet()
  for (const name of Object.keys(fields)) {
    if (name === '.') {
      set.member = true
      continue
    }
    const inner = fields[name]
    const child = parseSet(isRecord(inner) ? inner : {})
    if (isEmpty(child)) child.member = true
    set.children.set(name, child)
  }
  return set
}

export function printSet(set: FieldSet): Fields {
  const fields: Fields = {}
  for (const name of [...set.children.keys()].sort()) {
    const child = set.children.get(name)
    if (!child) continue
    const inner = printSet(child)
    fields[name] = child.member && child.children.size > 0 ? { '.': {}, ...inner } : inner
  }
  return fields
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  const result: FieldSet = { member: a.member || b.member, children: new Map(a.children) }
  for (const [name, child] of b.children) {
    const mine = a.children.get(name)
    result.children.set(name, mine ? union(mine, child) : child)
  }
  return result
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const result: FieldSet = { member: a.member && b.member, children: new Map() }
  for (const [name, child] of a.children) {
    const other = b.children.get(name)
    const both = other ? intersection(child, other) : emptySet()
    if (!isEmpty(both)) result.children.set(name, both)
  }
  return result
}

export function difference(a: FieldSet, b: FieldSet): FieldSet {
  const result: FieldSet = { member: a.member && !b.member, children: new Map() }
  for (const [name, child] of a.children) {
    const other = b.children.get(name)
    const rest = other ? difference(child, other) : child
    if (!isEmpty(rest)) result.children.set(name, rest)
  }
  return result
}

export function sameSet(a: FieldSet, b: FieldSet): boolean {
  return isEmpty(difference(a, b)) && isEmpty(difference(b, a))
}

/** Removes all paths with one of these prefixes. */
export function withoutPaths(set: FieldSet, paths: readonly (readonly string[])[]): FieldSet {
  return paths.reduce((rest, path) => withoutPath(rest, path), set)
}

function withoutPath(set: FieldSet, [first, ...more]: readonly string[]): FieldSet {
  const child = first === undefined ? undefined : set.children.get(first)
  if (first === undefined || !child) return set
  const children = new Map(set.children)
  const rest = more.length === 0 ? emptySet() : withoutPath(child, more)
  if (isEmpty(rest)) children.delete(first)
  else children.set(first, rest)
  return { member: set.member, children }
}

/** Keeps only paths that start with one of these elements. */
export function onlyUnder(set: FieldSet, elements: readonly string[]): FieldSet {
  const children = new Map([...set.children].filter(([name]) => elements.includes(name)))
  return { member: false, children }
}

/**
 * The paths of a set in the notation of conflict messages: `.spec.interfaces`, `.status.conditions[type="Ready"].reason`. At each
 * level, members come before their children.
 */
export function pathsOf(set: FieldSet, prefix = ''): string[] {
  const children = [...set.children].sort(([a], [b]) => (a < b ? -1 : 1))
  const here = children.filter(([, child]) => child.member).map(([name]) => `${prefix}${printElement(name)}`)
  return [...here, ...children.flatMap(([name, child]) => pathsOf(child, `${prefix}${printElement(name)}`))]
}

function printElement(element: string): string {
  const rest = element.slice(2)
  if (element.startsWith('f:')) return `.${rest}`
  if (element.startsWith('v:')) return `[=${rest}]`
  const key: unknown = JSON.parse(rest)
  const pairs = isRecord(key) ? Object.entries(key).map(([name, value]) => `${name}=${JSON.stringify(value)}`) : []
  return `[${pairs.join(',')}]`
}

/** Whether the children of this value have owners, rather than the value as a whole. */
function isGranular(value: unknown, schema: Schema | undefined): boolean {
  if (isRecord(value)) return schema?.['x-kubernetes-map-type'] !== 'atomic'
  const type = schema?.['x-kubernetes-list-type']
  return Array.isArray(value) && (type === 'map' || type === 'set')
}

/** The children of a granular value by path element. */
export function childrenOf(value: unknown, schema: Schema | undefined): Map<string, [unknown, Schema | undefined]> {
  const parts = new Map<string, [unknown, Schema | undefined]>()
  if (isRecord(value)) {
    for (const name of Object.keys(value)) {
      if (value[name] !== undefined) parts.set(`f:${name}`, [value[name], fieldSchema(schema, name)])
    }
  } else if (Array.isArray(value)) {
    for (const item of value) parts.set(itemElement(item, schema), [item, schema?.items])
  }
  return parts
}

function itemElement(item: unknown, schema: Schema | undefined): string {
  if (schema?.['x-kubernetes-list-type'] === 'set') return `v:${JSON.stringify(item)}`
  const keys = [...(schema?.['x-kubernetes-list-map-keys'] ?? [])].sort()
  return `k:${JSON.stringify(itemKey(item, keys, schema?.items))}`
}

/** The fields owned by the manager that applies this value: leaves, and items of keyed lists. */
export function fieldsOf(value: unknown, schema: Schema | undefined): FieldSet {
  const parts = isGranular(value, schema) ? childrenOf(value, schema) : undefined
  if (!parts || parts.size === 0) return { member: true, children: new Map() }
  const set = emptySet()
  for (const [element, [part, inner]] of parts) {
    const child = fieldsOf(part, inner)
    set.children.set(element, element.startsWith('k:') ? { ...child, member: true } : child)
  }
  return set
}

export interface Comparison {
  /** Added or changed. */
  changed: FieldSet
  removed: FieldSet
}

export function compare(before: unknown, after: unknown, schema: Schema | undefined): Comparison {
  if (before !== undefined && after !== undefined && equalJson(before, after)) {
    return { changed: emptySet(), removed: emptySet() }
  }
  const beforeParts = isGranular(before, schema) ? childrenOf(before, schema) : undefined
  const afterParts = isGranular(after, schema) ? childrenOf(after, schema) : undefined
  const descends =
    (before === undefined || beforeParts) &&
    (after === undefined || afterParts) &&
    (beforeParts?.size ?? 0) + (afterParts?.size ?? 0) > 0
  const changed: FieldSet = { member: before === undefined || (!descends && after !== undefined), children: new Map() }
  const removed: FieldSet = { member: after === undefined, children: new Map() }
  if (!descends) return { changed, removed }
  for (const element of new Set([...(beforeParts?.keys() ?? []), ...(afterParts?.keys() ?? [])])) {
    const [was, wasSchema] = beforeParts?.get(element) ?? []
    const [is, isSchema] = afterParts?.get(element) ?? []
    const inner = compare(was, is, isSchema ?? wasSchema)
    if (!isEmpty(inner.changed)) changed.children.set(element, inner.changed)
    if (!isEmpty(inner.removed)) removed.children.set(element, inner.removed)
  }
  return { changed, removed }
}

/** Merges an applied value into the live one. */
export function mergeApplied(live: unknown, applied: unknown, schema: Schema | undefined): unknown {
  if (isRecord(live) && isRecord(applied) && isGranular(applied, schema)) {
    const result: Fields = { ...live }
    for (const name of Object.keys(applied)) {
      result[name] = mergeApplied(live[name], applied[name], fieldSchema(schema, name))
    }
    return result
  }
  if (Array.isArray(live) && Array.isArray(applied) && isGranular(applied, schema)) {
    return mergeItems(live, applied, schema)
  }
  return applied
}

/** Applied items keep their order; other items stay behind their predecessor. */
function mergeItems(live: readonly unknown[], applied: readonly unknown[], schema: Schema | undefined): unknown[] {
  const byElement = new Map(live.map(item => [itemElement(item, schema), item]))
  const appliedItems = new Map(applied.map(item => [itemElement(item, schema), item]))
  const result = [...appliedItems].map(([element, item]) => [
    element,
    mergeApplied(byElement.get(element), item, schema?.items),
  ])
  let previous = -1
  for (const [element, item] of byElement) {
    const index = result.findIndex(([name]) => name === element)
    if (index >= 0) previous = Math.max(previous, index)
    else result.splice(++previous, 0, [element, item])
  }
  return result.map(([, item]) => item)
}

/** Removes fields that were owned before and have no owner now. */
export function pruneUnowned(value: unknown, schema: Schema | undefined, before: FieldSet, now: FieldSet): unknown {
  if (before.children.size === 0 || !isGranular(value, schema)) return value
  const owned = new Map<string, unknown>()
  for (const [element, [part, inner]] of childrenOf(value, schema)) {
    const was = before.children.get(element)
    const is = now.children.get(element)
    if (was && !is) continue
    owned.set(element, was && is ? pruneUnowned(part, inner, was, is) : part)
  }
  if (Array.isArray(value)) return [...owned.values()]
  return Object.fromEntries([...owned].map(([element, part]) => [element.slice(2), part]))
}
