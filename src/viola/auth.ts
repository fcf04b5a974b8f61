/**
 * Who may speak for which provider: by bearer token, by client certificate, or as a user of Kubernetes. Without a token file
 * everybody may, as the documented calls do, and that is said loudly.
 */

import { HttpProblem } from '../server/server.ts'
import { openTokenReviews } from '../server/token-review.ts'
import { bearerTokenIn, type Caller, mayActFor, openTokens } from '../server/tokens.ts'
import type { Log } from '../telemetry/log.ts'
import { connectLocal } from './targets/credentials.ts'
import type { ViolaSettings } from './config.ts'
import type { ClientCertificate } from './tls.ts'

/** What a request brings to say who it is from. */
export interface Credentials {
  authorization: string | undefined
  certificate: ClientCertificate | undefined
}

export interface Auth {
  /** Throws 401 or 403. */
  admit(credentials: Credentials, providerId: string): Promise<Caller>
  warnings(): string[]
  close(): Promise<void>
}

const anyone: Caller = { name: 'anyone', providers: ['*'], roles: [] }

export async function openAuth(settings: ViolaSettings, log: Log): Promise<Auth> {
  const { VIOLA_TOKENS_FILE: tokensFile, VIOLA_TOKEN_AUDIENCE: audience } = settings
  if (tokensFile === undefined) {
    const warning = 'authentication is off: everybody who reaches this API may write; set VIOLA_TOKENS_FILE'
    log.warn(warning)
    return { admit: async () => anyone, warnings: () => [warning], close: async () => {} }
  }
  const tokens = await openTokens(tokensFile, log)
  const reviews =
    settings.VIOLA_TOKEN_REVIEW === 'true' ? openTokenReviews(() => connectLocal(settings, log), audience) : undefined

  async function byToken(token: string): Promise<Caller> {
    const known = await tokens.callerWith(token)
    if (known) return known
    const user = await reviews?.userOf(token)
    if (user === undefined) throw new HttpProblem(401, 'unknown bearer token')
    return named('user', [user])
  }

  async function byCertificate(certificate: ClientCertificate): Promise<Caller> {
    if (!certificate.trusted) throw new HttpProblem(401, `the client certificate is not trusted: ${certificate.why}`)
    return named('certificate', certificate.names)
  }

  /** Who it is, is known for sure; what it may, only the file says. */
  async function named(by: 'certificate' | 'user', names: string[]): Promise<Caller> {
    const caller = await tokens.callerNamed(by, names)
    if (!caller) throw new HttpProblem(403, `the ${by} ${names.join(', ')} is given no provider`)
    return caller
  }

  return {
    async admit({ authorization, certificate }, providerId) {
      const token = bearerTokenIn(authorization)
      const caller =
        token !== undefined ? await byToken(token) : certificate ? await byCertificate(certificate) : undefined
      if (!caller) throw new HttpProblem(401, 'a bearer token or a client certificate is needed')
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
