/**
 * Checks whether each installed component has the rights that it needs (SubjectAccessReview).
 */
import { parse } from 'yaml'
import type { KubeClient } from '../../kube/client.ts'
import { KubeError } from '../../kube/errors.ts'
import { messageOf } from '../../runtime/errors.ts'
import type { ComponentRights, Workload } from './checks.ts'
import { componentRights } from './component-rights.ts'

interface Rule {
  apiGroups: string[]
  resources: string[]
  verbs: string[]
  resourceNames?: string[]
}
type Rules = Record<string, { cluster?: Rule[]; namespace?: Rule[] }>

export interface Right {
  group: string
  resource: string
  subresource?: string
  verb: string
  name?: string
  namespace?: string
}

export async function rightsOf(
  kube: KubeClient,
  namespace: string,
  workloads: readonly Workload[],
): Promise<ComponentRights[]> {
  const rules = parse(componentRights) as Rules
  const known = workloads.flatMap(({ component = '', account, options = [], watchedNamespaces }) => {
    const required = [{ name: component }, ...options].flatMap(({ name, namespaces = [namespace] }) => {
      const own = rules[name]
      return own ? namespaces.flatMap(one => rightsIn(own, one, watchedNamespaces)) : []
    })
    return account !== undefined && required.length > 0 ? [{ account, required }] : []
  })
  return Promise.all(
    known.map(async ({ account, required }) => {
      try {
        const user = userOf(namespace, account)
        const allowed = await Promise.all(required.map(right => isAllowed(kube, user, right)))
        return { account, missing: required.filter((_, at) => !allowed[at]).map(describe) }
      } catch (error) {
        return { account, unknown: error instanceof KubeError ? error.message : messageOf(error) }
      }
    }),
  )
}

/** Without watched namespaces, the rules of the cluster are needed in all of it. */
function rightsIn(
  { cluster = [], namespace: here = [] }: Rules[string],
  namespace: string,
  watched: readonly string[] = [],
): Right[] {
  const of = (rules: readonly Rule[], where: { namespace?: string }) =>
    rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [undefined] }) =>
      apiGroups.flatMap(group =>
        resources.flatMap(place =>
          verbs.flatMap(verb =>
            resourceNames.map((name): Right => {
              const [resource = '', subresource] = place.split('/')
              // config/ uses the default namespace of MultiNIC.
              const named = name === 'multinic-system' ? namespace : name
              return {
                group,
                resource,
                verb,
                ...where,
                ...(subresource && { subresource }),
                ...(named && { name: named }),
              }
            }),
          ),
        ),
      ),
    )
  const everywhere = watched.length > 0 ? watched.flatMap(one => of(cluster, { namespace: one })) : of(cluster, {})
  return [...everywhere, ...of(here, { namespace })]
}

export function userOf(namespace: string, account: string): string {
  return `system:serviceaccount:${namespace}:${account}`
}

export async function isAllowed(kube: KubeClient, user: string, right: Right): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, groups: ['system:serviceaccounts', 'system:authenticated'], resourceAttributes: right },
  }
  const { body } = await kube.raw('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review)
  return (body as { status?: { allowed?: boolean } }).status?.allowed === true
}

function describe({ verb, resource, subresource, name, namespace }: Right): string {
  const what = `${resource}${subresource ? `/${subresource}` : ''}${name ? ` ${name}` : ''}`
  return `${verb} ${what}${namespace ? '' : ' (cluster)'}`
}
