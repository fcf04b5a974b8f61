/**
 * Reads and validates the query parameters of a request.
 */
import type { FastifyRequest } from 'fastify'
import type { InventoryRecord } from '../contract/inventory.ts'
import type { OperatorVerdict } from '../contract/operator-api.ts'
import type { VerdictKind } from '../contract/verdict-kind.ts'
import { queryOf } from '../server/routes.ts'
import { HttpProblem } from '../server/server.ts'
import { maxEntries, maxId } from './api.ts'
import type { AuditFilter } from './audit.ts'
import type { Filter } from './filter.ts'
import { type Position, positionOf, type VerdictFilter } from './verdicts.ts'

export type Query = Record<string, string | undefined>

/** An empty value is the same as no value. */
export function queryValues(request: FastifyRequest): Query {
  return Object.fromEntries(Object.entries(queryOf(request)).filter(([, value]) => value !== ''))
}

export function paramsOf(request: FastifyRequest): Record<string, string> & { nodeName: string } {
  return { nodeName: '', ...(request.params as Record<string, string>) }
}

export function filterFrom(query: Query): Filter {
  return {
    ...optionalValue('providerId', query),
    ...optionalValue('nodeName', query),
    ...optionalValue('instanceId', query),
    ...optionalValue('state', query),
    ...optionalValue('networkId', query),
    ...optionalValue('subnetId', query),
    ...optionalValue('source', query),
    ...optionalValue('q', query),
    ...(query['cursor'] === undefined ? {} : { after: cursorFrom(query['cursor']) }),
  }
}

/** By the value of `selected`. */
const kinds: Partial<Record<string, VerdictKind>> = { true: 'selected', false: 'ignored' }

export function verdictFilterFrom(query: Query): Omit<VerdictFilter, 'limit'> {
  const kind = kinds[query['selected'] ?? '']
  return {
    ...optionalValue('config', query),
    ...optionalValue('port', query),
    ...optionalValue('vm', query),
    ...optionalValue('providerId', query),
    ...(kind && { kind }),
    ...(query['cursor'] !== undefined && { after: textsFrom(query['cursor'], 5) as unknown as Position }),
  }
}

export function auditFilterFrom(query: Query): AuditFilter {
  const [from, to] = [timeValue(query, 'from'), timeValue(query, 'to')]
  const before = integerValue(query, 'before', 1, maxId)
  return {
    ...optionalValue('action', query),
    ...optionalValue('object', query),
    ...optionalValue('caller', query),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(before !== undefined && { before }),
    limit: maxEntries,
  }
}

export function optionalValue<K extends string>(key: K, query: Query): { [P in K]?: string } {
  return (query[key] === undefined ? {} : { [key]: query[key] }) as { [P in K]?: string }
}

export function integerValue(query: Query, name: string, min: number, max: number): number | undefined {
  const text = query[name]
  if (text === undefined) return undefined
  const number = Number(text)
  if (!/^\d+$/.test(text) || number < min || number > max)
    throw new HttpProblem(400, `${name} must be an integer from ${min} to ${max}`)
  return number
}

export function timeValue(query: Query, name: string): string | undefined {
  const text = query[name]
  if (text === undefined) return undefined
  const time = new Date(text)
  if (!/^\d{4}-\d{2}-\d{2}T/.test(text) || Number.isNaN(time.getTime()))
    throw new HttpProblem(400, `${name} must be an RFC 3339 time, such as 2026-01-31T10:00:00Z`)
  return time.toISOString()
}

/** Throws 404 without a provider, and 400 with several. */
export function singleProvider(nodeName: string, providerIds: readonly string[]): string {
  if (providerIds.length > 1)
    throw new HttpProblem(
      400,
      `providerId required: several providers have a node ${nodeName}: ${providerIds.join(', ')}`,
      { errors: [{ path: 'providerId', message: 'required: several providers have a node of this name' }] },
    )
  const [providerId] = providerIds
  if (providerId === undefined) throw new HttpProblem(404, 'not found')
  return providerId
}

/** Cursor of the page after this record. */
export function cursorOf({ providerId, nodeName }: InventoryRecord): string {
  return cursorAt([providerId, nodeName])
}

/** Cursor of the page after this verdict. */
export function cursorOfVerdict(verdict: OperatorVerdict): string {
  return cursorAt(positionOf(verdict))
}

function cursorAt(texts: readonly string[]): string {
  return Buffer.from(JSON.stringify(texts)).toString('base64url')
}

function cursorFrom(text: string): { providerId: string; nodeName: string } {
  const [providerId = '', nodeName = ''] = textsFrom(text, 2)
  return { providerId, nodeName }
}

function textsFrom(cursor: string, length: number): string[] {
  try {
    const texts = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (Array.isArray(texts) && texts.length === length && texts.every(text => typeof text === 'string')) return texts
  } catch {
    // The error below covers this case.
  }
  throw new HttpProblem(400, 'cursor is invalid; use the one of the Link header')
}
