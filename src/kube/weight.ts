/**
 * How much memory an object of the API takes, roughly. A list has as many pages as the server says, and a watch as many
 * objects: what is kept of them needs a limit.
 */

/** Five thousand node configs with ten interfaces each have two thirds. */
export const maxKeptBytes = 96 * 1024 * 1024

/** A page without items weighs this much: empty pages end too. */
export const perPage = 64 * 1024

/** Bytes of a value without its text: a header and a slot. */
const perValue = 24
/** V8 reserves room for four values in every object that it parses, also in an empty one. */
const perObject = 64

export function weightOf(value: unknown): number {
  if (typeof value === 'string') return perValue + value.length
  if (typeof value !== 'object' || value === null) return perValue
  let sum = perObject
  for (const key in value) sum += weightOf((value as Record<string, unknown>)[key])
  return sum
}
