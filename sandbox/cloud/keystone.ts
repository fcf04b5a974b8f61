/**
 * Keystone v3: login by password, application credential or token, scoped to a project; tokens that expire; the catalog.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { CloudRequest, CloudResponse, Handler } from './messages.ts'
import type { CloudState } from './state.ts'

export interface Tokens {
  /** Reports whether a request has a valid token. */
  isValid(request: CloudRequest): boolean
  /** As after a rotation of all Fernet keys. */
  revokeAll(): void
}

interface Token {
  expiresAt: Date
  body: unknown
}

interface ApplicationCredential {
  id: string
  name: string
  secret: string
  expiresAt: Date | undefined
}

export interface Keystone {
  handler: Handler
  tokens: Tokens
}

export const keystoneInternalError = {
  error: {
    code: 500,
    message: 'An unexpected error prevented the server from fulfilling your request.',
    title: 'Internal Server Error',
  },
}

/** `catalog` is a function because the other servers start after this one. */
export function createKeystone(cloudState: CloudState, catalog: () => { network: string; compute: string }): Keystone {
  const issued = new Map<string, Token>()
  const credentials = new Map<string, ApplicationCredential>()

  function validToken(id: string | undefined): Token | undefined {
    const token = id ? issued.get(id) : undefined
    if (token && token.expiresAt.getTime() > cloudState.now().getTime()) return token
    if (id) issued.delete(id)
    return undefined
  }

  function login(request: CloudRequest): CloudResponse {
    const auth = parsed(request.body)?.auth
    if (!auth?.identity) return failure(400, 'Bad Request', "'auth' is a required property")
    const method = auth.identity.methods?.[0] ?? ''
    const credential = auth.identity.application_credential?.id
    if (credential !== undefined && !credentials.has(credential)) return credentialNotFound(credential)
    if (method === 'token' && !validToken(auth.identity.token?.id))
      return failure(404, 'Not Found', 'Failed to validate token')
    if (!isKnown(auth.identity, method) || !isScoped(auth.scope, method)) return unauthorized(request)

    const now = cloudState.now()
    const expiresAt = new Date(Math.floor(now.getTime() / 1000 + cloudState.faults.tokenSeconds) * 1000)
    const id = `gAAAAA${randomBytes(90).toString('base64url')}`
    const body = tokenBody(cloudState, catalog(), { method, issuedAt: now, expiresAt })
    issued.set(id, { expiresAt, body })
    return { status: 201, body, headers: { 'x-subject-token': id, vary: 'X-Auth-Token' } }
  }

  function isKnown(identity: NonNullable<Login['auth']>['identity'] & object, method: string): boolean {
    if (method === 'token') return validToken(identity.token?.id) !== undefined
    if (method === 'application_credential') {
      const given = identity.application_credential
      const found = [...credentials.values()].find(({ id, name }) =>
        given?.id === undefined ? given?.name === name && isOurUser(given?.user) : given.id === id,
      )
      if (!found || found.secret !== given?.secret) return false
      return found.expiresAt === undefined || found.expiresAt > cloudState.now()
    }
    const user = identity.password?.user
    return user?.password === cloudState.user.password && isOurUser(user)
  }

  function isOurUser(user: LoginUser | undefined): boolean {
    if (user?.id !== undefined) return user.id === cloudState.user.id
    return user?.name === cloudState.user.name && isOurDomain(user.domain, cloudState)
  }

  /** An application credential has its own project, and asks for no scope. */
  function isScoped(scope: NonNullable<Login['auth']>['scope'], method: string): boolean {
    if (method === 'application_credential') return scope === undefined
    const { id, name, domain } = scope?.project ?? {}
    if (id !== undefined) return id === cloudState.project.id
    return name === cloudState.project.name && isOurDomain(domain, cloudState)
  }

  function createCredential(request: CloudRequest): CloudResponse {
    if (!validToken(header(request, 'x-auth-token'))) return unauthorized(request)
    const { name = '', expires_at } = parsed(request.body)?.application_credential ?? {}
    const id = randomBytes(16).toString('hex')
    const secret = randomBytes(64).toString('base64url')
    credentials.set(id, { id, name, secret, expiresAt: expires_at ? new Date(expires_at) : undefined })
    const body = { id, name, secret, project_id: cloudState.project.id, expires_at: expires_at ?? null }
    return { status: 201, body: { application_credential: body } }
  }

  function deleteCredential(request: CloudRequest, id: string): CloudResponse {
    if (!validToken(header(request, 'x-auth-token'))) return unauthorized(request)
    if (credentials.delete(id)) return { status: 204 }
    return credentialNotFound(id)
  }

  function credentialNotFound(id: string): CloudResponse {
    return failure(404, 'Not Found', `Could not find Application Credential: ${id}.`)
  }

  function check(request: CloudRequest): CloudResponse {
    if (!validToken(header(request, 'x-auth-token'))) return unauthorized(request)
    const token = validToken(header(request, 'x-subject-token'))
    return token ? { status: 200, body: token.body } : noToken(request)
  }

  function revoke(request: CloudRequest): CloudResponse {
    if (!validToken(header(request, 'x-auth-token'))) return unauthorized(request)
    const id = header(request, 'x-subject-token')
    if (id === undefined || !issued.delete(id)) return noToken(request)
    return { status: 204 }
  }

  return {
    handler(request) {
      const { method, path } = request
      if (path === '/' || path === '/v3') return versions(request)
      if (path === '/v3/auth/tokens' && method === 'POST') return login(request)
      if (path === '/v3/auth/tokens' && method === 'GET') return check(request)
      if (path === '/v3/auth/tokens' && method === 'DELETE') return revoke(request)
      const ofUser = `/v3/users/${cloudState.user.id}/application_credentials`
      if (path === ofUser && method === 'POST') return createCredential(request)
      if (path.startsWith(`${ofUser}/`) && method === 'DELETE')
        return deleteCredential(request, path.slice(ofUser.length + 1))
      return failure(404, 'Not Found', 'The resource could not be found.')
    },
    tokens: {
      isValid: request => validToken(header(request, 'x-auth-token')) !== undefined,
      revokeAll: () => issued.clear(),
    },
  }
}

/** The 401 of Neutron and Nova: their middleware sends the same for every cause. */
export function unauthenticated(keystone: string): CloudResponse {
  return {
    status: 401,
    body: {
      error: { code: 401, title: 'Unauthorized', message: 'The request you have made requires authentication.' },
    },
    headers: { 'www-authenticate': `Keystone uri="${keystone}"` },
  }
}

interface LoginDomain {
  name?: string
  id?: string
}

interface LoginUser {
  id?: string
  name?: string
  password?: string
  domain?: LoginDomain
}

interface Login {
  auth?: {
    identity?: {
      methods?: string[]
      password?: { user?: LoginUser }
      application_credential?: { id?: string; name?: string; user?: LoginUser; secret?: string }
      token?: { id?: string }
    }
    scope?: { project?: { id?: string; name?: string; domain?: LoginDomain } }
  }
  application_credential?: { name?: string; expires_at?: string }
}

function parsed(body: string): Login | undefined {
  try {
    return JSON.parse(body) as Login
  } catch {
    return undefined
  }
}

function isOurDomain(domain: LoginDomain | undefined, cloudState: CloudState): boolean {
  return domain?.id === 'default' || domain?.name?.toLowerCase() === cloudState.user.domain.toLowerCase()
}

function tokenBody(
  cloudState: CloudState,
  urls: { network: string; compute: string },
  { method, issuedAt, expiresAt }: { method: string; issuedAt: Date; expiresAt: Date },
): unknown {
  const domain = { id: 'default', name: cloudState.user.domain }
  const service = (type: string, name: string, url: string) => ({
    endpoints: ['public', 'internal', 'admin'].map(each => ({
      id: idOf(`${type} ${each}`),
      interface: each,
      region_id: cloudState.region,
      url,
      region: cloudState.region,
    })),
    id: idOf(type),
    type,
    name,
  })
  return {
    token: {
      methods: [method],
      user: { domain, id: cloudState.user.id, name: cloudState.user.name, password_expires_at: null },
      audit_ids: [randomBytes(16).toString('base64url')],
      expires_at: micros(expiresAt),
      issued_at: micros(issuedAt),
      project: { domain, id: cloudState.project.id, name: cloudState.project.name },
      is_domain: false,
      roles: [
        { id: idOf('admin'), name: 'admin' },
        { id: idOf('member'), name: 'member' },
        { id: idOf('reader'), name: 'reader' },
      ],
      catalog: [service('network', 'neutron', urls.network), service('compute', 'nova', `${urls.compute}/v2.1`)],
    },
  }
}

function versions({ base, path }: CloudRequest): CloudResponse {
  const version = {
    id: 'v3.14',
    status: 'stable',
    updated: '2020-04-07T00:00:00Z',
    links: [{ rel: 'self', href: `${base}/v3/` }],
    'media-types': [{ base: 'application/json', type: 'application/vnd.openstack.identity-v3+json' }],
  }
  return path === '/' ? { status: 300, body: { versions: { values: [version] } } } : { status: 200, body: { version } }
}

function unauthorized({ base }: CloudRequest): CloudResponse {
  return {
    ...failure(401, 'Unauthorized', 'The request you have made requires authentication.'),
    headers: { 'www-authenticate': `Keystone uri="${base}/v3"` },
  }
}

function noToken(request: CloudRequest): CloudResponse {
  return failure(404, 'Not Found', `Could not find token: ${header(request, 'x-subject-token') ?? ''}.`)
}

function failure(code: number, title: string, message: string): CloudResponse {
  return { status: code, body: { error: { code, message, title } } }
}

function header(request: CloudRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value[0] : value
}

function idOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

function micros(date: Date): string {
  return `${date.toISOString().slice(0, 19)}.000000Z`
}
