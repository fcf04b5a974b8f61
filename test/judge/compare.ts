/**
 * Compares what left two sides during the same operations. Pure.
 *
 * Writes to the same object are compared with their order, with method, path, body and whether they succeeded; the order of
 * writes to different objects is not. Reads are compared as a set of method and path: how often the same is read depends on
 * which of two concurrent syncs comes first. The records, verdicts and audit entries in one request to the inventory are
 * compared one by one: how many of them share a request depends on when the previous one was answered.
 */
import type { Sent } from './recorder.ts'

/** What a side did during one operation. */
export interface Step {
  operation: string
  sent: Sent[]
}

export interface Accepted {
  /** Why the difference is no change of behaviour, or why the change is wanted. */
  because: string
  /** A text of the former side and what it is now. */
  renamed?: readonly [was: string, is: string]
  /** Matches the text of the difference. */
  difference?: RegExp
}

export interface Difference {
  step: number
  operation: string
  text: string
  accepted?: Accepted
}

const maxText = 400

export function compare(was: readonly Step[], is: readonly Step[], accepted: readonly Accepted[] = []): Difference[] {
  const found: Difference[] = []
  for (let step = 0; step < Math.max(was.length, is.length); step++) {
    const [before, after] = [was[step], is[step]]
    const operation = after?.operation ?? before?.operation ?? ''
    const add = (text: string, accepted?: Accepted) =>
      found.push({ step, operation, text, ...(accepted && { accepted }) })
    if (before?.operation !== after?.operation)
      add(`the sides played different operations: ${before?.operation} and ${after?.operation}`)
    const [former, current] = [linesOf(before?.sent ?? []), linesOf(after?.sent ?? [])]
    for (const object of new Set([...former.keys(), ...current.keys()])) {
      const pairs = differing(former.get(object) ?? [], current.get(object) ?? [])
      for (const [was, is] of pairs) {
        const renaming = accepted.find(({ renamed: [from, to] = ['', ''] }) => from && was?.replaceAll(from, to) === is)
        const text = `${object}\n${changes(was, is)}`
        add(text, renaming ?? accepted.find(({ difference }) => difference?.test(text)))
      }
    }
  }
  return found
}

/** The lines of each object, in their order. */
function linesOf(sent: readonly Sent[]): Map<string, string[]> {
  const lines = new Map<string, string[]>()
  const add = (object: string, line: string) => lines.set(object, [...(lines.get(object) ?? []), line])
  const reads = new Set<string>()
  for (const { service, method, path, body, status } of sent) {
    if (method === 'GET') reads.add(`${service} GET ${path}`)
    else if (service === 'inventory')
      for (const [object, line] of recordsIn(body)) add(object, `${outcome(status)} ${line}`)
    else
      add(
        `${service} ${path.replace(/ \(.*/, '')}${createdIn(method, body)}`,
        `${method} ${outcome(status)} ${/ \(.*/.exec(path)?.[0] ?? ''}${body}`,
      )
  }
  for (const read of reads) lines.set(read, ['read'])
  return lines
}

/** A collection is no object. */
function createdIn(method: string, body: string): string {
  if (method !== 'POST' || !body.startsWith('{')) return ''
  const { metadata } = JSON.parse(body) as { metadata?: { name?: string } }
  return metadata?.name === undefined ? '' : `/${metadata.name}`
}

function outcome(status: Sent['status']): string {
  return typeof status === 'number' && status < 300 ? 'ok' : String(status)
}

interface Records {
  records?: { providerId: string; nodeName: string }[]
  verdicts?: { config: string; providerId?: string; after?: string }[]
  audit?: { object: string }[]
}

function recordsIn(body: string): [object: string, line: string][] {
  const { records = [], verdicts = [], audit = [] } = JSON.parse(body) as Records
  return [
    ...records.map(one => [`inventory record of ${one.providerId} ${one.nodeName}`, JSON.stringify(one)] as const),
    ...verdicts.map(one => [`inventory verdicts on ${one.config}`, JSON.stringify(one)] as const),
    ...audit.map(one => [`inventory audit of ${one.object}`, JSON.stringify(one)] as const),
  ].map(([object, line]) => [object, line])
}

/** Without the lines that both begin or end with. */
function differing(was: readonly string[], is: readonly string[]): [string | undefined, string | undefined][] {
  let [from, end] = [0, 0]
  const shorter = Math.min(was.length, is.length)
  while (from < shorter && was[from] === is[from]) from++
  while (end < shorter - from && was.at(-1 - end) === is.at(-1 - end)) end++
  const [former, current] = [was.slice(from, was.length - end), is.slice(from, is.length - end)]
  return Array.from({ length: Math.max(former.length, current.length) }, (_, at) => [former[at], current[at]])
}

function changes(was: string | undefined, is: string | undefined): string {
  const [before, after] = [parsed(was), parsed(is)]
  const fields = before && after && before.head === after.head ? fieldChanges(before.body, after.body) : []
  if (fields.length > 0) return fields.slice(0, 8).join('\n')
  return `  was: ${short(was ?? 'nothing')}\n  is:  ${short(is ?? 'nothing')}`
}

function parsed(line: string | undefined): { head: string; body: unknown } | undefined {
  const [, head = '', json = ''] = /^([^{[]*)([{[].*)$/s.exec(line ?? '') ?? []
  try {
    return { head, body: JSON.parse(json) }
  } catch {
    return undefined
  }
}

function fieldChanges(was: unknown, is: unknown, path = ''): string[] {
  if (JSON.stringify(was) === JSON.stringify(is)) return []
  if (typeof was !== 'object' || typeof is !== 'object' || !was || !is)
    return [`  ${path}: ${short(JSON.stringify(was) ?? 'nothing')} → ${short(JSON.stringify(is) ?? 'nothing')}`]
  const [before, after] = [was as Record<string, unknown>, is as Record<string, unknown>]
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  const found = [...keys].flatMap(key => fieldChanges(before[key], after[key], path ? `${path}.${key}` : key))
  return found.length > 0 ? found : [`  ${path}: another order of fields`]
}

function short(text: string): string {
  return text.length > maxText ? `${text.slice(0, maxText)}…` : text
}
