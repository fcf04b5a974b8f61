/**
 * The routing file: provider → route to its cluster. Opens no connection and reads no credentials.
 *
 * ```yaml
 * strict: true                 # a provider that is not listed gets a 404, even with a default
 * default: { … }               # for providers that are not listed; targets inherit its fields
 * targets:
 *   - providerId: cluster-a
 *     name: Seoul 1                                   # for people
 *     namespace: multinic-system
 *     kubeconfig: a.kubeconfig                        # one of four kinds of access
 *   - { providerId: cluster-b, inCluster: true }
 *   - { providerId: cluster-d, kubeconfigSecret: multinic-system/cluster-d, kubeconfigKey: value }
 *   - { providerId: cluster-c, kubeApiServer: https://…, kubeTokenFile: c.token, kubeCaPath: c.crt }
 * ```
 */
import { parse } from 'yaml'
import * as z from 'zod'
import { fieldErrors } from '../../contract/problem.ts'
import { providerName, type ViolaSettings } from '../config.ts'

/** An empty value is the same as no value. */
const text = z
  .union([z.string(), z.number()])
  .nullish()
  .transform(value => (value === null || value === undefined || value === '' ? undefined : String(value).trim()))

const targetFields = {
  providerId: text,
  name: text.pipe(providerName.optional()),
  mode: text,
  namespace: text,
  kubeconfig: text,
  kubeconfigSecret: text,
  kubeconfigKey: text,
  context: text,
  inCluster: z.boolean().optional(),
  kubeApiServer: z
    .union([z.literal(''), z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' })])
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

/** How to connect to a cluster. Plain data, so that targets with equal access share a client. */
export type Access = DirectAccess | SecretAccess

/** A kubeconfig in a Secret of the cluster that Viola runs in. */
export interface SecretAccess {
  by: 'secret'
  namespace: string
  name: string
  key?: string
  context?: string
}

export type DirectAccess =
  | { by: 'kubeconfig'; path: string; context?: string }
  | { by: 'pod' }
  | { by: 'server'; server?: string; token?: string; tokenFile?: string; caPath?: string }

export interface Route {
  /** Of the provider, for people. */
  name?: string
  namespace: string
  /** Missing if the file requests an unsupported mode; `unusable` then says what to do. */
  access?: Access
  unusable?: string
}

export interface Routing {
  routes: ReadonlyMap<string, Route>
  fallback?: Route
  warnings: string[]
}

/** Throws with every error by path, and never shows a value. */
export function routingFrom(content: string, local: Route): Routing {
  const parsed = routingFile.safeParse(yamlFrom(content) ?? {})
  if (!parsed.success) {
    const errors = fieldErrors(parsed.error).map(({ path, message }) => `${path || 'file'}: ${message}`)
    throw new Error(errors.join('; '))
  }
  const { strict, default: defaults, targets } = parsed.data
  const warnings: string[] = []
  const routes = new Map<string, Route>()
  for (const [index, one] of (targets ?? []).entries()) {
    warnings.push(...unknownKeys(one, `targets[${index}]`))
    if (!one.providerId) warnings.push(`targets[${index}] has no providerId and is ignored`)
    else if (routes.has(one.providerId)) throw new Error(`targets[${index}].providerId: is listed twice`)
    else routes.set(one.providerId, routeFrom(one, defaults ?? undefined, local))
  }
  if (defaults) warnings.push(...unknownKeys(defaults, 'default'))
  const fallback = defaults && !strict ? routeFrom(defaults, undefined, local) : undefined
  return { routes, ...(fallback ? { fallback } : {}), warnings }
}

/** The route of the settings: the cluster of every provider without a routing file. */
export function localRoute(settings: ViolaSettings): Route & { access: DirectAccess } {
  const { KUBE_API_SERVER: server, KUBE_TOKEN: token, KUBE_TOKEN_FILE: tokenFile, KUBE_CA_PATH: caPath } = settings
  const { TARGET_NAMESPACE: namespace, VIOLA_PROVIDER_NAME: name } = settings
  const names = { namespace, ...(name && { name }) }
  if (server || token || tokenFile || caPath)
    return {
      ...names,
      access: {
        by: 'server',
        ...(server && { server }),
        ...(token && { token }),
        ...(tokenFile && { tokenFile }),
        ...(caPath && { caPath }),
      },
    }
  if (settings.KUBECONFIG) return { ...names, access: { by: 'kubeconfig', path: settings.KUBECONFIG } }
  return { ...names, access: { by: 'pod' } }
}

/** The routing without a file: one cluster for all providers. */
export function routingTo(local: Route): Routing {
  return { routes: new Map(), fallback: local, warnings: [] }
}

export function routeOf(routing: Routing, providerId: string): Route | undefined {
  return routing.routes.get(providerId) ?? routing.fallback
}

function routeFrom(one: Target, defaults: Target | undefined, local: Route): Route {
  const namespace = one.namespace ?? defaults?.namespace ?? local.namespace
  const names = { namespace, ...(one.name && { name: one.name }) }
  const mode = one.mode ?? defaults?.mode ?? 'local'
  if (mode === 'ssh')
    return {
      ...names,
      unusable:
        'mode ssh is not supported: set kubeconfig, or kubeApiServer with kubeTokenFile and kubeCaPath, to reach the API server directly',
    }
  if (mode !== 'local') return { ...names, unusable: `mode ${mode} is unknown: remove it` }
  const access = accessOf(one, local, defaults) ?? (defaults && accessOf(defaults, local)) ?? local.access
  return { ...names, ...(access ? { access } : {}) }
}

/** Missing fields of a server come from the default. */
function accessOf(one: Target, local: Route, defaults?: Target): Access | undefined {
  const context = one.context && { context: one.context }
  if (one.kubeconfig) return { by: 'kubeconfig', path: one.kubeconfig, ...context }
  if (one.kubeconfigSecret) {
    const [name = '', namespace = local.namespace] = one.kubeconfigSecret.split('/').reverse()
    const key = one.kubeconfigKey && { key: one.kubeconfigKey }
    return { by: 'secret', namespace, name, ...key, ...context }
  }
  if (one.inCluster) return { by: 'pod' }
  if (!one.kubeApiServer && !one.kubeToken && !one.kubeTokenFile && !one.kubeCaPath) return undefined
  const server = one.kubeApiServer ?? defaults?.kubeApiServer
  const own = one.kubeToken ?? one.kubeTokenFile
  const token = own ? one.kubeToken : defaults?.kubeToken
  const tokenFile = own ? one.kubeTokenFile : defaults?.kubeTokenFile
  const caPath = one.kubeCaPath ?? defaults?.kubeCaPath
  return {
    by: 'server',
    ...(server && { server }),
    ...(token && { token }),
    ...(tokenFile && { tokenFile }),
    ...(caPath && { caPath }),
  }
}

const legacyKeys = ['kubectlPath', 'sshHost', 'sshUser', 'sshPort', 'sshPass', 'sshOptions']

function unknownKeys(one: Target, at: string): string[] {
  return Object.keys(one)
    .filter(key => !(key in targetFields) && !legacyKeys.includes(key))
    .map(key => `${at}.${key} is unknown and ignored`)
}

/** The message of the parser would quote the line, which may contain a token. */
function yamlFrom(content: string): unknown {
  try {
    return parse(content, { prettyErrors: false })
  } catch {
    throw new Error('is not valid YAML')
  }
}
