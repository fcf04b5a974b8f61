/**
 * Access to the inventory. Without a token file everyone may read, unless the settings forbid it. Writing always requires an
 * admin token.
 */
import { HttpProblem } from '../server/server.ts'
import { bearerTokenIn, type Caller, openTokens } from '../server/tokens.ts'
import type { Log } from '../telemetry/log.ts'

export interface InventoryAuth {
  /** Throws 401 or 403. */
  mayRead(authorization: string | undefined): Promise<void>
  mayWrite(authorization: string | undefined): Promise<Caller>
  warnings(): string[]
  close(): Promise<void>
}

/** Kubernetes TokenReview: the user of a token. */
export interface Reviews {
  userOf(token: string): Promise<string | undefined>
  close(): Promise<void>
}

export interface InventoryAuthOptions {
  /** Default: true without a token file. */
  openReads?: boolean | undefined
  reviews?: Reviews | undefined
}

export async function openInventoryAuth(
  tokensFile: string | undefined,
  log: Log,
  { openReads = tokensFile === undefined, reviews }: InventoryAuthOptions = {},
): Promise<InventoryAuth> {
  const tokens = tokensFile === undefined ? undefined : await openTokens(tokensFile, log)
  const warning = 'authentication is off: everyone who can reach this API may read; set INVENTORY_TOKENS_FILE'
  if (openReads) log.warn(warning)

  async function callerOf(authorization: string | undefined): Promise<Caller> {
    const token = bearerTokenIn(authorization)
    if (token === undefined) throw new HttpProblem(401, 'a bearer token is required')
    const known = await tokens?.callerWith(token)
    if (known) return known
    const user = await reviews?.userOf(token)
    if (user === undefined) throw new HttpProblem(401, 'unknown bearer token')
    const caller = await tokens?.callerNamed('user', [user])
    if (!caller) throw new HttpProblem(403, `user ${user} has no role; add it to INVENTORY_TOKENS_FILE`)
    return caller
  }

  return {
    async mayRead(authorization) {
      if (openReads) return
      const { name, roles } = await callerOf(authorization)
      if (!roles.includes('read') && !roles.includes('admin'))
        throw new HttpProblem(403, `${name} has neither role read nor role admin`)
    },
    async mayWrite(authorization) {
      if (!tokens) throw new HttpProblem(403, 'writing requires an admin token; set INVENTORY_TOKENS_FILE')
      const caller = await callerOf(authorization)
      if (!caller.roles.includes('admin')) throw new HttpProblem(403, `${caller.name} does not have role admin`)
      return caller
    },
    warnings: () => [...(openReads ? [warning] : []), ...(tokens?.problem ? [`tokens: ${tokens.problem}`] : [])],
    async close() {
      tokens?.close()
      await reviews?.close()
    },
  }
}
