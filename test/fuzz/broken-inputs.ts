/**
 * Valid samples with random damage: a few changes of the structure, then of the text, then of the bytes.
 *
 * Every change is a small record of numbers, so that fast-check can shrink a failure to the fewest changes.
 */
import fc from 'fast-check'
import { stringify } from 'yaml'

/** Values that parsers often handle wrongly. */
const oddValues: (() => unknown)[] = [
  () => null,
  () => true,
  () => 0,
  () => -0,
  () => -1,
  () => 1.5,
  () => 2 ** 31,
  () => 2 ** 53 + 2,
  () => 1e308,
  () => 5e-324,
  () => '',
  () => ' ',
  () => 'NaN',
  () => 'Infinity',
  () => '-0',
  () => '1e9',
  () => '0x10',
  () => '٣',
  () => 'null',
  () => '__proto__',
  () => '\0',
  () => '\ud800',
  () => '\u202e\u200b',
  () => 'a\r\nx-injected: 1',
  () => '\u001b[2J',
  () => '../../../../etc/passwd',
  () => "' or 1=1; --",
  () => '; rm -rf / #',
  () => '%00%zz',
  () => 'x'.repeat(300),
  () => 'x'.repeat(20_000),
  () => `${'a'.repeat(5_000)}!`,
  () => '/'.repeat(5_000),
  () => '999999999999999999h',
  () => [],
  () => ({}),
  () => [[[]]],
  () => Array.from({ length: 300 }, (_, index) => index),
  () => nested(200),
  () => nested(900),
  () => JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}'),
  () => ({ toString: 'x', valueOf: null, length: -1 }),
]
const oddKeys = ['__proto__', 'constructor', 'prototype', 'toString', 'length', '', ' ', '\0', 'x', 'ключ', 'a.b[0]']
const oddTexts = [
  '"',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '\\',
  '\n',
  '\t',
  '- ',
  '#',
  '&a *a',
  '!!js/function ',
  '\u2028',
  '😀',
]

type Json = unknown
interface Change {
  /** Which value, in the order of placesIn. */
  at: number
  how: number
  what: number
}

const change: fc.Arbitrary<Change> = fc.record({ at: fc.nat(400), how: fc.nat(9), what: fc.nat(999) })
const changes = (maxLength: number) => fc.array(change, { maxLength })

/** One of the samples with up to four changes of its structure. */
export function brokenValues(samples: readonly Json[]): fc.Arbitrary<Json> {
  return fc.tuple(fc.nat(samples.length - 1), changes(4)).map(([index, list]) => {
    const value: Json = copyOf(samples[index])
    return list.reduce(changed, value)
  })
}

/** The same as JSON, with up to two changes of the text; a string sample is not quoted. */
export function brokenTexts(samples: readonly Json[]): fc.Arbitrary<string> {
  return fc.tuple(brokenValues(samples), changes(2)).map(([value, list]) => list.reduce(changedText, textOf(value)))
}

/** The same for a YAML file: changes of its text, or of its structure written as JSON. */
export function brokenYaml(sample: Json): fc.Arbitrary<string> {
  const text = stringify(sample)
  const inText = fc.array(change, { maxLength: 4 }).map(list => list.reduce(changedText, text))
  return fc.oneof({ weight: 3, arbitrary: inText }, { weight: 1, arbitrary: brokenTexts([sample]) })
}

/** The same as bytes, often in a wrong encoding. */
export function brokenBytes(samples: readonly Json[]): fc.Arbitrary<Buffer> {
  return fc.tuple(brokenTexts(samples), changes(1)).map(([text, [first]]) => changedBytes(text, first))
}

/** A record of strings, such as an environment, with up to four changes. */
export function brokenRecords(samples: readonly Record<string, string>[]): fc.Arbitrary<Record<string, string>> {
  const list = fc.array(fc.record({ at: fc.nat(400), how: fc.nat(9), what: fc.nat(999) }), { maxLength: 4 })
  return fc.tuple(fc.nat(samples.length - 1), list).map(([index, all]) => {
    const record = { ...samples[index] }
    const names = Object.keys(record)
    for (const each of all) {
      const name = names[each.at % names.length] ?? ''
      const value = record[name] ?? ''
      const odd = oddValue(each.what)
      record[name] =
        each.how < 6 ? (typeof odd === 'string' ? odd : (JSON.stringify(odd) ?? '')) : changedText(value, each)
    }
    return record
  })
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

function changed(root: Json, { at, how, what }: Change): Json {
  const places = placesIn(root)
  const place = places[at % (places.length || 1)]
  if (!place)
    return typeof root === 'string' && how > 2 ? changedText(root, { at, how: what % 10, what }) : oddValue(what)
  const { parent, key } = place
  const value = valueAt(parent, key)
  switch (how) {
    case 0:
      if (Array.isArray(parent)) parent.splice(Number(key), 1)
      else delete (parent as Record<string, unknown>)[key]
      break
    case 1:
      if (Array.isArray(parent)) parent.splice(Number(key), 0, copyOf(value))
      else set(parent, oddKeys[what % oddKeys.length] ?? '', value)
      break
    case 2: {
      const other = places[what % places.length] ?? place
      set(parent, key, copyOf(valueAt(other.parent, other.key)))
      break
    }
    case 3:
      set(parent, key, what % 2 === 0 ? [value] : { [key]: value })
      break
    case 4:
      set(
        parent,
        key,
        typeof value === 'string' ? changedText(value, { at: what, how: what % 8, what }) : oddValue(what),
      )
      break
    case 5:
      set(parent, key, typeof value === 'number' ? -value * 10 ** (what % 20) : oddValue(what))
      break
    default:
      set(parent, key, oddValue(what))
  }
  return root
}

function changedText(text: string, { at, how, what }: Change): string {
  const from = text.length === 0 ? 0 : (at * 7919 + what) % (text.length + 1)
  const odd = oddTexts[what % oddTexts.length] ?? ''
  switch (how) {
    case 0:
      return text.slice(0, from)
    case 1:
      return text.slice(from)
    case 2:
      return text.slice(0, from) + text.slice(from + 1 + (what % 40))
    case 3:
      return text.slice(0, from) + text.slice(Math.max(0, from - 1 - (what % 200)))
    case 4:
      return `\ufeff${text}`
    case 5:
      return text.toUpperCase()
    default:
      return text.slice(0, from) + odd + text.slice(from)
  }
}

function changedBytes(text: string, change: Change | undefined): Buffer {
  const bytes = Buffer.from(text, change?.how === 0 ? 'utf16le' : change?.how === 1 ? 'latin1' : 'utf8')
  if (change && change.how > 5 && bytes.length > 0) bytes[(change.at * 7919) % bytes.length] = change.what % 256
  return bytes
}

interface Place {
  parent: object
  key: string
}

/** Every value with its parent, breadth first; at most 2,000. */
function placesIn(root: Json): Place[] {
  const found: Place[] = []
  const queue: Json[] = [root]
  while (queue.length > 0 && found.length < 2_000) {
    const parent = queue.shift()
    if (typeof parent !== 'object' || parent === null) continue
    for (const key of Object.keys(parent)) {
      found.push({ parent, key })
      queue.push(valueAt(parent, key))
    }
  }
  return found
}

function copyOf(value: Json): Json {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

function valueAt(parent: object, key: string): Json {
  return Object.getOwnPropertyDescriptor(parent, key)?.value
}

/** Sets an own property, as JSON.parse does, also for `__proto__`. */
function set(parent: object, key: string, value: Json): void {
  Object.defineProperty(parent, key, { value, writable: true, enumerable: true, configurable: true })
}

function oddValue(what: number): Json {
  return oddValues[what % oddValues.length]?.()
}

function nested(depth: number): Json {
  let value: Json = 'deep'
  for (let level = 0; level < depth; level++) value = level % 2 ? { a: value } : [value]
  return value
}
