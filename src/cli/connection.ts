/**
 * Requests to a service: at its URL, or through a forwarded port of its Pod, with the certificates that it must have.
 */
import { Readable } from 'node:stream'
import type { PortForward } from '../kube/port-forward.ts'

/** The certificate that a server must have. */
export interface ServerIdentity {
  /** Certificates of its CA. Default: those of the system. */
  ca?: string | undefined
  /** The name in its certificate. Default: the host of the URL. */
  servername?: string
  /** Where the user finds its CA, for errors. */
  caSource?: string | undefined
}

export interface Reachable {
  url: string
  tls?: ServerIdentity | undefined
  /** Opens a way to a Pod that has no URL. */
  forward?: () => Promise<PortForward>
}

export interface RequestOptions {
  /** Neither way follows a redirect, which would send the token to another host. */
  redirect: 'manual' | 'error'
  signal: AbortSignal
  headers?: Record<string, string>
  method?: 'POST'
  body?: string
}

export interface Connection {
  fetch: (path: string, options: RequestOptions) => Promise<Response>
  /** Why the forwarded port failed. */
  problem(): string | undefined
  close(): Promise<void>
}

export async function connectTo({ url, tls, forward }: Reachable): Promise<Connection> {
  const forwarded = await forward?.()
  const base = forwarded ? forwarded.url.replace('http:', tls ? 'https:' : 'http:') : url
  const trusting = tls && (await fetchTrusting(tls))
  return {
    fetch: (path, options) => (trusting?.fetch ?? fetch)(`${base}${path}`, options),
    problem: () => forwarded?.problem,
    async close() {
      await trusting?.close()
      await forwarded?.close()
    },
  }
}

/** The `fetch` of Node accepts no dispatcher of another version of undici, and the CLI has no `fetch` of undici. */
async function fetchTrusting({ ca, servername }: ServerIdentity): Promise<Pick<Connection, 'fetch' | 'close'>> {
  const { Agent, request } = await import('undici')
  const dispatcher = new Agent({ connect: { ...(ca && { ca }), ...(servername && { servername }) } })
  return {
    async fetch(url, { redirect: _, ...options }) {
      const { statusCode: status, headers, body } = await request(url, { method: 'GET', ...options, dispatcher })
      const pairs = Object.entries(headers).map(([name, value = '']) => [name, String(value)] as [string, string])
      // The constructor refuses a body with these.
      const content = [204, 304].includes(status) ? null : body
      if (content === null) await body.dump()
      return new Response(content && (Readable.toWeb(content) as ReadableStream), { status, headers: pairs })
    },
    close: () => dispatcher.destroy(),
  }
}
