/**
 * Admission policy that refuses changes of a read-only MultiNicBizConfig. API servers before Kubernetes 1.30 lack such
 * policies: there the controller ignores the change and reports it.
 *
 * The policy evaluates the old object: remove the annotation first, then change the spec.
 */

import { nodeConfigGroup } from '../node-config.ts'
import type { KubeObject, Resource } from '../object.ts'
import { bizConfigAnnotations } from './biz-config.ts'

const apiVersion = 'admissionregistration.k8s.io/v1'
const name = 'multinic-biz-read-only'

export interface Policy extends KubeObject {
  spec: object
}

export const readOnlyPolicy: Policy = {
  apiVersion,
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: [nodeConfigGroup],
          apiVersions: ['*'],
          operations: ['UPDATE'],
          resources: ['multinicbizconfigs'],
        },
      ],
    },
    matchConditions: [
      {
        name: 'read-only',
        expression: `has(oldObject.metadata.annotations) && '${bizConfigAnnotations.readOnly}' in oldObject.metadata.annotations`,
      },
    ],
    validations: [
      {
        expression: 'object.spec == oldObject.spec',
        message:
          'this MultiNicBizConfig was migrated and is read-only: change its MultiNicNodeConfigs, or run multinic migrate rollback',
        reason: 'Forbidden',
      },
    ],
  },
}

export const readOnlyPolicyBinding: Policy = {
  apiVersion,
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name },
  spec: { policyName: name, validationActions: ['Deny'] },
}

export const admissionPolicies: Resource<Policy> = policies('ValidatingAdmissionPolicy', 'validatingadmissionpolicies')
export const admissionPolicyBindings: Resource<Policy> = policies(
  'ValidatingAdmissionPolicyBinding',
  'validatingadmissionpolicybindings',
)

function policies(kind: string, plural: string): Resource<Policy> {
  return { group: 'admissionregistration.k8s.io', version: 'v1', kind, plural, namespaced: false }
}
