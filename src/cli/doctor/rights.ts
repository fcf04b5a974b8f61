/**
 * Asks the cluster whether each part that is installed may do what it has to (SubjectAccessReview).
 */
import { parse } from 'yaml'
import type { KubeClient } from '../../kube/client.ts'
import { KubeError } from '../../kube/errors.ts'
import { messageOf } from '../../runtime/errors.ts'
import type { PartRights, Workload } from './checks.ts'
import { componentRights } from './component-rights.ts'

interface Rule {
  apiGroups: string[]
  resources: string[]
  verbs: string[]
  resourceNames?: string[]
}
type Rules = Record<string, { cluster?: Rule[]; namespace?: Rule[] }>

interface Wish {
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
): Promise<PartRights[]> {
  const rules = parse(componentRights) as Rules
  const known = workloads.flatMap(({ part = '', account }) =>
    account !== undefined && rules[part] ? [{ account, wishes: wishesOf(rules[part], namespace) }] : [],
  )
  return Promise.all(
    known.map(async ({ account, wishes }) => {
      try {
        const user = `system:serviceaccount:${namespace}:${account}`
        const allowed = await Promise.all(wishes.map(wish => isAllowed(kube, user, wish)))
        return { account, missing: wishes.filter((_, at) => !allowed[at]).map(inWords) }
      } catch (error) {
        return { account, unasked: error instanceof KubeError ? error.message : messageOf(error) }
      }
    }),
  )
}

function wishesOf({ cluster = [], namespace: here = [] }: Rules[string], namespace: string): Wish[] {
  const of = (rules: readonly Rule[], where: { namespace?: string }) =>
    rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [undefined] }) =>
      apiGroups.flatMap(group =>
        resources.flatMap(place =>
          verbs.flatMap(verb =>
            resourceNames.map((name): Wish => {
              const [resource = '', subresource] = place.split('/')
              // The rights of the tree name the namespace of the parts as it is called there.
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

async function isAllowed(kube: KubeClient, user: string, wish: Wish): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, groups: ['system:serviceaccounts', 'system:authenticated'], resourceAttributes: wish },
  }
  const { body } = await kube.raw('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review)
  return (body as { status?: { allowed?: boolean } }).status?.allowed === true
}

function inWords({ verb, resource, subresource, name, namespace }: Wish): string {
  const what = `${resource}${subresource ? `/${subresource}` : ''}${name ? ` ${name}` : ''}`
  return `${verb} ${what}${namespace ? '' : ' (cluster)'}`
}
