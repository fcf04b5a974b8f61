/**
 * Reads all pages of a list by the links of Neutron and Nova.
 */
import { z } from 'zod'
import { ServiceError } from '../http-client/errors.ts'
import { parseJson } from '../runtime/bounded-body.ts'
import { messageOf } from '../runtime/errors.ts'
import { truncate } from '../runtime/truncate.ts'

export type Query = [string, string][]

export const linksShape = z.array(z.looseObject({ rel: z.string(), href: z.string() })).nullish()
export type Links = z.infer<typeof linksShape>

/** An endless list is a fault of the server. An incomplete list must not pass for a complete one. */
const maxPages = 1_000
/** Ten times 5,000 nodes with 10 ports each. */
const maxItems = 500_000

export async function allPages<T>(
  service: string,
  first: Query,
  read: (query: Query) => Promise<{ items: T[]; links: Links }>,
): Promise<T[]> {
  const pages: T[][] = []
  let query: Query | undefined = first
  let count = 0
  while (query) {
    if (pages.length >= maxPages) throw unusable(service, `the list has more than ${maxPages} pages`)
    const answer = await read(query)
    pages.push(answer.items)
    count += answer.items.length
    if (count > maxItems) throw unusable(service, `the list has more than ${maxItems} entries`)
    query = nextQuery(answer.links)
  }
  return joined(pages)
}

/** Usually there is one list. It may be long, so it is not copied. */
export function joined<T>(lists: T[][]): T[] {
  const [only] = lists
  return only && lists.length === 1 ? only : lists.flat()
}

/** Only the query of the link is used: behind a proxy, its host is often an internal name. */
function nextQuery(links: Links): Query | undefined {
  const href = links?.find(link => link.rel === 'next')?.href
  const at = href?.indexOf('?') ?? -1
  return href === undefined || at < 0 ? undefined : [...new URLSearchParams(href.slice(at + 1))]
}

/** The body in the expected shape, or an error with the paths of the invalid fields and without their values. */
export function parsed<T>(service: string, what: string, shape: z.ZodType<T>, body: unknown): T {
  const result = shape.safeParse(body)
  if (result.success) return result.data
  const places = result.error.issues.slice(0, 5).map(issue => issue.path.map(String).join('.') || '(root)')
  throw unusable(service, `${what} has invalid fields: ${truncate(places.join(', '), 300)}`)
}

/** The same for a body that is not parsed yet. */
export function parsedBytes<T>(service: string, what: string, shape: z.ZodType<T>, bytes: Buffer): T {
  let body: unknown
  try {
    body = parseJson(bytes)
  } catch (error) {
    throw unusable(service, `${what} ${messageOf(error)}`)
  }
  return parsed(service, what, shape, body)
}

export function unusable(service: string, message: string): ServiceError {
  return new ServiceError(`${service}: ${message}`, { service, kind: 'malformed' })
}
