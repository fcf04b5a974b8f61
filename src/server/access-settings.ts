/**
 * Settings of the access to an HTTP API, by the prefix of its server.
 */
import * as z from 'zod'

type TokenShape<P extends string> = Record<`${P}_TOKENS_FILE`, z.ZodOptional<z.ZodString>> &
  Record<`${P}_TOKEN_AUDIENCE`, z.ZodDefault<z.ZodString>>
type AccessShape<P extends string> = TokenShape<P> &
  Record<`${P}_ANONYMOUS_ACCESS`, z.ZodDefault<z.ZodCodec<z.ZodString, z.ZodBoolean>>>

/** Of a server that may be opened to everyone. */
export function accessSettings<P extends string>(prefix: P): AccessShape<P> {
  return {
    ...tokenSettings(prefix),
    [`${prefix}_ANONYMOUS_ACCESS`]: z.stringbool().default(false).meta({
      description:
        '`true`: everyone who can reach the API may use it without credentials. The log and `/readyz` warn about it. Without it, every caller needs a token or a client certificate, and the rights of RBAC.',
    }),
  } as AccessShape<P>
}

export function tokenSettings<P extends string>(prefix: P): TokenShape<P> {
  return {
    [`${prefix}_TOKENS_FILE`]: z.string().min(1).optional().meta({
      description:
        'File with static tokens, each with its user and groups. Changes apply without a restart. Tokens of the cluster need no file.',
    }),
    [`${prefix}_TOKEN_AUDIENCE`]: z.string().min(1).default('multinic').meta({
      description: 'Required audience of Kubernetes tokens.',
    }),
  } as TokenShape<P>
}
