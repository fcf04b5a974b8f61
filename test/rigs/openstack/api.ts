/**
 * Requests to the cloud as an account in a project, for what a test does to it. Raw answers, so that shapes can be compared.
 */
import { request } from 'undici'
import { passwords, urlOf } from './addresses.ts'

export type ApiName = 'keystone' | 'neutron' | 'nova' | 'placement' | 'glance'
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into as they come
  body: any
}

export interface Account {
  user: string
  password: string
  /** A project's name or its id. */
  project: { name: string } | { id: string }
}

export interface Api {
  ask(service: ApiName, method: Method, path: string, body?: unknown): Promise<Answer>
  /** The body of the answer; an error unless it is a 2xx. */
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into as they come
  call(service: ApiName, method: Method, path: string, body?: unknown): Promise<any>
  token(): Promise<string>
}

export const administrator: Account = { user: 'admin', password: passwords.admin, project: { name: 'admin' } }

const defaultDomain = { id: 'default' }

export interface Sending {
  method?: Method
  token?: string
  headers?: Record<string, string>
  /** Bytes go as they are, all else as JSON. */
  body?: unknown
}

export async function send(url: string, { method = 'GET', token, headers = {}, body }: Sending = {}): Promise<Answer> {
  const raw = Buffer.isBuffer(body)
  const type = raw ? 'application/octet-stream' : 'application/json'
  const answer = await request(url, {
    method,
    headers: {
      ...(token && { 'x-auth-token': token }),
      ...(body !== undefined && { 'content-type': type }),
      ...headers,
    },
    ...(body !== undefined && { body: raw ? body : JSON.stringify(body) }),
    headersTimeout: 120_000,
    bodyTimeout: 120_000,
  })
  const text = await answer.body.text()
  return { status: answer.statusCode, headers: answer.headers, text, body: parsed(text) }
}

export function loginBody({ user, password, project }: Account): object {
  const scope = { project: 'id' in project ? project : { ...project, domain: defaultDomain } }
  const identity = { methods: ['password'], password: { user: { name: user, password, domain: defaultDomain } } }
  return { auth: { identity, scope } }
}

export function apiAs(account: Account): Api {
  let held: string | undefined

  async function token(): Promise<string> {
    if (held !== undefined) return held
    const answer = await send(`${urlOf('keystone')}/v3/auth/tokens`, { method: 'POST', body: loginBody(account) })
    if (answer.status !== 201)
      throw new Error(`login of ${account.user}: ${answer.status} ${answer.text.slice(0, 500)}`)
    held = String(answer.headers['x-subject-token'])
    return held
  }

  const ask: Api['ask'] = async (service, method, path, body) => {
    const url = `${urlOf(service)}${path}`
    const answer = await send(url, { method, token: await token(), body })
    if (answer.status !== 401) return answer
    held = undefined
    return send(url, { method, token: await token(), body })
  }

  return {
    ask,
    async call(service, method, path, body) {
      const { status, text, body: said } = await ask(service, method, path, body)
      if (status < 200 || status > 299)
        throw new Error(`${service}: ${method} ${path}: ${status} ${text.slice(0, 500)}`)
      return said
    },
    token,
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
