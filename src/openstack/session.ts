/**
 * Authenticated calls to one cloud, with one account in one project. A refused token is renewed once.
 */
import { notServiceUrl, serviceUrl } from '../contract/url.ts'
import type { Http, HttpAnswer } from '../http-client/client.ts'
import { isUnauthorized } from '../http-client/errors.ts'
import { EndpointError } from './errors.ts'
import { endpointIn, type Keystone, type Token } from './keystone.ts'
import { type CloudLogin, loginKey } from './login.ts'
import type { Query } from './paging.ts'

export type ServiceType = 'network' | 'compute'

export interface SessionOptions {
  keystone: Keystone
  login: CloudLogin
  services: Record<ServiceType, Http>
  /** Used instead of the catalog's endpoint. */
  endpoints: Partial<Record<ServiceType, string>>
  interface: string
  region: string
}

export interface Get {
  /** Relative to the service's version root. */
  path: string
  query?: Query
  /** Only what belongs to the project of the account. */
  ofProject?: boolean | undefined
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
  accept?: (status: number) => boolean
  unread?: boolean
}

export interface Session {
  /** Tells accounts apart, as a key of caches. */
  readonly key: string
  get(service: ServiceType, get: Get): Promise<HttpAnswer>
  /** Logs in if needed. Throws the error of Keystone or of the catalog. */
  check(service: ServiceType, signal?: AbortSignal): Promise<void>
}

export function createSession(options: SessionOptions): Session {
  const { keystone, login, services, endpoints } = options

  async function rootOf(type: ServiceType, signal: AbortSignal | undefined) {
    const token = await keystone.token(login, signal)
    const named = endpoints[type]
    const url = named ?? endpointIn(token.catalog, { type, interface: options.interface, region: options.region })
    const root = serviceUrl(url)
    if (root === undefined)
      throw new EndpointError(`the ${type} endpoint${named ? '' : ' of the catalog'} ${notServiceUrl}`)
    return { token, root: versioned(type, root) }
  }

  return {
    key: loginKey(login),
    async check(service, signal) {
      await rootOf(service, signal)
    },
    async get(service, { path, query = [], ofProject = false, headers = {}, signal, accept, unread = false }) {
      for (let attempt = 1; ; attempt++) {
        const { token, root } = await rootOf(service, signal)
        const text = new URLSearchParams(ofProject ? [...query, ['project_id', projectOf(token)]] : query).toString()
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
          keystone.invalidate(login, token)
        }
      }
    },
  }
}

/** Without the project, Neutron would list the ports of every project to an administrator. */
function projectOf({ projectId }: Token): string {
  if (projectId !== undefined) return projectId
  throw new EndpointError('the token has no project; name the project in the account')
}

/** Neutron with or without `/v2.0`, Nova with `/v2.1` or `/v2.1/{project}`. */
function versioned(type: ServiceType, root: string): string {
  if (type === 'network') return root.endsWith('/v2.0') ? root : `${root}/v2.0`
  return /\/v2(\.\d+)?(\/|$)/.test(new URL(root).pathname) ? root : `${root}/v2.1`
}
