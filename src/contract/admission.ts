/**
 * Admission policies of the API server. Kubernetes has them since version 1.30.
 */
import type { KubeObject, Resource } from './object.ts'

const group = 'admissionregistration.k8s.io'
export const policyApiVersion = `${group}/v1`

export interface Policy extends KubeObject {
  spec: { matchConditions?: { name: string; expression: string }[]; [field: string]: unknown }
}

export interface PolicyBinding extends KubeObject {
  spec: { policyName: string; validationActions: string[] }
}

export const admissionPolicies: Resource<Policy> = {
  group,
  version: 'v1',
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
  namespaced: false,
}

export const admissionPolicyBindings: Resource<PolicyBinding> = {
  group,
  version: 'v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
  namespaced: false,
}

/** A request that a validation of the policy does not pass is denied. */
export function denyingBinding({ metadata }: Policy): PolicyBinding {
  return {
    apiVersion: policyApiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata,
    spec: { policyName: metadata.name, validationActions: ['Deny'] },
  }
}
