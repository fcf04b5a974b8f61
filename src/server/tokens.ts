/**
 * Static tokens, from a file that is reloaded when it changes. A token stands for a user and groups; RBAC of the cluster
 * decides what they may do.
 *
 * ```yaml
 * tokens:
 *   - user: ci
 *     groups: [network-team]
 *     sha256: …            # hex digest of the token; or token: the token itself
 * ```
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { parse } from 'yaml'
import * as z from 'zod'
import { fieldErrors } from '../contract/problem.ts'
import type { Log } from '../telemetry/log.ts'
import { reload } from './reload.ts'
import type { User } from './reviews.ts'

export interface StaticTokens {
  userOf(token: string): Promise<User | undefined>
  /** Why the current content of the file is not in effect. */
  readonly problem: string | undefined
  close(): void
}

const entry = z
  .strictObject({
    user: z.string().min(1).max(253),
    groups: z.array(z.string().min(1).max(253)).max(100).default([]),
    token: z.string().min(16, 'must have at least 16 characters').optional(),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/i, 'must be 64 hex digits')
      .optional(),
  })
  .refine(({ token, sha256 }) => (token === undefined) !== (sha256 === undefined), 'set either token or sha256')
const file = z.strictObject({ tokens: z.array(entry) })

interface Known {
  user: User
  digest: Buffer
}

export async function openTokens(path: string, log: Log): Promise<StaticTokens> {
  const known = await reload<Known[]>({ path, parse: knownFrom, log })
  return {
    async userOf(token) {
      await known.refresh()
      const digest = digestOf(token)
      // Compares with every entry, so that the time reveals nothing.
      return known.value.filter(one => timingSafeEqual(one.digest, digest))[0]?.user
    },
    get problem() {
      return known.problem
    },
    close: known.close,
  }
}

export function knownFrom(text: string): Known[] {
  const parsed = file.safeParse(yamlFrom(text))
  if (!parsed.success) {
    const mistakes = fieldErrors(parsed.error).map(({ path, message }) => `${path || 'file'}: ${message}`)
    throw new Error(mistakes.join('; '))
  }
  return parsed.data.tokens.map(({ user, groups, token, sha256 = '' }) => ({
    user: { user, groups },
    digest: token === undefined ? Buffer.from(sha256, 'hex') : digestOf(token),
  }))
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** The message of the parser would quote the line, which may contain a token. */
function yamlFrom(text: string): unknown {
  try {
    return parse(text, { prettyErrors: false })
  } catch {
    throw new Error('is not valid YAML')
  }
}
