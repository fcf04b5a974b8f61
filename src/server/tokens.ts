/**
 * Callers and their rights, from a file: by bearer token, client certificate or Kubernetes user.
 *
 * ```yaml
 * tokens:
 *   - name: operator
 *     token: …            # or sha256: hex digest of the token, so that the file contains no secret
 *                         # or certificate: name in a client certificate, or user: name of a Kubernetes user
 *     providers: ['*']    # provider IDs that it may act for
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
  /** The caller with this bearer token. */
  callerWith(token: string): Promise<Caller | undefined>
  /** The caller with one of these names, which have been authenticated elsewhere. */
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
    'set exactly one of token, sha256, certificate and user',
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
    // Compares with every entry, so that the time reveals nothing.
    return known.value.filter(one => timingSafeEqual(one.digest, digest))[0]?.caller
  }

  return {
    callerWith,
    async callerOf(authorization) {
      const token = bearerTokenIn(authorization)
      if (token === undefined) throw new HttpProblem(401, 'a bearer token is required')
      const caller = await callerWith(token)
      if (!caller) throw new HttpProblem(401, 'unknown bearer token')
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
    const mistakes = fieldErrors(parsed.error).map(({ path, message }) => `${path || 'file'}: ${message}`)
    throw new Error(mistakes.join('; '))
  }
  return parsed.data.tokens.map(({ name, token, sha256, certificate, user, providers, roles }) => ({
    caller: { name, providers, roles },
    digest: token !== undefined ? digestOf(token) : sha256 !== undefined ? Buffer.from(sha256, 'hex') : noDigest,
    certificate,
    user,
  }))
}

/** No token has this digest. */
const noDigest = Buffer.alloc(32)

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
