/**
 * Requests of the tests to the cloud, with an account in a project. Returns raw responses, so that tests can compare them.
 */
import { request } from 'undici'
import { passwords, urlOf } from './addresses.ts'

export type ApiName = 'keystone' | 'neutron' | 'nova' | 'placement' | 'glance'
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface ApiResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field of a response
  body: any
}

export interface Account {
  user: string
  password: string
  /** Name or ID of a project. */
  project: { name: string } | { id: string }
}

export interface Api {
  raw(service: ApiName, method: Method, path: string, body?: unknown): Promise<ApiResponse>
  /** Returns the body, or throws if the status is not 2xx. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field of a response
  call(service: ApiName, method: Method, path: string, body?: unknown): Promise<any>
  token(): Promise<string>
}

export const administrator: Account = { user: 'admin', password: passwords.admin, project: { name: 'admin' } }

const defaultDomain = { id: 'default' }

export interface RequestOptions {
  method?: Method
  token?: string
  headers?: Record<string, string>
  /** A Buffer is sent unchanged, everything else as JSON. */
  body?: unknown
}

export async function send(
  url: string,
  { method = 'GET', token, headers = {}, body }: RequestOptions = {},
): Promise<ApiResponse> {
  const isBinary = Buffer.isBuffer(body)
  const type = isBinary ? 'application/octet-stream' : 'application/json'
  const response = await request(url, {
    method,
    headers: {
      ...(token && { 'x-auth-token': token }),
      ...(body !== undefined && { 'content-type': type }),
      ...headers,
    },
    ...(body !== undefined && { body: isBinary ? body : JSON.stringify(body) }),
    headersTimeout: 120_000,
    bodyTimeout: 120_000,
  })
  const text = await response.body.text()
  return { status: response.statusCode, headers: response.headers, text, body: parse(text) }
}

export function loginBody({ user, password, project }: Account): object {
  const scope = { project: 'id' in project ? project : { ...project, domain: defaultDomain } }
  const identity = { methods: ['password'], password: { user: { name: user, password, domain: defaultDomain } } }
  return { auth: { identity, scope } }
}

export function apiAs(account: Account): Api {
  let cachedToken: string | undefined

  async function token(): Promise<string> {
    if (cachedToken !== undefined) return cachedToken
    const response = await send(`${urlOf('keystone')}/v3/auth/tokens`, { method: 'POST', body: loginBody(account) })
    if (response.status !== 201)
      throw new Error(`login of ${account.user}: ${response.status} ${response.text.slice(0, 500)}`)
    cachedToken = String(response.headers['x-subject-token'])
    return cachedToken
  }

  const raw: Api['raw'] = async (service, method, path, body) => {
    const url = `${urlOf(service)}${path}`
    const response = await send(url, { method, token: await token(), body })
    if (response.status !== 401) return response
    cachedToken = undefined
    return send(url, { method, token: await token(), body })
  }

  return {
    raw,
    async call(service, method, path, body) {
      const { status, text, body: result } = await raw(service, method, path, body)
      if (status < 200 || status > 299)
        throw new Error(`${service}: ${method} ${path}: ${status} ${text.slice(0, 500)}`)
      return result
    },
    token,
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
