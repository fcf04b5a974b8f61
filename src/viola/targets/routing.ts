/**
 * Which cluster a provider's nodes are in: the routing file, read and resolved. Nothing is opened here.
 *
 * ```yaml
 * strict: true                 # a provider that is not listed is a 404, whatever the default says
 * default: { … }               # for providers that are not listed; its fields fill what a target leaves out
 * targets:
 *   - providerId: cluster-a
 *     namespace: multinic-system
 *     kubeconfig: a.kubeconfig                        # one of four ways
 *   - { providerId: cluster-b, inCluster: true }
 *   - { providerId: cluster-d, kubeconfigSecret: multinic-system/cluster-d, kubeconfigKey: value }
 *   - { providerId: cluster-c, kubeApiServer: https://…, kubeTokenFile: c.token, kubeCaPath: c.crt }
 * ```
 */
import { parse } from 'yaml'
import { z } from 'zod'
import { fieldErrors } from '../../contract/problem.ts'
import type { ViolaSettings } from '../config.ts'

/** An empty value counts as absent, as it always did in this file. */
const text = z
  .union([z.string(), z.number()])
  .nullish()
  .transform(value => (value === null || value === undefined || value === '' ? undefined : String(value).trim()))

const targetFields = {
  providerId: text,
  mode: text,
  namespace: text,
  kubeconfig: text,
  kubeconfigSecret: text,
  kubeconfigKey: text,
  context: text,
  inCluster: z.boolean().optional(),
  kubeApiServer: z
    .union([z.literal(''), z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })])
    .nullish()
    .transform(value => value || undefined),
  kubeToken: text,
  kubeTokenFile: text,
  kubeCaPath: text,
}
const target = z.looseObject(targetFields)
type Target = z.infer<typeof target>

const routingFile = z.object({
  strict: z.boolean().nullish(),
  default: target.nullish(),
  targets: z.array(target).nullish(),
})

/** How a cluster is reached: data only, so that two equal ones are one client. */
export type Access = OwnAccess | SecretAccess

/** A kubeconfig in a Secret of the cluster that we run in. */
export interface SecretAccess {
  by: 'secret'
  namespace: string
  name: string
  key?: string
  context?: string
}

export type OwnAccess =
  | { by: 'kubeconfig'; path: string; context?: string }
  | { by: 'pod' }
  | { by: 'server'; server?: string; token?: string; tokenFile?: string; caPath?: string }

export interface Route {
  namespace: string
  /** Absent when the file asks for a way that is not supported; `unusable` then says what to do. */
  access?: Access
  unusable?: string
}

export interface Routing {
  routes: ReadonlyMap<string, Route>
  fallback?: Route
  warnings: string[]
}

/** Throws with every mistake by path; values are never shown. */
export function routingFrom(content: string, local: Route): Routing {
  const parsed = routingFile.safeParse(yamlFrom(content) ?? {})
  if (!parsed.success) {
    const wrong = fieldErrors(parsed.error).map(({ path, message }) => `${path || 'file'}: ${message}`)
    throw new Error(wrong.join('; '))
  }
  const { strict, default: usual, targets } = parsed.data
  const warnings: string[] = []
  const routes = new Map<string, Route>()
  for (const [index, one] of (targets ?? []).entries()) {
    warnings.push(...unknownKeys(one, `targets[${index}]`))
    if (!one.providerId) warnings.push(`targets[${index}] has no providerId and is ignored`)
    else if (routes.has(one.providerId)) throw new Error(`targets[${index}].providerId: is listed twice`)
    else routes.set(one.providerId, resolved(one, usual ?? undefined, local))
  }
  if (usual) warnings.push(...unknownKeys(usual, 'default'))
  const fallback = usual && !strict ? resolved(usual, undefined, local) : undefined
  return { routes, ...(fallback ? { fallback } : {}), warnings }
}

/** The cluster that everybody is in when nothing else is said. */
export function localRoute(settings: ViolaSettings): Route & { access: OwnAccess } {
  const { KUBE_API_SERVER: server, KUBE_TOKEN: token, KUBE_TOKEN_FILE: tokenFile, KUBE_CA_PATH: caPath } = settings
  const namespace = settings.TARGET_NAMESPACE
  if (server || token || tokenFile || caPath)
    return {
      namespace,
      access: {
        by: 'server',
        ...(server && { server }),
        ...(token && { token }),
        ...(tokenFile && { tokenFile }),
        ...(caPath && { caPath }),
      },
    }
  if (settings.KUBECONFIG) return { namespace, access: { by: 'kubeconfig', path: settings.KUBECONFIG } }
  return { namespace, access: { by: 'pod' } }
}

/** Without a file there is one cluster, and every provider is in it. */
export function routingTo(local: Route): Routing {
  return { routes: new Map(), fallback: local, warnings: [] }
}

export function routeOf(routing: Routing, providerId: string): Route | undefined {
  return routing.routes.get(providerId) ?? routing.fallback
}

function resolved(one: Target, usual: Target | undefined, local: Route): Route {
  const namespace = one.namespace ?? usual?.namespace ?? local.namespace
  const mode = one.mode ?? usual?.mode ?? 'local'
  if (mode === 'ssh')
    return {
      namespace,
      unusable:
        'mode ssh is not supported: give the target a kubeconfig, or kubeApiServer with kubeTokenFile and kubeCaPath, that reaches the API server of the cluster',
    }
  if (mode !== 'local') return { namespace, unusable: `mode ${mode} is not known; leave it out` }
  const access = accessOf(one, local, usual) ?? (usual && accessOf(usual, local)) ?? local.access
  return { namespace, ...(access ? { access } : {}) }
}

/** A server that is named only in part is completed from the default, as it always was. */
function accessOf(one: Target, local: Route, usual?: Target): Access | undefined {
  const context = one.context && { context: one.context }
  if (one.kubeconfig) return { by: 'kubeconfig', path: one.kubeconfig, ...context }
  if (one.kubeconfigSecret) {
    const [name = '', namespace = local.namespace] = one.kubeconfigSecret.split('/').reverse()
    const key = one.kubeconfigKey && { key: one.kubeconfigKey }
    return { by: 'secret', namespace, name, ...key, ...context }
  }
  if (one.inCluster) return { by: 'pod' }
  if (!one.kubeApiServer && !one.kubeToken && !one.kubeTokenFile && !one.kubeCaPath) return undefined
  const server = one.kubeApiServer ?? usual?.kubeApiServer
  const own = one.kubeToken ?? one.kubeTokenFile
  const token = own ? one.kubeToken : usual?.kubeToken
  const tokenFile = own ? one.kubeTokenFile : usual?.kubeTokenFile
  const caPath = one.kubeCaPath ?? usual?.kubeCaPath
  return {
    by: 'server',
    ...(server && { server }),
    ...(token && { token }),
    ...(tokenFile && { tokenFile }),
    ...(caPath && { caPath }),
  }
}

const formerKeys = ['kubectlPath', 'sshHost', 'sshUser', 'sshPort', 'sshPass', 'sshOptions']

function unknownKeys(one: Target, at: string): string[] {
  return Object.keys(one)
    .filter(key => !(key in targetFields) && !formerKeys.includes(key))
    .map(key => `${at}.${key} is not known and is ignored`)
}

/** A parser's own message would quote the line, and the line may hold a token. */
function yamlFrom(content: string): unknown {
  try {
    return parse(content, { prettyErrors: false })
  } catch {
    throw new Error('is not valid YAML')
  }
}
