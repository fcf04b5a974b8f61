/**
 * Fields of a value that its schema does not have: a parser drops them, and a misspelt field would have no effect.
 */
import type { FieldError } from './interfaces.ts'
import { maxErrors, pathText } from './problem.ts'

/** `parsed`: what the schema kept of `given`. */
export function unknownFields(given: unknown, parsed: unknown): FieldError[] {
  return [...pathsOf(given, parsed, [])]
    .slice(0, maxErrors)
    .map(path => ({ path: pathText(path, ''), message: 'unknown field' }))
}

function* pathsOf(given: unknown, parsed: unknown, at: PropertyKey[]): Generator<PropertyKey[]> {
  if (typeof given !== 'object' || given === null || typeof parsed !== 'object' || parsed === null) return
  for (const [key, value] of Object.entries(given)) {
    const path = [...at, Array.isArray(given) ? Number(key) : key]
    if (Object.hasOwn(parsed, key)) yield* pathsOf(value, (parsed as Record<string, unknown>)[key], path)
    else yield path
  }
}
