/**
 * What callers may write into the address of a request, read and checked.
 */
import type { FastifyRequest } from 'fastify'
import type { InventoryRecord } from '../contract/inventory.ts'
import { queryOf } from '../server/routes.ts'
import { HttpProblem } from '../server/server.ts'
import type { Filter } from './store.ts'

export type Query = Record<string, string | undefined>

/** An empty value counts as absent. */
export function valuesIn(request: FastifyRequest): Query {
  return Object.fromEntries(Object.entries(queryOf(request)).filter(([, value]) => value !== ''))
}

export function paramsOf(request: FastifyRequest): Record<string, string> & { nodeName: string } {
  return { nodeName: '', ...(request.params as Record<string, string>) }
}

export function filterFrom(query: Query): Filter {
  return {
    ...given('providerId', query),
    ...given('nodeName', query),
    ...given('instanceId', query),
    ...given('state', query),
    ...given('networkId', query),
    ...given('subnetId', query),
    ...given('source', query),
    ...given('q', query),
    ...(query['cursor'] === undefined ? {} : { after: cursorFrom(query['cursor']) }),
  }
}

export function given<K extends string>(key: K, query: Query): { [P in K]?: string } {
  return (query[key] === undefined ? {} : { [key]: query[key] }) as { [P in K]?: string }
}

export function numberIn(query: Query, name: string, least: number, most: number): number | undefined {
  const text = query[name]
  if (text === undefined) return undefined
  const number = Number(text)
  if (!/^\d+$/.test(text) || number < least || number > most)
    throw new HttpProblem(400, `${name} must be a whole number from ${least} to ${most}`)
  return number
}

export function timeIn(query: Query, name: string): string | undefined {
  const text = query[name]
  if (text === undefined) return undefined
  const time = new Date(text)
  if (!/^\d{4}-\d{2}-\d{2}T/.test(text) || Number.isNaN(time.getTime()))
    throw new HttpProblem(400, `${name} must be an RFC 3339 time, such as 2026-01-31T10:00:00Z`)
  return time.toISOString()
}

/** Throws 404 for none, and 400 where the provider must be named. */
export function onlyOne(nodeName: string, providerIds: readonly string[]): string {
  if (providerIds.length > 1)
    throw new HttpProblem(400, `providerId required: ${nodeName} is a node of ${providerIds.join(', ')}`, [
      { path: 'providerId', message: 'required: several providers have a node of this name' },
    ])
  const [providerId] = providerIds
  if (providerId === undefined) throw new HttpProblem(404, 'not found')
  return providerId
}

/** Of the page after this record. */
export function cursorOf({ providerId, nodeName }: InventoryRecord): string {
  return Buffer.from(JSON.stringify([providerId, nodeName])).toString('base64url')
}

function cursorFrom(text: string): { providerId: string; nodeName: string } {
  try {
    const [providerId, nodeName] = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (typeof providerId === 'string' && typeof nodeName === 'string') return { providerId, nodeName }
  } catch {
    // Said below, as for every other text that is no cursor.
  }
  throw new HttpProblem(400, 'cursor is not one that this API has given')
}
