/**
 * Who may do what, by the Roles and bindings that are stored. The holder of the token may do everything; it matters for
 * whom it speaks for (`kubectl --as`), and for whoever asks what a service account would be allowed.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { ApiFailure, resourceName } from '../failures.ts'
import { type Fields, listOf, recordOf, textOf } from '../json.ts'
import { kindId } from '../kinds/kinds.ts'
import type { Target } from '../objects/admission.ts'
import type { Store } from '../objects/store.ts'
import { namespacesId } from '../objects/verbs.ts'

export interface User {
  username: string
  groups: readonly string[]
}

/** One thing that somebody wants to do, to objects or to a path that holds none. */
export interface Wish {
  verb: string
  group?: string
  resource?: string
  subresource?: string
  namespace?: string | undefined
  name?: string
  path?: string
}

export interface PolicyRule {
  verbs: string[]
  apiGroups: string[]
  resources: string[]
  resourceNames: string[]
  nonResourceURLs: string[]
}

const masters = 'system:masters'
export const admin: User = { username: 'sandbox-admin', groups: [masters, 'system:authenticated'] }

const rbac = 'rbac.authorization.k8s.io'
const everything = ruleOf({ verbs: ['*'], apiGroups: ['*'], resources: ['*'], nonResourceURLs: ['*'] })
/** What a cluster gives to all who are known to it. */
const common = [
  ruleOf({ verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] }),
  ruleOf({
    verbs: ['create'],
    apiGroups: ['authorization.k8s.io'],
    resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
  }),
  ruleOf({
    verbs: ['get'],
    nonResourceURLs: ['/api', '/apis', '/openapi', '/version', '/healthz', '/livez', '/readyz'].flatMap(path => [
      path,
      `${path}/*`,
    ]),
  }),
]

/** Whom a request is for: the holder of the token, or whom that one speaks for. */
export function userOf(headers: IncomingHttpHeaders): User {
  const username = textOf(headers['impersonate-user'])
  if (!username) return admin
  const named = headers['impersonate-group']
  const groups = [named ?? []].flat().flatMap(list => list.split(',').map(group => group.trim()))
  const [, namespace] = /^system:serviceaccount:([^:]+):[^:]+$/.exec(username) ?? []
  const own = namespace ? ['system:serviceaccounts', `system:serviceaccounts:${namespace}`] : []
  return { username, groups: [...(named ? groups : own), 'system:authenticated'] }
}

export function wishOf(method: string, watches: boolean, { kind, namespace, name, subresource }: Target): Wish {
  const reads = watches ? 'watch' : name ? 'get' : 'list'
  const verbs: Record<string, string> = { GET: reads, POST: 'create', PUT: 'update', PATCH: 'patch' }
  return {
    verb: verbs[method] ?? (name ? 'delete' : 'deletecollection'),
    group: kind.group,
    resource: kind.plural,
    namespace: kindId(kind) === namespacesId ? name || undefined : namespace,
    name,
    ...(subresource && { subresource }),
  }
}

/** Throws the 403. */
export function checkRight(store: Store, user: User, wish: Wish, { kind }: Target): void {
  if (isAllowed(store, user, wish)) return
  const { verb, group = '', resource = '', subresource, namespace, name } = wish
  const what = subresource ? `${resource}/${subresource}` : resource
  const where = namespace ? `in the namespace "${namespace}"` : 'at the cluster scope'
  const because = `User "${user.username}" cannot ${verb} resource "${what}" in API group "${group}" ${where}`
  const named = name ? `${resourceName(kind)} "${name}"` : resourceName(kind)
  const details = { ...(name && { name }), ...(group && { group }), kind: resource }
  throw new ApiFailure(403, 'Forbidden', `${named} is forbidden: ${because}`, details)
}

export function isAllowed(store: Store, user: User, wish: Wish): boolean {
  return rulesOf(store, user, wish.namespace).some(rule => (wish.path ? coversPath(rule, wish) : covers(rule, wish)))
}

/** All rules that hold for somebody in a namespace. */
export function rulesOf(store: Store, user: User, namespace: string | undefined): PolicyRule[] {
  if (user.groups.includes(masters)) return [everything]
  const bindings = [
    ...store.list(`${rbac}/clusterrolebindings`),
    ...(namespace ? store.list(`${rbac}/rolebindings`, namespace) : []),
  ]
  const roles = bindings
    .filter(binding => listOf(binding['subjects']).some(subject => isAbout(recordOf(subject), user)))
    .map(binding => roleRules(store, recordOf(binding['roleRef']), binding.metadata.namespace))
  return [...common, ...roles.flat()]
}

function roleRules(store: Store, { kind, name }: Fields, namespace: string | undefined): PolicyRule[] {
  if (kind === 'ClusterRole' && name === 'cluster-admin') return [everything]
  const role =
    kind === 'ClusterRole'
      ? store.get(`${rbac}/clusterroles`, undefined, textOf(name))
      : store.get(`${rbac}/roles`, namespace, textOf(name))
  return listOf(role?.['rules']).map(rule => ruleOf(recordOf(rule)))
}

function isAbout({ kind, name, namespace }: Fields, { username, groups }: User): boolean {
  if (kind === 'User') return name === username
  if (kind === 'Group') return groups.includes(textOf(name))
  return username === `system:serviceaccount:${textOf(namespace)}:${textOf(name)}`
}

function ruleOf(rule: Fields): PolicyRule {
  const texts = (name: string) => listOf(rule[name]).map(textOf)
  return {
    verbs: texts('verbs'),
    apiGroups: texts('apiGroups'),
    resources: texts('resources'),
    resourceNames: texts('resourceNames'),
    nonResourceURLs: texts('nonResourceURLs'),
  }
}

const has = (list: readonly string[], value: string) => list.includes('*') || list.includes(value)

function covers(rule: PolicyRule, { verb, group = '', resource = '', subresource, name = '' }: Wish): boolean {
  const what = subresource ? `${resource}/${subresource}` : resource
  const named = rule.resourceNames.length === 0 || rule.resourceNames.includes(name)
  const resources = has(rule.resources, what) || (subresource !== undefined && has(rule.resources, `*/${subresource}`))
  return has(rule.verbs, verb) && has(rule.apiGroups, group) && resources && named
}

function coversPath(rule: PolicyRule, { verb, path = '' }: Wish): boolean {
  const fits = (pattern: string) => pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1)))
  return has(rule.verbs, verb) && rule.nonResourceURLs.some(fits)
}
