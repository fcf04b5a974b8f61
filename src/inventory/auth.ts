/**
 * Who may read and who may write. Reading is open without a token file, as the documented calls are, unless the settings say
 * otherwise; writing never is.
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

/** Whose token it is, asked of a Kubernetes. */
export interface Reviews {
  userOf(token: string): Promise<string | undefined>
  close(): Promise<void>
}

export interface InventoryAuthOptions {
  /** Absent: only while there is no token file. */
  openReads?: boolean | undefined
  reviews?: Reviews | undefined
}

export async function openInventoryAuth(
  tokensFile: string | undefined,
  log: Log,
  { openReads = tokensFile === undefined, reviews }: InventoryAuthOptions = {},
): Promise<InventoryAuth> {
  const tokens = tokensFile === undefined ? undefined : await openTokens(tokensFile, log)
  const warning = 'authentication is off: everybody who reaches this API may read; set INVENTORY_TOKENS_FILE'
  if (openReads) log.warn(warning)

  async function callerOf(authorization: string | undefined): Promise<Caller> {
    const token = bearerTokenIn(authorization)
    if (token === undefined) throw new HttpProblem(401, 'a bearer token is required')
    const known = await tokens?.callerWith(token)
    if (known) return known
    const user = await reviews?.userOf(token)
    if (user === undefined) throw new HttpProblem(401, 'unknown bearer token')
    const caller = await tokens?.callerNamed('user', [user])
    if (!caller) throw new HttpProblem(403, `the user ${user} is given no role`)
    return caller
  }

  return {
    async mayRead(authorization) {
      if (openReads) return
      const { name, roles } = await callerOf(authorization)
      if (!roles.includes('read') && !roles.includes('admin'))
        throw new HttpProblem(403, `the token of ${name} has neither the role read nor admin`)
    },
    async mayWrite(authorization) {
      if (!tokens)
        throw new HttpProblem(403, 'writing needs an admin token, and no token file is set (INVENTORY_TOKENS_FILE)')
      const caller = await callerOf(authorization)
      if (!caller.roles.includes('admin'))
        throw new HttpProblem(403, `the token of ${caller.name} has not the role admin`)
      return caller
    },
    warnings: () => [...(openReads ? [warning] : []), ...(tokens?.problem ? [`tokens: ${tokens.problem}`] : [])],
    async close() {
      tokens?.close()
      await reviews?.close()
    },
  }
}
