/**
 * The policy by which a server refuses changes of a MultiNicBizConfig that was made read-only. Servers before Kubernetes 1.30
 * do not have it: there the controller ignores such a change and says so.
 *
 * It looks at the object as it was: who takes the annotation away may change the document afterwards, in two steps.
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
          'this MultiNicBizConfig is read-only since its migration: change the MultiNicNodeConfigs, or run multinic migrate rollback',
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
