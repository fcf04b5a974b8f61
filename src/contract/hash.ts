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
    const entries = Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`
  }
  return JSON.stringify(value)
}
