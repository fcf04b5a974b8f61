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

interface Right {
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
  const known = workloads.flatMap(({ component = '', account, setsNodeCondition }) => {
    const needed = [rules[component], ...(setsNodeCondition ? [rules['nodeCondition']] : [])]
    const required = needed.flatMap(one => (one ? rightsIn(one, namespace) : []))
    return account !== undefined && required.length > 0 ? [{ account, required }] : []
  })
  return Promise.all(
    known.map(async ({ account, required }) => {
      try {
        const user = `system:serviceaccount:${namespace}:${account}`
        const allowed = await Promise.all(required.map(right => isAllowed(kube, user, right)))
        return { account, missing: required.filter((_, at) => !allowed[at]).map(describe) }
      } catch (error) {
        return { account, unknown: error instanceof KubeError ? error.message : messageOf(error) }
      }
    }),
  )
}

function rightsIn({ cluster = [], namespace: here = [] }: Rules[string], namespace: string): Right[] {
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
  return [...of(cluster, {}), ...of(here, { namespace })]
}

async function isAllowed(kube: KubeClient, user: string, right: Right): Promise<boolean> {
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
