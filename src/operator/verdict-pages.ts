/**
 * Filters and pages verdicts. Pages are ordered by object, VM and port, so that they stay consistent while syncs go on.
 */
import { type OperatorVerdict, type VerdictKind, verdictKind } from '../contract/operator-api.ts'
import { HttpProblem } from '../server/server.ts'

export interface VerdictPage {
  verdicts: OperatorVerdict[]
  /** Cursor of the next page; absent on the last page. */
  next?: string
}

/** By the value of `taken`. */
const kinds: Partial<Record<string, VerdictKind>> = { true: 'selected', false: 'ignored' }

const maxPageSize = 5_000

export function pageOf(verdicts: readonly OperatorVerdict[], query: Record<string, string | undefined>): VerdictPage {
  const { config, port, vm, providerId, taken } = query
  const matches = (filter: string | undefined, value: string | undefined) => !filter || filter === value
  const found = verdicts.filter(
    one =>
      matches(config, one.config) &&
      matches(port, one.portId) &&
      matches(vm, one.vm) &&
      matches(providerId, one.providerId) &&
      (!taken || kinds[taken] === verdictKind(one.reason)),
  )
  const limit = limitIn(query['limit'])
  if (limit === undefined) return { verdicts: found }
  const after = query['cursor'] ? positionFrom(query['cursor']) : undefined
  const rest = found.sort(byPosition).filter(one => after === undefined || compare(positionOf(one), after) > 0)
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  return { verdicts: page, ...(last && rest.length > limit && { next: cursorOf(last) }) }
}

function limitIn(text: string | undefined): number | undefined {
  if (!text) return undefined
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > maxPageSize)
    throw new HttpProblem(400, `limit must be a whole number from 1 to ${maxPageSize}`)
  return limit
}

type Position = readonly [config: string, vm: string, port: string, reason: string]

function positionOf({ config, vm, portId = '', reason }: OperatorVerdict): Position {
  return [config, vm, portId, reason]
}

function byPosition(one: OperatorVerdict, other: OperatorVerdict): number {
  return compare(positionOf(one), positionOf(other))
}

function compare(one: Position, other: Position): number {
  for (const [at, text] of one.entries()) {
    const against = other[at] ?? ''
    if (text !== against) return text < against ? -1 : 1
  }
  return 0
}

function cursorOf(verdict: OperatorVerdict): string {
  return Buffer.from(JSON.stringify(positionOf(verdict))).toString('base64url')
}

function positionFrom(cursor: string): Position {
  try {
    const position = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (Array.isArray(position) && position.length === 4 && position.every(text => typeof text === 'string'))
      return position as unknown as Position
  } catch {
    // Handled below, like any other invalid cursor.
  }
  throw new HttpProblem(400, 'cursor is invalid: use the Link header of the previous page')
}
