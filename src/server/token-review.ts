/**
 * Authenticates Kubernetes tokens (TokenReview). Results are cached by the digest of the token, so that a busy caller costs
 * one review a minute.
 */
import { createHash } from 'node:crypto'
import { connectKube, type KubeClient } from '../kube/client.ts'
import { type InClusterEnvironment, inClusterAccess, loadKubeconfig } from '../kube/config.ts'
import { messageOf } from '../runtime/errors.ts'
import { HttpProblem } from './server.ts'

export interface TokenReviews {
  /** The user name. Undefined if the token is invalid. Throws a 503 if the API server cannot be asked. */
  userOf(token: string): Promise<string | undefined>
  close(): Promise<void>
}

interface Review {
  status?: { authenticated?: boolean; user?: { username?: string }; audiences?: string[]; error?: string }
}

const path = '/apis/authentication.k8s.io/v1/tokenreviews'
const cacheMs = { known: 60_000, unknown: 5_000 }
const maxCached = 1_000

export function openTokenReviews(
  connect: () => Promise<KubeClient>,
  audience: string | undefined,
  now = () => performance.now(),
): TokenReviews {
  const cache = new Map<string, { user: Promise<string | undefined>; until: number }>()
  let connected: Promise<KubeClient> | undefined

  /** Connects on first use. A failed connection is retried. */
  function kube(): Promise<KubeClient> {
    connected ??= connect().catch(error => {
      connected = undefined
      throw error
    })
    return connected
  }

  async function review(token: string): Promise<string | undefined> {
    const spec = { token, ...(audience && { audiences: [audience] }) }
    try {
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec }
      const { status } = (await (await kube()).raw('POST', path, body)).body as Review
      if (!status?.authenticated) return undefined
      // An API server that does not support audiences returns none: the token may be meant for another service.
      if (audience && !status.audiences?.includes(audience)) return undefined
      return status.user?.username
    } catch (error) {
      throw new HttpProblem(503, `cannot review the token: ${messageOf(error)}`)
    }
  }

  return {
    async userOf(token) {
      const digest = createHash('sha256').update(token).digest('hex')
      const cached = cache.get(digest)
      if (cached && now() < cached.until) return cached.user
      const user = review(token)
      cache.delete(digest)
      const entry = { user, until: now() + cacheMs.unknown }
      cache.set(digest, entry)
      for (const [oldest] of cache) {
        if (cache.size <= maxCached) break
        cache.delete(oldest)
      }
      user.then(
        name => {
          if (name !== undefined) entry.until = now() + cacheMs.known
        },
        () => {
          if (cache.get(digest) === entry) cache.delete(digest)
        },
      )
      return user
    },
    close: async () => (await connected?.catch(() => undefined))?.close(),
  }
}

/** Reviews with the cluster of KUBECONFIG, or with the cluster that this process runs in. */
export function openOwnReviews(
  env: InClusterEnvironment & { KUBECONFIG?: string | undefined },
  audience: string | undefined,
): TokenReviews {
  const connect = async () => {
    const access = env.KUBECONFIG ? await loadKubeconfig(env.KUBECONFIG) : inClusterAccess(env)
    return connectKube(access, { attempts: 2, maxRetryDelayMs: 1_000 })
  }
  return openTokenReviews(connect, audience)
}
