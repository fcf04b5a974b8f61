/**
 * Who may speak for which provider. Without a token file everybody may, as the documented calls do, and that is said loudly.
 */
import { HttpProblem } from '../http.ts'
import type { Log } from '../log.ts'
import { type Caller, mayActFor, openTokens } from '../tokens.ts'

export interface Auth {
  /** Throws 401 or 403. */
  admit(authorization: string | undefined, providerId: string): Promise<Caller>
  warnings(): string[]
  close(): void
}

const anyone: Caller = { name: 'anyone', providers: ['*'], roles: [] }

export async function openAuth(tokensFile: string | undefined, log: Log): Promise<Auth> {
  if (tokensFile === undefined) {
    const warning = 'authentication is off: everybody who reaches this API may write; set VIOLA_TOKENS_FILE'
    log.warn(warning)
    return { admit: async () => anyone, warnings: () => [warning], close: () => {} }
  }
  const tokens = await openTokens(tokensFile, log)
  return {
    async admit(authorization, providerId) {
      const caller = await tokens.callerOf(authorization)
      if (!mayActFor(caller, providerId))
        throw new HttpProblem(403, `the token of ${caller.name} is not for provider ${providerId}`)
      return caller
    },
    warnings: () => (tokens.problem ? [`tokens: ${tokens.problem}`] : []),
    close: tokens.close,
  }
}
