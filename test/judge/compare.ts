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
/** Of a long text, what is shown before the difference. */
const context = 80

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

/** Without the longest common sequence of lines. */
function differing(was: readonly string[], is: readonly string[]): [string | undefined, string | undefined][] {
  const common = Array.from({ length: was.length + 1 }, () => new Array<number>(is.length + 1).fill(0))
  const at = (i: number, j: number) => common[i]?.[j] ?? 0
  for (let i = was.length - 1; i >= 0; i--)
    for (let j = is.length - 1; j >= 0; j--)
      (common[i] as number[])[j] = was[i] === is[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const pairs: [string | undefined, string | undefined][] = []
  let [i, j, removed, added] = [0, 0, [] as string[], [] as string[]]
  const end = () => {
    const length = Math.max(removed.length, added.length)
    for (let index = 0; index < length; index++) pairs.push([removed[index], added[index]])
    removed = []
    added = []
  }
  while (i < was.length || j < is.length) {
    if (i < was.length && was[i] === is[j]) {
      end()
      i++
      j++
    } else if (j >= is.length || (i < was.length && at(i + 1, j) >= at(i, j + 1))) removed.push(was[i++] ?? '')
    else added.push(is[j++] ?? '')
  }
  end()
  return pairs
}

function changes(was: string | undefined, is: string | undefined): string {
  const [before, after] = [parsed(was), parsed(is)]
  const fields = before && after && before.head === after.head ? fieldChanges(before.body, after.body) : []
  if (fields.length > 0) return fields.slice(0, 8).join('\n')
  return `  was: ${excerpt(was, is)}\n  is:  ${excerpt(is, was)}`
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
  if (typeof was !== 'object' || typeof is !== 'object' || !was || !is) {
    const [before, after] = [JSON.stringify(was), JSON.stringify(is)]
    return [`  ${path}: ${excerpt(before, after)} → ${excerpt(after, before)}`]
  }
  const [before, after] = [was as Record<string, unknown>, is as Record<string, unknown>]
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  const found = [...keys].flatMap(key => fieldChanges(before[key], after[key], path ? `${path}.${key}` : key))
  return found.length > 0 ? found : [`  ${path}: another order of fields`]
}

/** Of a long text, what begins to differ from the other one. */
function excerpt(text = 'nothing', other = ''): string {
  let from = 0
  while (from < text.length && text[from] === other[from]) from++
  const start = text.length > maxText ? Math.max(0, from - context) : 0
  return `${start > 0 ? '…' : ''}${text.slice(start, start + maxText)}${text.length > start + maxText ? '…' : ''}`
}
