/**
 * Authenticates callers by bearer token, client certificate or Kubernetes user, and authorizes them per provider. Without a
 * token file everyone may write, and Viola warns.
 */
import { HttpProblem } from '../server/server.ts'
import { openTokenReviews } from '../server/token-review.ts'
import { bearerTokenIn, type Caller, mayActFor, openTokens } from '../server/tokens.ts'
import type { Log } from '../telemetry/log.ts'
import type { ViolaSettings } from './config.ts'
import { connectOwnCluster } from './targets/credentials.ts'
import type { ClientCertificate } from './tls.ts'

/** Credentials of a request. */
export interface RequestCredentials {
  authorization: string | undefined
  certificate: ClientCertificate | undefined
}

export interface Auth {
  /** Throws 401 or 403. */
  admit(credentials: RequestCredentials, providerId: string): Promise<Caller>
  warnings(): string[]
  close(): Promise<void>
}

const anyone: Caller = { name: 'anyone', providers: ['*'], roles: [] }

export async function openAuth(settings: ViolaSettings, log: Log): Promise<Auth> {
  const { VIOLA_TOKENS_FILE: tokensFile, VIOLA_TOKEN_AUDIENCE: audience } = settings
  if (tokensFile === undefined) {
    const warning = 'authentication is off: everyone who can reach this API may write; set VIOLA_TOKENS_FILE'
    log.warn(warning)
    return { admit: async () => anyone, warnings: () => [warning], close: async () => {} }
  }
  const tokens = await openTokens(tokensFile, log)
  const reviews =
    settings.VIOLA_TOKEN_REVIEW === 'true'
      ? openTokenReviews(() => connectOwnCluster(settings, log), audience)
      : undefined

  async function byToken(token: string): Promise<Caller> {
    const known = await tokens.callerWith(token)
    if (known) return known
    const user = await reviews?.userOf(token)
    if (user === undefined) throw new HttpProblem(401, 'unknown bearer token')
    return named('user', [user])
  }

  async function byCertificate(certificate: ClientCertificate): Promise<Caller> {
    if (!certificate.trusted) throw new HttpProblem(401, `client certificate not trusted: ${certificate.why}`)
    return named('certificate', certificate.names)
  }

  /** The identity is verified; its providers come from the token file. */
  async function named(by: 'certificate' | 'user', names: string[]): Promise<Caller> {
    const caller = await tokens.callerNamed(by, names)
    if (!caller) throw new HttpProblem(403, `${by} ${names.join(', ')} has no providers; add it to VIOLA_TOKENS_FILE`)
    return caller
  }

  return {
    async admit({ authorization, certificate }, providerId) {
      const token = bearerTokenIn(authorization)
      const caller =
        token !== undefined ? await byToken(token) : certificate ? await byCertificate(certificate) : undefined
      if (!caller) throw new HttpProblem(401, 'a bearer token or a client certificate is required')
      if (!mayActFor(caller, providerId))
        throw new HttpProblem(403, `${caller.name} may not act for provider ${providerId}`)
      return caller
    },
    warnings: () => (tokens.problem ? [`tokens: ${tokens.problem}`] : []),
    async close() {
      tokens.close()
      await reviews?.close()
    },
  }
}
