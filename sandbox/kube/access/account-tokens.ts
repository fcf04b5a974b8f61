/**
 * Tokens of ServiceAccounts (TokenRequest): signed with a key of the server, bound to audiences and to a time.
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import { fieldError, invalid, notFound } from '../api-errors.ts'
import { type Fields, listOf, recordOf, textOf } from '../json.ts'
import type { Store } from '../objects/store.ts'
import type { Target } from '../objects/target.ts'
import { admin, type User, userNamed } from './rbac.ts'

/** Audience of the API server itself. */
export const apiAudience = 'https://kubernetes.default.svc'
const minSeconds = 600

export interface TokenHolder {
  user: User
  audiences: string[]
}

interface Claims {
  sub: string
  aud: string[]
  exp: number
  jti: string
}

/** `key` is the administrator's token: tokens stay valid over a restart. */
export function createAccountTokens(key: string, store: Store, now: () => Date) {
  const sign = (text: string) => createHmac('sha256', key).update(text).digest('base64url')

  return {
    /** Answers a TokenRequest. */
    issue({ kind, namespace = '', name }: Target, body: Fields): Fields {
      if (!store.get('/serviceaccounts', namespace, name)) throw notFound(kind, name)
      const spec = recordOf(body['spec'])
      const seconds = Number(spec['expirationSeconds'] ?? 3_600)
      if (!(seconds >= minSeconds)) {
        const error = fieldError.invalid(
          'spec.expirationSeconds',
          seconds,
          'may not specify a duration less than 10 minutes',
        )
        throw invalid({ group: 'authentication.k8s.io', plural: '', kind: 'TokenRequest' }, name, [error])
      }
      const given = listOf(spec['audiences']).map(textOf)
      const exp = Math.floor(now().getTime() / 1_000) + seconds
      const claims: Claims = {
        sub: `system:serviceaccount:${namespace}:${name}`,
        aud: given.length > 0 ? given : [apiAudience],
        exp,
        jti: randomUUID(),
      }
      const text = [{ alg: 'HS256', typ: 'JWT' }, claims]
        .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.')
      return {
        kind: 'TokenRequest',
        apiVersion: 'authentication.k8s.io/v1',
        metadata: { name, namespace, creationTimestamp: now().toISOString() },
        spec: { ...spec, audiences: claims.aud, expirationSeconds: seconds },
        status: {
          token: `${text}.${sign(text)}`,
          expirationTimestamp: new Date(exp * 1_000).toISOString().replace('.000Z', 'Z'),
        },
      }
    },

    /** Undefined for an unknown or expired token, and for one of a ServiceAccount that is gone. */
    holderOf(token: string): TokenHolder | undefined {
      if (token === key) return { user: admin, audiences: [apiAudience] }
      const [, text, signature] = /^([\w-]+\.[\w-]+)\.([\w-]+)$/.exec(token) ?? []
      if (!text || !signature) return undefined
      const [given, expected] = [Buffer.from(signature), Buffer.from(sign(text))]
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
      const claims = JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString()) as Claims
      const [, , namespace = '', name = ''] = claims.sub.split(':')
      if (claims.exp * 1_000 <= now().getTime() || !store.get('/serviceaccounts', namespace, name)) return undefined
      return { user: userNamed(claims.sub), audiences: claims.aud }
    },
  }
}

export type AccountTokens = ReturnType<typeof createAccountTokens>
