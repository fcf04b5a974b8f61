/**
 * Who calls an HTTP API, and what the caller may do there. The same for the operator, the inventory and Viola.
 *
 * A caller is identified by a Kubernetes token (TokenReview), a static token or a client certificate. Rights are those of
 * RBAC in the cluster that the server runs in (SubjectAccessReview). Without a caller nothing is served, unless the
 * server's setting for anonymous access says so.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { KubeClient } from '../kube/client.ts'
import { messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import { certificateOf } from './client-certificate.ts'
import { impersonatedIn, tokenIn } from './credentials.ts'
import { openReviews, type Reviews, type Right, type User } from './reviews.ts'
import { HttpProblem } from './server.ts'
import { openTokens } from './tokens.ts'

export interface Caller extends User {
  by: 'cluster' | 'file' | 'certificate' | 'anonymous'
}

export interface Access {
  /**
   * Throws a 401 for a caller without valid credentials, and a 503 if the cluster cannot be asked. `known`: the request needs
   * a known caller even with anonymous access.
   */
  callerOf(request: FastifyRequest, reply: FastifyReply, options?: { known: boolean }): Promise<Caller>
  /** The caller with this token. Throws as `callerOf` with `known`. */
  callerWith(token: string): Promise<Caller>
  /** With anonymous access everything is allowed. */
  allows(caller: Caller, right: Right): Promise<boolean>
  /** Throws a 403 that names the missing right. */
  require(caller: Caller, right: Right): Promise<void>
  /** Like `allows` and `require`, but anonymous access gives no rights. */
  allowsKnown(caller: Caller, right: Right): Promise<boolean>
  requireKnown(caller: Caller, right: Right): Promise<void>
  /** For /readyz. */
  warnings(): string[]
  close(): Promise<void>
}

export interface AccessOptions {
  /** Prefix of the settings of this server, for messages. */
  prefix: 'OPERATOR' | 'INVENTORY' | 'VIOLA'
  tokensFile: string | undefined
  audience: string
  anonymous: boolean
  /** Connects to the cluster that the server runs in. */
  connect: () => Promise<KubeClient>
  log: Log
}

export const multinicGroup = 'multinic.io'
const maxGroups = 100
const anonymousUser: Caller = { user: 'system:anonymous', groups: ['system:unauthenticated'], by: 'anonymous' }

/** Who may write the node configs of this provider. Without an ID: of every provider. */
export function providerRight(verb: 'get' | 'update', providerId?: string): Right {
  return { verb, group: multinicGroup, resource: 'providers', ...(providerId !== undefined && { name: providerId }) }
}

export async function openAccess(options: AccessOptions): Promise<Access> {
  const { prefix, tokensFile, audience, anonymous, connect, log } = options
  const setting = `${prefix}_ANONYMOUS_ACCESS`
  const warning = `anonymous access is on: everyone who can reach this API may use it; unset ${setting}`
  if (anonymous) log.warn(warning)
  const reviews = await connect().then(
    kube => openReviews(kube, audience),
    // Open access also works without a cluster; a caller with a token then gets the reason.
    error => (anonymous ? unreachable(error) : Promise.reject(noCluster(error, setting))),
  )
  const tokens = tokensFile === undefined ? undefined : await openTokens(tokensFile, log)

  async function fromFile(token: string): Promise<Caller | undefined> {
    const user = await tokens?.userOf(token)
    return user && { ...user, by: 'file' }
  }

  async function callerWith(token: string): Promise<Caller> {
    const known = await fromFile(token)
    if (known) return known
    const user = await reviews.userOf(token)
    if (user) return { ...user, by: 'cluster' }
    throw new HttpProblem(401, `unknown bearer token; a token of the cluster must have the audience ${audience}`)
  }

  async function identify(request: FastifyRequest, isOpen: boolean): Promise<Caller> {
    const token = tokenIn(request)
    // Open to everyone: whoever sends a token for another service is not refused for it.
    if (token !== undefined) return isOpen ? ((await fromFile(token)) ?? anonymousUser) : callerWith(token)
    const certificate = certificateOf(request.raw.socket)
    if (certificate?.trusted) return { ...certificate.user, by: 'certificate' }
    if (isOpen) return anonymousUser
    if (certificate) throw new HttpProblem(401, `client certificate not trusted: ${certificate.why}`)
    throw new HttpProblem(401, 'a bearer token or a client certificate is required')
  }

  /** A proxy that may impersonate users in the cluster may do it here: its caller has the rights of that user only. */
  async function behindProxy(proxy: Caller, request: FastifyRequest): Promise<Caller> {
    const named = impersonatedIn(request)
    if (!named || proxy.by === 'anonymous') return proxy
    if (named.user === '' || named.groups.length > maxGroups)
      throw new HttpProblem(400, `Impersonate-User and at most ${maxGroups} groups are required to impersonate`)
    const impersonate = { verb: 'impersonate', group: '' } as const
    await requireKnown(proxy, { ...impersonate, resource: 'users', name: named.user })
    for (const name of named.groups) await requireKnown(proxy, { ...impersonate, resource: 'groups', name })
    return { user: named.user, groups: [...named.groups, 'system:authenticated'], by: proxy.by }
  }

  const allowsKnown = (caller: Caller, right: Right) => reviews.isAllowed(caller, right)
  async function requireKnown(caller: Caller, right: Right): Promise<void> {
    if (!(await allowsKnown(caller, right))) throw refused(caller, right)
  }

  return {
    async callerOf(request, reply, { known } = { known: false }) {
      try {
        return await behindProxy(await identify(request, anonymous && !known), request)
      } catch (error) {
        if (error instanceof HttpProblem && error.status === 401) reply.header('www-authenticate', 'Bearer')
        throw error
      }
    },
    callerWith,
    allows: async (caller, right) => anonymous || allowsKnown(caller, right),
    async require(caller, right) {
      if (!anonymous) await requireKnown(caller, right)
    },
    allowsKnown,
    requireKnown,
    warnings: () => [...(anonymous ? [warning] : []), ...(tokens?.problem ? [`tokens: ${tokens.problem}`] : [])],
    async close() {
      tokens?.close()
      await reviews.close()
    },
  }
}

function refused({ user }: Caller, { verb, group, resource, namespace, name }: Right): HttpProblem {
  const what = `${verb} ${resource}${group ? `.${group}` : ''}${name === undefined ? '' : ` ${name}`}`
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`
  return new HttpProblem(403, `${user} may not ${what}${where}; bind a ClusterRole with this right to the user`)
}

function noCluster(error: unknown, setting: string): Error {
  return new Error(
    `callers are checked by the Kubernetes API, and there is none: ${messageOf(error)}; set KUBECONFIG, or open the API to everyone with ${setting}=true`,
    { cause: error },
  )
}

function unreachable(error: unknown): Reviews {
  const fail = async () => {
    throw new HttpProblem(503, `cannot check the caller: ${messageOf(error)}`)
  }
  return { userOf: fail, isAllowed: fail, close: async () => {} }
}
