/**
 * Who a caller is, by its bearer token, or by a name that somebody else has made sure of: a file says what each may.
 *
 * ```yaml
 * tokens:
 *   - name: operator
 *     token: …            # or sha256: hex digest of the token, so that the file holds no secret
 *                         # or certificate: name in a client certificate; or user: name of a Kubernetes user
 *     providers: ['*']    # provider ids that it may act for
 *     roles: [admin]
 * ```
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { parse } from 'yaml'
import { z } from 'zod'
import { fieldErrors } from '../contract/problem.ts'
import type { Log } from '../telemetry/log.ts'
import { type Reloaded, reload } from './reload.ts'
import { HttpProblem } from './server.ts'

export interface Caller {
  name: string
  providers: readonly string[]
  roles: readonly string[]
}

export interface Tokens {
  /** Throws a 401 for a missing or unknown token. */
  callerOf(authorization: string | undefined): Promise<Caller>
  /** The caller of a bearer token that the file holds. */
  callerWith(token: string): Promise<Caller | undefined>
  /** The caller behind one of these names, which are known to be true. */
  callerNamed(by: 'certificate' | 'user', names: readonly string[]): Promise<Caller | undefined>
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
    certificate: z.string().min(1).optional(),
    user: z.string().min(1).optional(),
    providers: z.array(z.string().min(1)).default([]),
    roles: z.array(z.enum(['read', 'write', 'admin'])).default([]),
  })
  .refine(
    ({ token, sha256, certificate, user }) =>
      [token, sha256, certificate, user].filter(way => way !== undefined).length === 1,
    'needs one of token, sha256, certificate and user',
  )
const file = z.object({ tokens: z.array(entry) })

interface Known {
  caller: Caller
  digest: Buffer
  certificate: string | undefined
  user: string | undefined
}

export async function openTokens(path: string, log: Log): Promise<Tokens> {
  const known: Reloaded<Known[]> = await reload({ path, parse: knownFrom, log })

  async function callerWith(token: string): Promise<Caller | undefined> {
    await known.refresh()
    const digest = digestOf(token)
    // Every entry is compared, whichever matches: the time tells nothing.
    return known.value.filter(one => timingSafeEqual(one.digest, digest))[0]?.caller
  }

  return {
    callerWith,
    async callerOf(authorization) {
      const token = bearerTokenIn(authorization)
      if (token === undefined) throw new HttpProblem(401, 'a bearer token is needed')
      const caller = await callerWith(token)
      if (!caller) throw new HttpProblem(401, 'the bearer token is not known')
      return caller
    },
    async callerNamed(by, names) {
      await known.refresh()
      return known.value.find(({ [by]: name }) => name !== undefined && names.includes(name))?.caller
    },
    get problem() {
      return known.problem
    },
    close: known.close,
  }
}

export function bearerTokenIn(authorization: string | undefined): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
}

export function mayActFor(caller: Caller, providerId: string): boolean {
  return caller.providers.includes('*') || caller.providers.includes(providerId)
}

export function knownFrom(text: string): Known[] {
  const parsed = file.safeParse(yamlFrom(text))
  if (!parsed.success) {
    const wrong = fieldErrors(parsed.error).map(({ path, message }) => `${path || 'the whole file'}: ${message}`)
    throw new Error(wrong.join('; '))
  }
  return parsed.data.tokens.map(({ name, token, sha256, certificate, user, providers, roles }) => ({
    caller: { name, providers, roles },
    digest: token !== undefined ? digestOf(token) : sha256 !== undefined ? Buffer.from(sha256, 'hex') : noDigest,
    certificate,
    user,
  }))
}

/** No token has it. */
const noDigest = Buffer.alloc(32)

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
