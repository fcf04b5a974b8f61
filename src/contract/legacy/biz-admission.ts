/**
 * Admission policy that refuses changes of a read-only MultiNicBizConfig. API servers before Kubernetes 1.30 lack such
 * policies: there the controller ignores the change and reports it.
 *
 * The policy evaluates the old object: remove the annotation first, then change the spec.
 */

import { policyApiVersion as apiVersion, denyingBinding, type Policy } from '../admission.ts'
import { nodeConfigGroup } from '../node-config.ts'
import { bizConfigAnnotations } from './biz-config.ts'

const name = 'multinic-biz-read-only'

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

export const readOnlyPolicyBinding = denyingBinding(readOnlyPolicy)
