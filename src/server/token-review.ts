/**
 * Asks a Kubernetes whose token it is (TokenReview). An answer is remembered for a moment, so that a busy caller costs one
 * question a minute; what is remembered is a digest, never the token.
 */
import { createHash } from 'node:crypto'
import { connectKube, type KubeClient } from '../kube/client.ts'
import { type InClusterEnvironment, inClusterAccess, loadKubeconfig } from '../kube/config.ts'
import { messageOf } from '../runtime/errors.ts'
import { HttpProblem } from './server.ts'

export interface TokenReviews {
  /** The user's name; undefined when the token is not valid. Throws a 503 when nobody can say. */
  userOf(token: string): Promise<string | undefined>
  close(): Promise<void>
}

interface Review {
  status?: { authenticated?: boolean; user?: { username?: string }; audiences?: string[]; error?: string }
}

const path = '/apis/authentication.k8s.io/v1/tokenreviews'
const rememberedMs = { known: 60_000, unknown: 5_000 }
const mostRemembered = 1_000

export function openTokenReviews(
  connect: () => Promise<KubeClient>,
  audience: string | undefined,
  now = () => performance.now(),
): TokenReviews {
  const remembered = new Map<string, { user: Promise<string | undefined>; until: number }>()
  let connected: Promise<KubeClient> | undefined

  /** Made when it is first needed; one that could not be made is tried again. */
  function kube(): Promise<KubeClient> {
    connected ??= connect().catch(error => {
      connected = undefined
      throw error
    })
    return connected
  }

  async function ask(token: string): Promise<string | undefined> {
    const spec = { token, ...(audience && { audiences: [audience] }) }
    try {
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec }
      const { status } = (await (await kube()).raw('POST', path, body)).body as Review
      if (!status?.authenticated) return undefined
      // A server that knows nothing of audiences names none: then the token was not made for us.
      if (audience && !status.audiences?.includes(audience)) return undefined
      return status.user?.username
    } catch (error) {
      throw new HttpProblem(503, `the token could not be reviewed: ${messageOf(error)}`)
    }
  }

  return {
    async userOf(token) {
      const digest = createHash('sha256').update(token).digest('hex')
      const held = remembered.get(digest)
      if (held && now() < held.until) return held.user
      const user = ask(token)
      remembered.delete(digest)
      const entry = { user, until: now() + rememberedMs.unknown }
      remembered.set(digest, entry)
      for (const [oldest] of remembered) {
        if (remembered.size <= mostRemembered) break
        remembered.delete(oldest)
      }
      user.then(
        name => {
          if (name !== undefined) entry.until = now() + rememberedMs.known
        },
        () => {
          if (remembered.get(digest) === entry) remembered.delete(digest)
        },
      )
      return user
    },
    close: async () => (await connected?.catch(() => undefined))?.close(),
  }
}

/** Of the cluster that we run in, or that of KUBECONFIG. */
export function openOwnReviews(
  env: InClusterEnvironment & { KUBECONFIG?: string | undefined },
  audience: string | undefined,
): TokenReviews {
  const connect = async () => {
    const access = env.KUBECONFIG ? await loadKubeconfig(env.KUBECONFIG) : inClusterAccess(env)
    return connectKube(access, { attempts: 2, longestWaitMs: 1_000 })
  }
  return openTokenReviews(connect, audience)
}
