/**
 * Whether an admission policy limits what an account can write.
 */
import {
  admissionPolicies,
  admissionPolicyBindings,
  type Policy,
  type PolicyBinding,
} from '../../contract/admission.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isNotFound } from '../../kube/errors.ts'
import type { PolicyState } from './checks.ts'

/** `resource`: the plural that the policy limits. */
export async function policyStateOf(kube: KubeClient, user: string, resource: string): Promise<PolicyState> {
  const limits = ({ spec }: Policy) =>
    spec.matchConditions?.some(one => one.expression.includes(`'${user}'`)) &&
    JSON.stringify(spec['matchConstraints']).includes(`"${resource}"`)
  try {
    const ours = { labelSelector: 'app.kubernetes.io/part-of=multinic' }
    const policies = (await kube.list(admissionPolicies, ours)).items
      .filter(limits)
      .map(({ metadata }) => metadata.name)
    const { items } = await kube.list(admissionPolicyBindings, ours)
    const binds = ({ spec }: PolicyBinding) =>
      policies.includes(spec.policyName) && spec.validationActions.includes('Deny')
    return items.some(binds) ? 'bound' : 'unbound'
  } catch (error) {
    return isNotFound(error) ? 'unsupported' : undefined
  }
}
