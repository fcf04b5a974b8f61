/**
 * Compares the output of a command with the output that a page shows.
 *
 * Text is equal if it has the same lines in the same order. Values that differ from run to run, and the width of columns, do
 * not count. JSON and objects in YAML are equal if they have the same keys with values of the same types. A line `...` of
 * the page stands for one or more lines that it leaves out.
 */
import { parse } from 'yaml'

/** Values that differ from run to run. The order matters: a MAC address contains hex numbers, and `1234567d` may be a hash. */
const varyingValues: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['UUID', /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g],
  ['TIME', /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?\b/g],
  ['MAC', /\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b/g],
  ['TIME', /\b\d\d:\d\d:\d\d\b/g],
  ['ADDRESS', /\b(?:\d{1,3}\.){3}\d{1,3}\b/g],
  ['-SUFFIX', /-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g],
  ['HASH', /(?<=-g\d+-)[0-9a-f]{8}\b/g],
  ['DURATION', /\b(?:\d+(?:\.\d+)?(?:ms|[smhdy]))+\b/g],
  ['DURATION ago', /(?<=\bobserved )now\b/g],
  [':PORT', /(?<=:\/\/[\w.-]+):\d+/g],
  ['HASH', /\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,}\b/g],
]

/** What differs, or undefined. */
export function findDifference(shown: string, actual: string): string | undefined {
  return /^(?:[{[]|apiVersion:)/.test(shown) ? compareData(shown, actual) : compareText(shown, actual)
}

function compareText(shown: string, actual: string): string | undefined {
  const [expected, found] = [shapeOf(shown), shapeOf(actual)]
  if (areEqual(expected, found)) return undefined
  return `the page shows\n${expected.join('\n')}\nbut the output is\n${found.join('\n')}`
}

function areEqual([first, ...rest]: readonly string[], found: readonly string[]): boolean {
  if (first === undefined) return found.length === 0
  if (first === '...') return found.some((_, index) => areEqual(rest, found.slice(index + 1)))
  return first === found[0] && areEqual(rest, found.slice(1))
}

/** Lines with placeholders for varying values and two spaces between columns. */
function shapeOf(text: string): string[] {
  let shape = text.trimEnd()
  for (const [name, pattern] of varyingValues) shape = shape.replaceAll(pattern, name)
  return shape.split('\n').map(line => line.trimEnd().replaceAll(/(?<=\S)(?: {2,}|\t)\s*/g, '  '))
}

function compareData(shown: string, actual: string): string | undefined {
  const [expected, found] = [shown, actual].map(text => JSON.stringify(typeOf(parse(text)), null, 2))
  return expected === found ? undefined : `the page shows data of the type\n${expected}\nbut the output has\n${found}`
}

/** The value with the name of its type in place of each scalar. A list has each type of its elements once. */
function typeOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    const types = new Set(value.map(element => JSON.stringify(typeOf(element))))
    return [...types].sort().map(type => JSON.parse(type) as unknown)
  }
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value
  const entries = Object.entries(value).map(([key, inner]) => [key, typeOf(inner)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}
