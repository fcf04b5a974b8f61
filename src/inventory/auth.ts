/**
 * Who may read and who may write. Reading is open without a token file, as the documented calls are; writing never is.
 */
import { HttpProblem } from '../http.ts'
import type { Log } from '../log.ts'
import { type Caller, openTokens } from '../tokens.ts'

export interface InventoryAuth {
  /** Throws 401 or 403. */
  mayRead(authorization: string | undefined): Promise<void>
  mayWrite(authorization: string | undefined): Promise<Caller>
  warnings(): string[]
  close(): void
}

export async function openInventoryAuth(tokensFile: string | undefined, log: Log): Promise<InventoryAuth> {
  if (tokensFile === undefined) {
    const warning = 'authentication is off: everybody who reaches this API may read; set INVENTORY_TOKENS_FILE'
    log.warn(warning)
    return {
      mayRead: async () => {},
      mayWrite: async () => {
        throw new HttpProblem(403, 'writing needs an admin token, and no token file is set (INVENTORY_TOKENS_FILE)')
      },
      warnings: () => [warning],
      close: () => {},
    }
  }
  const tokens = await openTokens(tokensFile, log)
  return {
    async mayRead(authorization) {
      const { name, roles } = await tokens.callerOf(authorization)
      if (!roles.includes('read') && !roles.includes('admin'))
        throw new HttpProblem(403, `the token of ${name} has neither the role read nor admin`)
    },
    async mayWrite(authorization) {
      const caller = await tokens.callerOf(authorization)
      if (!caller.roles.includes('admin'))
        throw new HttpProblem(403, `the token of ${caller.name} has not the role admin`)
      return caller
    },
    warnings: () => (tokens.problem ? [`tokens: ${tokens.problem}`] : []),
    close: tokens.close,
  }
}
