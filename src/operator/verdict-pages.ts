/**
 * Which verdicts a question is about, page by page: in the order of object, VM and port, so that pages follow each other
 * although syncs go on in between.
 */
import type { OperatorVerdict } from '../contract/operator-api.ts'
import { HttpProblem } from '../server/server.ts'

export interface VerdictPage {
  verdicts: OperatorVerdict[]
  /** Where the next page starts; absent on the last. */
  next?: string
}

const longestPage = 5_000

export function pageOf(verdicts: readonly OperatorVerdict[], query: Record<string, string | undefined>): VerdictPage {
  const { config, port, vm, providerId, taken } = query
  const equal = (asked: string | undefined, value: string | undefined) => !asked || asked === value
  const found = verdicts.filter(
    one =>
      equal(config, one.config) &&
      equal(port, one.portId) &&
      equal(vm, one.vm) &&
      equal(providerId, one.providerId) &&
      equal(taken, String(one.reason === 'Selected')),
  )
  const limit = limitIn(query['limit'])
  if (limit === undefined) return { verdicts: found }
  const after = query['cursor'] ? placeFrom(query['cursor']) : undefined
  const rest = found.sort(byPlace).filter(one => after === undefined || compared(placeOf(one), after) > 0)
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  return { verdicts: page, ...(last && rest.length > limit && { next: cursorOf(last) }) }
}

function limitIn(text: string | undefined): number | undefined {
  if (!text) return undefined
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > longestPage)
    throw new HttpProblem(400, `limit must be a whole number from 1 to ${longestPage}`)
  return limit
}

type Place = readonly [config: string, vm: string, port: string, reason: string]

function placeOf({ config, vm, portId = '', reason }: OperatorVerdict): Place {
  return [config, vm, portId, reason]
}

function byPlace(one: OperatorVerdict, other: OperatorVerdict): number {
  return compared(placeOf(one), placeOf(other))
}

function compared(one: Place, other: Place): number {
  for (const [at, text] of one.entries()) {
    const against = other[at] ?? ''
    if (text !== against) return text < against ? -1 : 1
  }
  return 0
}

function cursorOf(verdict: OperatorVerdict): string {
  return Buffer.from(JSON.stringify(placeOf(verdict))).toString('base64url')
}

function placeFrom(cursor: string): Place {
  try {
    const place = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (Array.isArray(place) && place.length === 4 && place.every(text => typeof text === 'string'))
      return place as unknown as Place
  } catch {
    // Said below, as for every other text that is no cursor.
  }
  throw new HttpProblem(400, 'cursor is not one that this API has given')
}
