/**
 * Keystone v3: a token for an account and a project, cached until shortly before it expires, with its catalog.
 *
 * Concurrent calls share one renewal.
 */
import * as z from 'zod'
import { withoutSlash } from '../contract/url.ts'
import type { Http } from '../http-client/client.ts'
import { isUnauthorized, ServiceError } from '../http-client/errors.ts'
import { EndpointError } from './errors.ts'
import { type CloudLogin, loginKey, tokenRequest, withDomainId } from './login.ts'

const catalogEndpoint = z.looseObject({
  interface: z.string(),
  region: z.string().nullish(),
  region_id: z.string().nullish(),
  url: z.string(),
})
const catalogEntry = z.looseObject({ type: z.string(), endpoints: z.array(catalogEndpoint) })
const tokenAnswer = z.looseObject({
  token: z.looseObject({
    expires_at: z.string(),
    issued_at: z.string().nullish(),
    project: z.looseObject({ id: z.string() }).nullish(),
    catalog: z.array(catalogEntry).nullish(),
  }),
})

export type Catalog = z.infer<typeof catalogEntry>[]

export interface Token {
  value: string
  /** By the monotonic clock. */
  expiresAt: number
  lifeMs: number
  /** Undefined for a token without a project. */
  projectId: string | undefined
  catalog: Catalog
}

export interface Keystone {
  token(login: CloudLogin, signal?: AbortSignal): Promise<Token>
  /** Drops a token that a service refused, unless another call has renewed it already. */
  invalidate(login: CloudLogin, token: Token): void
}

export interface KeystoneOptions {
  http: Http
  now?: () => number
}

/** A token that expires within this time is renewed before use. */
const renewBeforeMs = 60_000

export function createKeystone({ http, now = () => performance.now() }: KeystoneOptions): Keystone {
  const tokens = new Map<string, Token>()
  const renewing = new Map<string, Promise<Token>>()

  async function issue(login: CloudLogin, signal?: AbortSignal): Promise<Token> {
    try {
      return await request(login, signal)
    } catch (error) {
      const other = isUnauthorized(error) ? withDomainId(login) : undefined
      if (!other) throw error
      return request(other, signal)
    }
  }

  async function request(login: CloudLogin, signal?: AbortSignal): Promise<Token> {
    const startedAt = now()
    const answer = await http.request({
      method: 'POST',
      url: `${identityUrl(login.url)}/auth/tokens`,
      body: tokenRequest(login),
      signal,
      repeatable: true,
      accept: status => status === 201 || status === 200,
    })
    const value = answer.headers['x-subject-token']
    const parsed = tokenAnswer.safeParse(answer.body)
    const lifeMs = parsed.success ? lifeOf(parsed.data.token) : Number.NaN
    if (typeof value !== 'string' || !parsed.success || Number.isNaN(lifeMs))
      throw new ServiceError(`${http.service}: the answer contains no usable token`, {
        service: http.service,
        kind: 'malformed',
      })
    const { project, catalog } = parsed.data.token
    const requested = login.project && 'id' in login.project ? login.project.id : undefined
    const projectId = requested ?? project?.id
    return { value, expiresAt: startedAt + lifeMs, lifeMs, projectId, catalog: catalog ?? [] }
  }

  return {
    async token(login, signal) {
      const key = loginKey(login)
      const known = tokens.get(key)
      if (known && known.expiresAt - now() > Math.min(renewBeforeMs, known.lifeMs / 4)) return known
      const running = renewing.get(key)
      if (running) return running
      const renewal = issue(login, signal)
        .then(token => {
          tokens.set(key, token)
          return token
        })
        .finally(() => renewing.delete(key))
      renewing.set(key, renewal)
      return renewal
    },
    invalidate(login, token) {
      const key = loginKey(login)
      if (tokens.get(key)?.value === token.value) tokens.delete(key)
    },
  }
}

/** Uses only times of Keystone's clock, which may differ from ours. */
function lifeOf({ expires_at, issued_at }: z.infer<typeof tokenAnswer>['token']): number {
  const issued = Date.parse(issued_at ?? '')
  return Date.parse(expires_at) - (Number.isNaN(issued) ? Date.now() : issued)
}

function identityUrl(url: string): string {
  const base = withoutSlash(url)
  return base.endsWith('/v3') ? base : `${base}/v3`
}

export interface EndpointChoice {
  type: 'network' | 'compute'
  interface: string
  /** Empty means any. */
  region: string
}

/** Region and interface must match: the service of another region would return another cloud's ports. */
export function endpointIn(catalog: Catalog, choice: EndpointChoice): string {
  const all = catalog.filter(entry => entry.type === choice.type).flatMap(entry => entry.endpoints)
  const found = all.find(
    endpoint =>
      endpoint.interface.toLowerCase() === choice.interface.toLowerCase() &&
      (choice.region === '' || [endpoint.region, endpoint.region_id].includes(choice.region)),
  )
  if (found) return withoutSlash(found.url)
  const requested = `${choice.interface} ${choice.type}${choice.region ? ` in region ${choice.region}` : ''}`
  const offered = [
    ...new Set(all.map(({ region, region_id, interface: face }) => `${region ?? region_id ?? '-'}/${face}`)),
  ]
  throw new EndpointError(
    `the catalog has no ${requested} endpoint; available: ${offered.length > 0 ? offered.slice(0, 10).join(', ') : 'none'}`,
  )
}
