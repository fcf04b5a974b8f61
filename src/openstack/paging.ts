/**
 * Reads all pages of a list by the links of Neutron and Nova.
 */
import * as z from 'zod'
import { truncate } from '../contract/truncate.ts'
import { ServiceError } from '../http-client/errors.ts'
import { elementCounter, maxElements, parseJson } from '../runtime/bounded-body.ts'
import { messageOf } from '../runtime/errors.ts'
import { giveWay } from '../runtime/event-loop.ts'

export type Query = [string, string][]

const link = z.object({ rel: z.string().max(64), href: z.string().max(8192) })
/** A list has `next` and `previous`. Entries beyond that are not even validated. */
const linksShape = z.preprocess(links => (Array.isArray(links) ? links.slice(0, 4) : links), z.array(link).nullish())
type Links = z.infer<typeof linksShape>

/** An endless list is a fault of the server. An incomplete list must not pass for a complete one. */
const endlessPages = 1_000
/** How often a list starts again because the last entry of a page was deleted before the next page was read. */
const maxRestarts = 3

export interface Page<T> {
  items: T[]
  /** The part of the entries of the answer that was kept, from 0 to 1. */
  keptShare: number
  links: Links
}

export interface Paging<T> {
  service: string
  first: Query
  /** Entries of all pages. More of them are an error: memory follows what was asked for, not what is answered. */
  maxItems: number
  /** The caller has another way to get a list with more pages. */
  maxPages?: number | undefined
  read: (query: Query) => Promise<Page<T>>
}

/** The list has more than `maxPages`. */
export class TooManyPages extends Error {}

export async function allPages<T>(paging: Paging<T>): Promise<T[]> {
  for (let restarts = 0; ; restarts++) {
    const listed = await pagesFrom(paging)
    if (!(listed instanceof ServiceError)) return joined(listed)
    if (restarts >= maxRestarts) throw listed
  }
}

/** The pages, or the error of a page after the first whose marker no longer exists. */
async function pagesFrom<T>({ service, first, maxItems, maxPages, read }: Paging<T>): Promise<T[][] | ServiceError> {
  const pages: T[][] = []
  let query: Query | undefined = first
  let count = 0
  while (query) {
    if (maxPages !== undefined && pages.length >= maxPages) throw new TooManyPages()
    if (pages.length >= endlessPages) throw unusable(service, `the list has more than ${endlessPages} pages`)
    let page: Page<T>
    try {
      page = await read(query)
    } catch (error) {
      if (pages.length > 0 && error instanceof ServiceError && markerStatuses.includes(error.status ?? 0)) return error
      throw error
    }
    pages.push(page.items)
    count += page.items.length
    if (count > maxItems) throw unusable(service, `the list has more than ${maxItems} entries that were asked for`)
    query = nextQuery(page.links)
  }
  return pages
}

/** Neutron answers 404 to an unknown marker, Nova 400. */
const markerStatuses = [400, 404]

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
export function parsed<T>(service: string, what: string, shape: z.ZodType<T>, body: unknown, at = ''): T {
  // zod collects every issue: of a list with a hundred thousand invalid entries, hundreds of megabytes.
  if (isLarger(body, at === '' ? maxListLength : maxEntryListLength))
    throw unusable(service, `${what} has too many fields${at && `: ${at}`}`)
  const result = shape.safeParse(body)
  if (result.success) return result.data
  const places = result.error.issues.slice(0, 5).map(issue => [at, ...issue.path.map(String)].filter(Boolean).join('.'))
  throw unusable(service, `${what} has invalid fields: ${truncate(places.join(', ') || '(root)', 300)}`)
}

/** Actions of a server are never paged. */
const maxListLength = 20_000
/** Addresses of a port, routes of a subnet, metadata of a server. */
const maxEntryListLength = 1_000

/** Whether a list or an object, at any depth, has more entries. */
function isLarger(value: unknown, maxEntries: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.length > maxEntries || value.some(entry => isLarger(entry, maxEntries))
  let count = 0
  // A list of the values would be thrown away for each of thousands of entries.
  for (const name in value)
    if (++count > maxEntries || isLarger((value as Record<string, unknown>)[name], maxEntries)) return true
  return false
}

/** The entries of one list, validated one by one: the first invalid entry ends it, whatever the others contain. */
export async function parsedPage<T>(
  service: string,
  collection: string,
  shape: z.ZodType<T>,
  body: unknown,
  keep: (item: T) => boolean,
): Promise<Page<T>> {
  const what = `the list of ${collection}`
  const outer = z.object({ [collection]: z.unknown(), [`${collection}_links`]: linksShape })
  const result = outer.safeParse(body)
  const { [collection]: entries, [`${collection}_links`]: links } = result.data ?? {}
  if (!Array.isArray(entries)) throw unusable(service, `${what} has invalid fields: ${collection}`)
  const items: T[] = []
  for (const [position, entry] of entries.entries()) {
    const item = parsed(service, what, shape, entry, `${collection}.${position}`)
    if (keep(item)) items.push(item)
    // To await nothing costs more than to read an entry.
    const turn = giveWay()
    if (turn) await turn
  }
  return { items, keptShare: items.length / Math.max(1, entries.length), links: links as Links }
}

/** The value of a body whose elements are not counted yet. */
export function parsedBytes(service: string, what: string, bytes: Buffer): unknown {
  const excess = elementCounter(maxElements)(bytes)
  if (excess !== undefined) throw unusable(service, `${what} ${excess}`)
  try {
    return parseJson(bytes)
  } catch (error) {
    throw unusable(service, `${what} ${messageOf(error)}`)
  }
}

export function unusable(service: string, message: string): ServiceError {
  return new ServiceError(`${service}: ${message}`, { service, kind: 'malformed' })
}
