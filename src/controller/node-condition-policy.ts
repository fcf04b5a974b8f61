/**
 * Admission policy for NODE_CONDITION: the permission to patch nodes/status covers the whole status and the metadata of every
 * Node. With this policy the ServiceAccount of the controller can change only its own condition.
 */
import { denyingBinding } from '../contract/admission.ts'
import { nodeCondition } from './node-condition.ts'
import { nodePolicy, unchanged } from './node-policy.ts'

const others = (object: string) =>
  `${object}.status.?conditions.orValue([]).filter(one, one.type != '${nodeCondition}')`

/** Fields of Kubernetes 1.30, the first version with policies. */
const statusFields = [
  ...['addresses', 'nodeInfo', 'capacity', 'allocatable', 'phase', 'daemonEndpoints', 'images'],
  ...['volumesInUse', 'volumesAttached', 'config'],
]
const conditions = [
  ...unchanged('metadata', ['labels', 'annotations', 'finalizers', 'ownerReferences']),
  ...unchanged('status', statusFields),
  `${others('object')} == ${others('oldObject')}`,
]

export const nodeConditionPolicy = nodePolicy({
  name: 'multinic-agent-node-condition',
  resource: 'nodes/status',
  conditions,
  message: `the controller may only change the condition ${nodeCondition} of a Node`,
})

export const nodeConditionPolicyBinding = denyingBinding(nodeConditionPolicy)
