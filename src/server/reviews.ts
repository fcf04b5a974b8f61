/**
 * Reviews by the Kubernetes API server of the cluster that a server runs in: who a token belongs to (TokenReview), and
 * whether a caller has a right there (SubjectAccessReview).
 */
import { createHash } from 'node:crypto'
import { connectKube, type KubeClient } from '../kube/client.ts'
import { type InClusterEnvironment, inClusterAccess, loadKubeconfig } from '../kube/config.ts'
import { isRetryable } from '../kube/errors.ts'
import { messageOf } from '../runtime/errors.ts'
import { retry } from '../runtime/retry.ts'
import type { StartCall } from '../telemetry/client-metrics.ts'
import { createReviewCache } from './review-cache.ts'
import { HttpProblem } from './server.ts'

export interface User {
  user: string
  groups: readonly string[]
  uid?: string | undefined
  extra?: Readonly<Record<string, readonly string[]>> | undefined
}

/** What a caller wants to do, in the words of RBAC. */
export interface Right {
  verb: 'get' | 'list' | 'create' | 'update' | 'impersonate'
  /** API group. */
  group: string
  resource: string
  /** Absent: in all namespaces. */
  namespace?: string
  /** Absent: every object. */
  name?: string
}

export interface Reviews {
  /** Undefined if the token is invalid or for another audience. Throws a 503 if the API server cannot be asked. */
  userOf(token: string): Promise<User | undefined>
  /** Throws a 503 if the API server cannot be asked. */
  isAllowed(user: User, right: Right): Promise<boolean>
  close(): Promise<void>
}

interface TokenReview {
  status?: {
    authenticated?: boolean
    user?: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> }
    audiences?: string[]
  }
}

const authentication = 'authentication.k8s.io/v1'
const authorization = 'authorization.k8s.io/v1'
/** A user with a thousand groups of 60 characters. */
const maxUserLength = 64 * 1024
/** Reviews of unknown tokens at the same time. */
const maxUnknown = 100
const tokenMs = { granted: 60_000, refused: 5_000 }
/** A right that was taken away is gone after this time. */
const rightMs = { granted: 10_000, refused: 2_000 }

export function openReviews(kube: KubeClient, audience: string, now?: () => number): Reviews {
  const clock = now ? { now } : {}
  let unknown = 0
  const users = createReviewCache<User | undefined>({ validMs: tokenMs, ...clock })
  const rights = createReviewCache<boolean>({ validMs: rightMs, maxEntries: 10_000, ...clock })

  /** A review changes nothing, so it may be repeated: the connection may be to an API server that is gone. */
  async function post<T>(apiVersion: string, kind: string, spec: object): Promise<T> {
    try {
      const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`
      const review = async () => (await kube.raw('POST', path, { apiVersion, kind, spec })).body as T
      return await retry(review, { attempts: 2, firstMs: 200, maxMs: 1_000, isRetryable })
    } catch (error) {
      throw new HttpProblem(503, `cannot check the caller with a ${kind}: ${messageOf(error)}`)
    }
  }

  /** Every unknown token costs a review: a flood of them must not fill the memory or the API server. */
  async function reviewUnknown(token: string): Promise<User | undefined> {
    if (unknown >= maxUnknown) throw new HttpProblem(503, 'too many callers are being checked; retry later')
    unknown++
    try {
      return await reviewToken(token)
    } finally {
      unknown--
    }
  }

  async function reviewToken(token: string): Promise<User | undefined> {
    const { status } = await post<TokenReview>(authentication, 'TokenReview', { token, audiences: [audience] })
    const { username, uid, groups = [], extra } = status?.user ?? {}
    // The user is cached and sent with every question about a right.
    if (JSON.stringify(status?.user ?? {}).length > maxUserLength)
      throw new HttpProblem(503, `cannot check the caller with a TokenReview: the user is longer than ${maxUserLength}`)
    // An API server that does not support audiences returns none: the token may be meant for another service.
    if (!status?.authenticated || !status.audiences?.includes(audience) || !username) return undefined
    if (typeof username !== 'string' || !Array.isArray(groups) || !groups.every(group => typeof group === 'string'))
      return undefined
    return { user: username, groups, ...(uid && { uid }), ...(extra && { extra }) }
  }

  async function reviewRight({ user, groups, uid, extra }: User, right: Right): Promise<boolean> {
    const { group, resource, verb, namespace, name } = right
    const resourceAttributes = { group, resource, verb, namespace, name }
    const { status } = await post<{ status?: { allowed?: boolean } }>(authorization, 'SubjectAccessReview', {
      ...{ user, groups, uid, extra },
      resourceAttributes,
    })
    return status?.allowed === true
  }

  return {
    userOf: token => users.get(digestOf(token), isKnown => (isKnown ? reviewToken(token) : reviewUnknown(token))),
    isAllowed: (user, right) =>
      rights.get(digestOf(JSON.stringify([user.user, user.groups, user.uid, user.extra, right])), () =>
        reviewRight(user, right),
      ),
    close: () => kube.close(),
  }
}

/** A caller waits for two of them at most. */
const requestTimeoutMs = 10_000

/** The cluster of KUBECONFIG, or the cluster that this process runs in. */
export async function connectOwnCluster(
  env: InClusterEnvironment & { KUBECONFIG?: string | undefined },
  startCall?: StartCall,
): Promise<KubeClient> {
  const access = env.KUBECONFIG ? await loadKubeconfig(env.KUBECONFIG) : inClusterAccess(env)
  return connectKube(access, { requestTimeoutMs, attempts: 2, maxRetryDelayMs: 1_000, startCall })
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
