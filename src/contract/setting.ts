/**
 * Settings of a component as a table: how the text of a variable is read, its default, its texts, its value in the chart. The
 * component parses its environment with the table; the reference pages and the chart are generated from it.
 *
 * Free of dependencies: the agent parses its environment with it too.
 */
import { parseDuration } from './duration.ts'
import type { FieldError } from './interfaces.ts'

/** Reports what is wrong with the text and how to write it, and then returns undefined. */
export type Read<T> = (text: string, fail: (problem: string) => void) => T | undefined

interface Texts {
  en: string
  ko: string
}

interface Readable<T = unknown> {
  read: Read<T>
  /** As a user writes it. */
  default?: string
}

export interface Setting<T = unknown> extends Readable<T> {
  /** What applies if it is not set, in words. */
  unset?: Texts
  about: Texts
  /** The value of the chart that sets it. Default: its name under the `settings` of its component. Null: none. */
  helm?: string | null
}

export type Settings = Readonly<Record<string, Setting>>

type Table = Readonly<Record<string, Readable>>

export type Values<T extends Table> = {
  [N in keyof T]: T[N] extends Readable<infer V> ? (T[N] extends { default: string } ? V : V | undefined) : never
}

type Environment = Readonly<Record<string, string | undefined>>

/** An empty variable counts as unset. One that cannot be read has its default, and an error. */
export function readSettings<T extends Table>(table: T, env: Environment): { values: Values<T>; errors: FieldError[] } {
  const errors: FieldError[] = []
  const values: Record<string, unknown> = {}
  for (const [name, { read, default: standard }] of Object.entries(table)) {
    const given = env[name]
    const value = given ? read(given, message => errors.push({ path: name, message })) : undefined
    values[name] = value ?? (standard === undefined ? undefined : read(standard, () => undefined))
  }
  return { values: values as Values<T>, errors }
}

/** Throws all errors at once, each with the name of its variable. `check` finds settings that do not go together. */
export function settingsFrom<T extends Table>(
  table: T,
  env: Environment,
  check: (values: Values<T>) => FieldError[] = () => [],
): Readonly<Values<T>> {
  const { values, errors } = readSettings(table, env)
  const all = [...errors, ...check(values)]
  if (all.length === 0) return Object.freeze(values)
  throw new Error(`invalid environment:\n${all.map(({ path, message }) => `  ${path}: ${message}`).join('\n')}`)
}

/** A value in a message: short, and on one line. */
export const quoted = (text: string) => JSON.stringify(text.slice(0, 100))

export const text: Read<string> = value => value

/** `problem` does not show the value, which may be a secret. */
export function matching(accepts: (text: string) => boolean, problem: string): Read<string> {
  return (value, fail) => (accepts(value) ? value : void fail(problem))
}

const [yes, no] = [
  ['1', 'true', 'yes', 'on'],
  ['0', 'false', 'no', 'off'],
]

/** In the notations that Helm charts use. */
export const flag: Read<boolean> = (value, fail) => {
  const word = value.trim().toLowerCase()
  if (yes?.includes(word)) return true
  if (no?.includes(word)) return false
  return void fail(`${quoted(value)} must be true or false`)
}

export function integer(min: number, max: number): Read<number> {
  return (value, fail) => {
    const number = Number(value)
    if (/^\s*\d{1,10}\s*$/.test(value) && number >= min && number <= max) return number
    return void fail(`${quoted(value)} must be a whole number from ${min} to ${max}`)
  }
}

/** Milliseconds, above zero. */
export const duration: Read<number> = (value, fail) => {
  const ms = parseDuration(value.trim())
  return ms ?? void fail(`${quoted(value)} is not a positive duration such as 20s, 2m or 500ms`)
}

/** Separated by commas. */
export const list: Read<string[]> = value => [
  ...new Set(
    value
      .split(',')
      .map(item => item.trim())
      .filter(item => item !== ''),
  ),
]

export function oneOf<const T extends string>(...allowed: readonly T[]): Read<T> {
  const names = [allowed.slice(0, -1).join(', '), ...allowed.slice(-1)].filter(Boolean).join(' or ')
  return (value, fail) => {
    const found = allowed.find(item => item === value.trim())
    return found ?? void fail(`${quoted(value)} must be ${names}`)
  }
}
