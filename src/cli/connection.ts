/**
 * Requests to a service: at its URL, or through a forwarded port of its Pod, with the certificates that it must have.
 */
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

export interface Connection {
  fetch: (path: string, init: RequestInit) => Promise<Response>
  /** Why the forwarded port failed. */
  problem(): string | undefined
  close(): Promise<void>
}

export async function connectTo({ url, tls, forward }: Reachable): Promise<Connection> {
  const forwarded = await forward?.()
  const base = forwarded ? forwarded.url.replace('http:', tls ? 'https:' : 'http:') : url
  const trusting = tls && (await fetchTrusting(tls))
  return {
    fetch: (path, init) => (trusting?.fetch ?? fetch)(`${base}${path}`, init),
    problem: () => forwarded?.problem,
    async close() {
      await trusting?.close()
      await forwarded?.close()
    },
  }
}

/** The `fetch` of Node accepts no dispatcher of another version of undici. */
async function fetchTrusting({ ca, servername }: ServerIdentity): Promise<Pick<Connection, 'fetch' | 'close'>> {
  const undici = await import('undici')
  const dispatcher = new undici.Agent({ connect: { ...(ca && { ca }), ...(servername && { servername }) } })
  const init = (options: RequestInit) => ({ ...options, dispatcher }) as import('undici').RequestInit
  return {
    fetch: async (url, options) => (await undici.fetch(url, init(options))) as unknown as Response,
    close: () => dispatcher.destroy(),
  }
}
