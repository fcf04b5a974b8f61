/**
 * Requests and responses of the simulated cloud services.
 */
import type { IncomingHttpHeaders } from 'node:http'

export interface CloudRequest {
  method: string
  /** Scheme and host of the request, for links. */
  base: string
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  body: string
}

export interface CloudResponse {
  status: number
  /** A string is sent as is, everything else as JSON. */
  body?: unknown
  headers?: Record<string, string>
}

export type Handler = (request: CloudRequest) => CloudResponse
export type AsyncHandler = (request: CloudRequest) => Promise<CloudResponse>

export function bodyText(body: unknown): string {
  return typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)
}

/** `{rel, href}` of another page of the same list. */
export function pageLink(request: CloudRequest, rel: string, changes: Record<string, string | undefined>) {
  const query = new URLSearchParams(request.query)
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name)
    if (value !== undefined) query.append(name, value)
  }
  return { rel, href: `${request.base}${request.path}?${query}` }
}

/** `2026-11-15T00:55:41Z`, the time format of OpenStack. */
export function seconds(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`
}
