/**
 * Calls to one cloud as one account in one project: with a token, renewed once when a service refuses it.
 */
import { urlOf, withoutSlash } from '../contract/url.ts'
import type { Http, HttpAnswer } from '../http-client/client.ts'
import { isUnauthorized } from '../http-client/errors.ts'
import type { CloudLogin } from './contrabass.ts'
import { type Catalog, EndpointError, endpointIn, type Keystone } from './keystone.ts'
import type { Query } from './paging.ts'

export type ServiceType = 'network' | 'compute'

export interface SessionOptions {
  keystone: Keystone
  login: CloudLogin
  projectId: string
  services: Record<ServiceType, Http>
  /** Instead of the catalog's entry. */
  endpoints: Partial<Record<ServiceType, string>>
  interface: string
  region: string
  /** Hosts that a catalog may send us to. */
  mayVisit?: (host: string) => boolean
}

export interface Get {
  /** Below the service's version root. */
  path: string
  query?: Query
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
  accept?: (status: number) => boolean
  unread?: boolean
}

export interface Session {
  readonly projectId: string
  get(service: ServiceType, get: Get): Promise<HttpAnswer>
  /** Logs in if need be; throws what Keystone or the catalog has against it. */
  check(service: ServiceType, signal?: AbortSignal): Promise<void>
}

export function createSession(options: SessionOptions): Session {
  const { keystone, login, projectId, services, endpoints, mayVisit = () => true } = options

  async function rootOf(type: ServiceType, signal: AbortSignal | undefined) {
    const token = await keystone.token(login, projectId, signal)
    const named = endpoints[type]
    const url = named ?? offered(token.catalog, type)
    return { token, root: versioned(type, url) }
  }

  function offered(catalog: Catalog, type: ServiceType): string {
    const url = endpointIn(catalog, { type, interface: options.interface, region: options.region })
    const hostname = urlOf(url)?.hostname
    if (hostname === undefined) throw new EndpointError(`the ${type} endpoint of the catalog is not an address`)
    if (mayVisit(hostname)) return url
    throw new EndpointError(`the catalog names ${hostname} for ${type}, which is not in ENDPOINT_ALLOWED_HOSTS`)
  }

  return {
    projectId,
    async check(service, signal) {
      await rootOf(service, signal)
    },
    async get(service, { path, query = [], headers = {}, signal, accept, unread = false }) {
      const text = new URLSearchParams(query).toString()
      for (let attempt = 1; ; attempt++) {
        const { token, root } = await rootOf(service, signal)
        const url = `${root}${path}${text === '' ? '' : `?${text}`}`
        try {
          return await services[service].request({
            method: 'GET',
            url,
            headers: { ...headers, 'x-auth-token': token.value },
            signal,
            unread,
            ...(accept && { accept }),
          })
        } catch (error) {
          if (!isUnauthorized(error) || attempt > 1) throw error
          keystone.refused(login, projectId, token)
        }
      }
    },
  }
}

/** Neutron with or without `/v2.0`, Nova with `/v2.1` or `/v2.1/{project}`. */
function versioned(type: ServiceType, url: string): string {
  const root = withoutSlash(url)
  if (type === 'network') return root.endsWith('/v2.0') ? root : `${root}/v2.0`
  return /\/v2(\.\d+)?(\/|$)/.test(new URL(root).pathname) ? root : `${root}/v2.1`
}
