/**
 * Following a list over its pages, as Neutron and Nova link them.
 */
import { z } from 'zod'
import { cut, ServiceError } from '../http-client/errors.ts'

export type Query = [string, string][]

export const linksShape = z.array(z.looseObject({ rel: z.string(), href: z.string() })).nullish()
export type Links = z.infer<typeof linksShape>

/** A list that never ends is a fault of the server, and half a list must not pass for a whole one. */
const maxPages = 1_000
/** 5,000 nodes with 10 ports each are 50,000. */
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

/** One list is the usual case, and may be long. */
export function joined<T>(lists: T[][]): T[] {
  const [only] = lists
  return only && lists.length === 1 ? only : lists.flat()
}

/** Only the query of the link counts: behind a proxy its host is often the service's inner name. */
function nextQuery(links: Links): Query | undefined {
  const href = links?.find(link => link.rel === 'next')?.href
  const at = href?.indexOf('?') ?? -1
  return href === undefined || at < 0 ? undefined : [...new URLSearchParams(href.slice(at + 1))]
}

/** The body in the shape we know, or an error that names the places where it is not, without their content. */
export function parsed<T>(service: string, what: string, shape: z.ZodType<T>, body: unknown): T {
  const result = shape.safeParse(body)
  if (result.success) return result.data
  const places = result.error.issues.slice(0, 5).map(issue => issue.path.map(String).join('.') || 'the whole answer')
  throw unusable(service, `${what} is not usable: ${cut(places.join(', '), 300)}`)
}

/** The same for a body that nobody has read yet. */
export function parsedBytes<T>(service: string, what: string, shape: z.ZodType<T>, bytes: Buffer): T {
  let body: unknown
  try {
    body = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw unusable(service, `${what} is not JSON`)
  }
  return parsed(service, what, shape, body)
}

export function unusable(service: string, message: string): ServiceError {
  return new ServiceError(`${service}: ${message}`, { service, kind: 'malformed' })
}
