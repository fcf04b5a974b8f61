/**
 * The credentials in the headers of a request: a bearer token, or the cookie of a browser that has signed in.
 */
import type { FastifyRequest } from 'fastify'

/** The prefix makes browsers refuse the cookie from other hosts and without TLS, except on the local machine. */
const cookieName = '__Host-multinic'
const attributes = 'Path=/; Secure; HttpOnly; SameSite=Strict'

export function bearerTokenIn(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
}

/**
 * The cookie counts for reads only: whatever changes something needs the token itself, which a page of another site does not
 * have. SameSite lets pages of other ports and hosts of the domain send it: it counts only if a page of this server asks, or a
 * person.
 */
export function tokenIn({ method, headers }: FastifyRequest): string | undefined {
  if (headers.authorization !== undefined || (method !== 'GET' && method !== 'HEAD'))
    return bearerTokenIn(headers.authorization)
  const { 'sec-fetch-site': from = 'none' } = headers
  if (from !== 'same-origin' && from !== 'none') return undefined
  const cookies = (headers.cookie ?? '').split(';').map(one => one.trim())
  return cookies.find(one => one.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1) || undefined
}

/** The value of Set-Cookie. An empty token signs out. */
export function sessionCookie(token: string, maxAgeSeconds: number): string {
  return `${cookieName}=${token}; ${attributes}; Max-Age=${maxAgeSeconds}`
}

/** The user that a proxy has authenticated, with its groups. Undefined for a caller that speaks for itself. */
export function impersonatedIn({ headers }: FastifyRequest): { user: string; groups: string[] } | undefined {
  const [users, groups] = ['impersonate-user', 'impersonate-group'].map(name =>
    [headers[name] ?? []]
      .flat()
      .flatMap(list => list.split(','))
      .map(one => one.trim())
      .filter(one => one !== ''),
  ) as [string[], string[]]
  return users.length === 0 && groups.length === 0 ? undefined : { user: users.join(','), groups }
}
