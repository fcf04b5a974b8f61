/**
 * Hash of a JSON document: keys sorted, absent values omitted. Free of dependencies.
 */
import { createHash } from 'node:crypto'

/** 64 hex digits; equal for documents that differ only in key order or in keys without a value. */
export function hashOf(document: unknown): string {
  return createHash('sha256').update(canonicalJson(document)).digest('hex')
}

export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(item => canonicalJson(item ?? null)).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const object = value as Record<string, unknown>
    const keys = Object.keys(object).filter(key => object[key] !== undefined)
    return `{${keys
      .sort()
      .map(key => `${JSON.stringify(key)}:${canonicalJson(object[key])}`)
      .join(',')}}`
  }
  return JSON.stringify(value)
}
