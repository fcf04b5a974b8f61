/**
 * Admission policy for NODE_CONDITION: the permission to patch nodes/status covers the whole status and the metadata of every
 * Node. With this policy the ServiceAccount of the controller can change only its own condition.
 */
import { denyingBinding } from '../contract/admission.ts'
import { nodeCondition } from './node-condition.ts'
import { nodePolicy, serverFields, unchangedExcept } from './node-policy.ts'

const others = (object: string) =>
  `${object}.status.?conditions.orValue([]).filter(one, one.type != '${nodeCondition}')`

const conditions = [
  ...unchangedExcept(undefined, ['metadata', 'status']),
  ...unchangedExcept('metadata', serverFields),
  ...unchangedExcept('status', ['conditions']),
  `${others('object')} == ${others('oldObject')}`,
]

export const nodeConditionPolicy = nodePolicy({
  name: 'multinic-agent-node-condition',
  resource: 'nodes/status',
  conditions,
  message: `the controller may only change the condition ${nodeCondition} of a Node`,
})

export const nodeConditionPolicyBinding = denyingBinding(nodeConditionPolicy)
