/**
 * Reviews of authentication.k8s.io and authorization.k8s.io: the response to a POST contains the result, nothing is stored.
 */
import { fieldError, invalid } from '../api-errors.ts'
import { type Fields, isRecord, listOf, recordOf, textOf } from '../json.ts'
import type { Store } from '../objects/store.ts'
import type { AccountTokens } from './account-tokens.ts'
import { apiAudience } from './account-tokens.ts'
import { type AccessAttributes, authorize, isAllowed, rulesOf, type User } from './rbac.ts'

export const reviews = [
  ...['SelfSubjectAccessReview', 'SelfSubjectRulesReview', 'SubjectAccessReview'].map(kind => ({
    group: 'authorization.k8s.io',
    kind,
    namespaced: false,
  })),
  { group: 'authorization.k8s.io', kind: 'LocalSubjectAccessReview', namespaced: true },
  ...['SelfSubjectReview', 'TokenReview'].map(kind => ({ group: 'authentication.k8s.io', kind, namespaced: false })),
].map(review => ({ ...review, plural: `${review.kind.toLowerCase()}s` }))

/** The kind of the review at a path. */
export function reviewAt(steps: readonly string[]): (typeof reviews)[number] | undefined {
  const [root, group, version, ...rest] = steps
  const plural = rest[0] === 'namespaces' ? rest[2] : rest[0]
  const found = reviews.find(one => one.group === group && one.plural === plural)
  const fits = rest.length === (found?.namespaced ? 3 : 1)
  return root === 'apis' && version === 'v1' && fits ? found : undefined
}

export interface ReviewContext {
  store: Store
  user: User
  tokens: AccountTokens
}

export function createReview(review: (typeof reviews)[number], body: Fields, context: ReviewContext): Fields {
  const { group, plural, kind } = review
  authorize(context.store, context.user, { verb: 'create', group, resource: plural }, { kind: review })
  const metadata = { creationTimestamp: null, ...recordOf(body['metadata']) }
  return { ...body, kind, metadata, status: reviewStatus(kind, recordOf(body['spec']), context) }
}

function reviewStatus(kind: string, spec: Fields, { store, user, tokens }: ReviewContext): Fields {
  switch (kind) {
    case 'SelfSubjectReview':
      return { userInfo: user }
    case 'SelfSubjectRulesReview':
      return rules(store, user, textOf(spec['namespace']))
    case 'TokenReview':
      return tokenStatus(spec, tokens)
    default: {
      const groups = listOf(spec['groups']).map(textOf)
      const about = kind.startsWith('Self') ? user : { username: textOf(spec['user']), groups }
      return { allowed: isAllowed(store, about, attributesIn(spec, kind)) }
    }
  }
}

/** A token for other audiences than the requested ones is not authenticated. */
function tokenStatus(spec: Fields, tokens: AccountTokens): Fields {
  const holder = tokens.holderOf(textOf(spec['token']))
  const requested = listOf(spec['audiences']).map(textOf)
  const audiences = (holder?.audiences ?? []).filter(one =>
    (requested.length > 0 ? requested : [apiAudience]).includes(one),
  )
  if (!holder || audiences.length === 0) return { user: {}, error: 'invalid bearer token' }
  return { authenticated: true, user: holder.user, audiences }
}

function attributesIn(spec: Fields, kind: string): AccessAttributes {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec
  if (isRecord(resource) === isRecord(path)) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
    const place = { group: 'authorization.k8s.io', plural: '', kind }
    throw invalid(place, '', [fieldError.invalid('spec.resourceAttributes', resource ?? null, detail)])
  }
  const given = recordOf(resource ?? path)
  const text = (name: string) => textOf(given[name])
  const verb = text('verb')
  if (path) return { verb, path: text('path') }
  const subresource = text('subresource')
  return {
    verb,
    group: text('group'),
    resource: text('resource'),
    namespace: text('namespace') || undefined,
    name: text('name'),
    ...(subresource && { subresource }),
  }
}

function rules(store: Store, user: User, namespace: string): Fields {
  const all = rulesOf(store, user, namespace || undefined)
  return {
    resourceRules: all
      .filter(rule => rule.resources.length > 0)
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({ verbs, apiGroups, resources, resourceNames })),
    nonResourceRules: all
      .filter(rule => rule.nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  }
}
