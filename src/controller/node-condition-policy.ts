/**
 * Admission policy for NODE_CONDITION: the permission to patch nodes/status covers the whole status and the metadata of every
 * Node. With this policy the ServiceAccount of the controller can change only its own condition.
 */
import { policyApiVersion as apiVersion, denyingBinding, type Policy } from '../contract/admission.ts'
import { isController } from './agent-policy.ts'
import { nodeCondition } from './node-condition.ts'

const name = 'multinic-agent-node-condition'
const labels = { 'app.kubernetes.io/component': 'controller', 'app.kubernetes.io/part-of': 'multinic' }

const equal = (object: string, field: string) => `object.${object}.?${field} == oldObject.${object}.?${field}`
const others = (object: string) =>
  `${object}.status.?conditions.orValue([]).filter(one, one.type != '${nodeCondition}')`

/** Fields of Kubernetes 1.30, the first version with policies. */
const statusFields = [
  ...['addresses', 'nodeInfo', 'capacity', 'allocatable', 'phase', 'daemonEndpoints', 'images'],
  ...['volumesInUse', 'volumesAttached', 'config'],
]
const conditions = [
  ...['labels', 'annotations', 'finalizers', 'ownerReferences'].map(field => equal('metadata', field)),
  ...statusFields.map(field => equal('status', field)),
  `${others('object')} == ${others('oldObject')}`,
]

export const nodeConditionPolicy: Policy = {
  apiVersion,
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name, labels },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['*'], operations: ['UPDATE'], resources: ['nodes/status'] }],
    },
    matchConditions: [{ name: 'controller', expression: isController }],
    validations: [
      {
        expression: conditions.join(' && '),
        message: `the controller may only change the condition ${nodeCondition} of a Node`,
        reason: 'Forbidden',
      },
    ],
  },
}

export const nodeConditionPolicyBinding = denyingBinding(nodeConditionPolicy)
