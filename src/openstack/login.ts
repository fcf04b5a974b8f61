/**
 * An account of Keystone v3 and the project that it uses. Contrabass and clouds.yaml provide one.
 */
import { createHash } from 'node:crypto'

export type Domain = { id: string } | { name: string }

export type User = { id: string } | { name: string; domain: Domain }

export type Project = { id: string } | { name: string; domain: Domain }

export type Identity =
  | { method: 'password'; user: User; password: string }
  | { method: 'application_credential'; credential: { id: string } | { name: string; user: User }; secret: string }
  | { method: 'token'; token: string }

export interface CloudLogin {
  /** Of Keystone, with or without `/v3`. */
  url: string
  identity: Identity
  /** Absent for an application credential: it belongs to one project. */
  project?: Project
}

/** The body of `POST /v3/auth/tokens`. */
export function tokenRequest({ identity, project }: CloudLogin): object {
  return { auth: { identity: identityRequest(identity), ...(project && { scope: { project } }) } }
}

function identityRequest(identity: Identity): object {
  const { method } = identity
  switch (method) {
    case 'password':
      return { methods: [method], password: { user: { ...identity.user, password: identity.password } } }
    case 'application_credential':
      return { methods: [method], [method]: { ...identity.credential, secret: identity.secret } }
    case 'token':
      return { methods: [method], token: { id: identity.token } }
  }
}

/** The same account with its domain as an ID. Undefined if its domain has no name that could be an ID. */
export function withDomainId(login: CloudLogin): CloudLogin | undefined {
  const { identity } = login
  if (identity.method !== 'password' || !('name' in identity.user)) return undefined
  const { name, domain } = identity.user
  if (!('name' in domain) || !looksLikeId(domain.name)) return undefined
  return { ...login, identity: { ...identity, user: { name, domain: { id: domain.name } } } }
}

/** IDs of Keystone have 32 hex digits. The first domain of a cloud has the ID `default`. */
function looksLikeId(domain: string): boolean {
  return /^[0-9a-f]{32}$/i.test(domain) || domain === 'default'
}

/** Tells accounts apart, as a key of caches. Hashed, because an account contains its password. */
export function loginKey(login: CloudLogin): string {
  return createHash('sha256').update(JSON.stringify(login)).digest('hex')
}
