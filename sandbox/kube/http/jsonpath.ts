/**
 * JSONPath of printer columns: fields, indexes, wildcards and filters such as `[?(@.type=="Ready")]`.
 */
import { isRecord } from '../json.ts'

type Step = (values: unknown[]) => unknown[]

export type Path = (value: unknown) => unknown[]

const paths = new Map<string, Path>()

export function jsonPath(text: string): Path {
  let path = paths.get(text)
  if (!path) {
    const steps = parse(text)
    path = value => steps.reduce((values, step) => step(values), [value])
    paths.set(text, path)
  }
  return path
}

const token = () =>
  /\.((?:\\.|[^.[\]\\])+)|\[\?\((.*?)\)\]|\['((?:\\.|[^'])*)'\]|\["((?:\\.|[^"])*)"\]|\[(-?\d+)\]|(\[\*\])/y

function parse(text: string): Step[] {
  const source = text.replace(/^\{(.*)\}$/s, '$1').replace(/^\$/, '')
  const steps: Step[] = []
  const reader = token()
  while (reader.lastIndex < source.length) {
    const at = reader.lastIndex
    const found = reader.exec(source)
    if (!found) throw new Error(`invalid JSONPath ${text}: syntax error at position ${at}`)
    const [, dotted, filter, single, double, index, all] = found
    const name = dotted ?? single ?? double
    if (filter !== undefined) steps.push(filtered(filter))
    else if (index !== undefined) steps.push(indexed(Number(index)))
    else if (all !== undefined || name === '*') steps.push(values => values.flatMap(members))
    else if (name !== undefined) steps.push(named(name.replaceAll(/\\(.)/g, '$1')))
  }
  return steps
}

const named =
  (name: string): Step =>
  values =>
    values.flatMap(value => (isRecord(value) && value[name] !== undefined ? [value[name]] : []))

const indexed =
  (index: number): Step =>
  values =>
    values.flatMap(value => {
      const item = Array.isArray(value) ? value.at(index) : undefined
      return item === undefined ? [] : [item]
    })

function filtered(text: string): Step {
  const [, left = '', sign, right = ''] = /^\s*@(.*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*$/.exec(text) ?? []
  const path = jsonPath(left)
  if (!sign) return values => values.flatMap(members).filter(item => path(item).length > 0)
  const expected = literal(right)
  return values => values.flatMap(members).filter(item => path(item).some(value => holds(value, sign, expected)))
}

function members(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  return isRecord(value) ? Object.values(value) : []
}

function literal(text: string): unknown {
  const quoted = /^(['"])(.*)\1$/.exec(text)
  if (quoted) return quoted[2]
  if (text === 'true' || text === 'false') return text === 'true'
  return Number(text)
}

function holds(value: unknown, sign: string, expected: unknown): boolean {
  if (sign === '==') return value === expected
  if (sign === '!=') return value !== expected
  if (typeof value !== 'number' || typeof expected !== 'number') return false
  if (sign === '<') return value < expected
  if (sign === '<=') return value <= expected
  return sign === '>' ? value > expected : value >= expected
}
