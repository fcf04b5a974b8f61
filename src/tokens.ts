/**
 * Who a caller is, by its bearer token: a file names each token, who it belongs to and what it may.
 *
 * ```yaml
 * tokens:
 *   - name: operator
 *     token: …            # or sha256: hex digest of the token, so that the file holds no secret
 *     providers: ['*']    # provider ids that it may act for
 *     roles: [admin]
 * ```
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { parse } from 'yaml'
import { z } from 'zod'
import { fieldErrors } from './contract/problem.ts'
import { HttpProblem } from './http.ts'
import type { Log } from './log.ts'
import { type Reloaded, reload } from './reload.ts'

export interface Caller {
  name: string
  providers: readonly string[]
  roles: readonly string[]
}

export interface Tokens {
  /** Throws a 401 for a missing or unknown token. */
  callerOf(authorization: string | undefined): Promise<Caller>
  readonly problem: string | undefined
  close(): void
}

const entry = z
  .object({
    name: z.string().min(1).max(253),
    token: z.string().min(16, 'must have at least 16 characters').optional(),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/i, 'must be 64 hex digits')
      .optional(),
    providers: z.array(z.string().min(1)).default([]),
    roles: z.array(z.enum(['read', 'write', 'admin'])).default([]),
  })
  .refine(({ token, sha256 }) => (token === undefined) !== (sha256 === undefined), 'needs either token or sha256')
const file = z.object({ tokens: z.array(entry) })

type Known = Caller & { digest: Buffer }

export async function openTokens(path: string, log: Log): Promise<Tokens> {
  const known: Reloaded<Known[]> = await reload({ path, parse: knownFrom, log })
  return {
    async callerOf(authorization) {
      const token = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
      if (token === undefined) throw new HttpProblem(401, 'a bearer token is needed')
      await known.refresh()
      const digest = digestOf(token)
      // Every entry is compared, whichever matches: the time tells nothing.
      const found = known.value.filter(one => timingSafeEqual(one.digest, digest))[0]
      if (!found) throw new HttpProblem(401, 'the bearer token is not known')
      const { name, providers, roles } = found
      return { name, providers, roles }
    },
    get problem() {
      return known.problem
    },
    close: known.close,
  }
}

export function mayActFor(caller: Caller, providerId: string): boolean {
  return caller.providers.includes('*') || caller.providers.includes(providerId)
}

function knownFrom(text: string): Known[] {
  const parsed = file.safeParse(yamlFrom(text))
  if (!parsed.success) {
    const wrong = fieldErrors(parsed.error).map(({ path, message }) => `${path}: ${message}`)
    throw new Error(wrong.join('; '))
  }
  return parsed.data.tokens.map(({ name, token, sha256 = '', providers, roles }) => ({
    name,
    providers,
    roles,
    digest: token === undefined ? Buffer.from(sha256, 'hex') : digestOf(token),
  }))
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** A parser's own message would quote the line, and the line may hold a token. */
function yamlFrom(text: string): unknown {
  try {
    return parse(text, { prettyErrors: false })
  } catch {
    throw new Error('is not valid YAML')
  }
}
