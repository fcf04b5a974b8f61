/**
 * RBAC authorization from the stored Roles and bindings. The token has all rights; rules matter for impersonation (`kubectl --as`)
 * and for access reviews.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { ApiError, resourceName } from '../api-errors.ts'
import { type Fields, listOf, recordOf, textOf } from '../json.ts'
import { kindId } from '../kinds/kinds.ts'
import type { Store } from '../objects/store.ts'
import type { Target } from '../objects/target.ts'
import { namespacesId } from '../objects/verbs.ts'

export interface User {
  username: string
  groups: readonly string[]
}

/** Attributes of a request, for a resource or a non-resource path. */
export interface AccessAttributes {
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
/** Rights of every authenticated user. */
const authenticatedRules = [
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

/** The user of a request: the token holder, or the user that an administrator impersonates. */
export function userOf(headers: IncomingHttpHeaders, holder = admin): User {
  const username = textOf(headers['impersonate-user'])
  if (!username) return holder
  if (holder !== admin)
    throw new ApiError(403, 'Forbidden', `User "${holder.username}" cannot impersonate resource "users"`)
  const named = headers['impersonate-group']
  const groups = [named ?? []].flat().flatMap(list => list.split(',').map(group => group.trim()))
  return userNamed(username, named ? groups : undefined)
}

/** A ServiceAccount has its own groups, unless others are given. */
export function userNamed(username: string, groups?: readonly string[]): User {
  const [, namespace] = /^system:serviceaccount:([^:]+):[^:]+$/.exec(username) ?? []
  const own = namespace ? ['system:serviceaccounts', `system:serviceaccounts:${namespace}`] : []
  return { username, groups: [...(groups ?? own), 'system:authenticated'] }
}

export function attributesOf(
  method: string,
  watches: boolean,
  { kind, namespace, name, subresource }: Target,
): AccessAttributes {
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

/** Throws 403 if the user lacks the right. */
export function authorize(
  store: Store,
  user: User,
  attributes: AccessAttributes,
  { kind }: { kind: { group: string; plural: string; kind: string } },
): void {
  if (isAllowed(store, user, attributes)) return
  const { verb, group = '', resource = '', subresource, namespace, name } = attributes
  const what = subresource ? `${resource}/${subresource}` : resource
  const where = namespace ? `in the namespace "${namespace}"` : 'at the cluster scope'
  const because = `User "${user.username}" cannot ${verb} resource "${what}" in API group "${group}" ${where}`
  const named = name ? `${resourceName(kind)} "${name}"` : resourceName(kind)
  const details = { ...(name && { name }), ...(group && { group }), kind: resource }
  throw new ApiError(403, 'Forbidden', `${named} is forbidden: ${because}`, details)
}

export function isAllowed(store: Store, user: User, attributes: AccessAttributes): boolean {
  return rulesOf(store, user, attributes.namespace).some(rule =>
    attributes.path ? coversPath(rule, attributes) : covers(rule, attributes),
  )
}

/** All rules of a user in a namespace. */
export function rulesOf(store: Store, user: User, namespace: string | undefined): PolicyRule[] {
  if (user.groups.includes(masters)) return [everything]
  const bindings = [
    ...store.list(`${rbac}/clusterrolebindings`),
    ...(namespace ? store.list(`${rbac}/rolebindings`, namespace) : []),
  ]
  const roles = bindings
    .filter(binding => listOf(binding['subjects']).some(subject => isSubject(recordOf(subject), user)))
    .map(binding => roleRules(store, recordOf(binding['roleRef']), binding.metadata.namespace))
  return [...authenticatedRules, ...roles.flat()]
}

function roleRules(store: Store, { kind, name }: Fields, namespace: string | undefined): PolicyRule[] {
  if (kind === 'ClusterRole' && name === 'cluster-admin') return [everything]
  const role =
    kind === 'ClusterRole'
      ? store.get(`${rbac}/clusterroles`, undefined, textOf(name))
      : store.get(`${rbac}/roles`, namespace, textOf(name))
  return listOf(role?.['rules']).map(rule => ruleOf(recordOf(rule)))
}

function isSubject({ kind, name, namespace }: Fields, { username, groups }: User): boolean {
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

function covers(
  rule: PolicyRule,
  { verb, group = '', resource = '', subresource, name = '' }: AccessAttributes,
): boolean {
  const what = subresource ? `${resource}/${subresource}` : resource
  const named = rule.resourceNames.length === 0 || rule.resourceNames.includes(name)
  const resources = has(rule.resources, what) || (subresource !== undefined && has(rule.resources, `*/${subresource}`))
  return has(rule.verbs, verb) && has(rule.apiGroups, group) && resources && named
}

function coversPath(rule: PolicyRule, { verb, path = '' }: AccessAttributes): boolean {
  const fits = (pattern: string) => pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1)))
  return has(rule.verbs, verb) && rule.nonResourceURLs.some(fits)
}
