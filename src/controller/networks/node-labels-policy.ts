/**
 * Admission policy for NODE_LABELS: the permission to patch nodes covers every label, annotation and taint of every Node. With
 * this policy the ServiceAccount of the controller can change only the labels of networks, and remove its own taint.
 */
import { denyingBinding } from '../../contract/admission.ts'
import { nodePolicy, serverFields, unchangedExcept } from '../node-policy.ts'
import { networkLabelPrefix, notReadyTaint, readyValue } from './node-labels.ts'

const labelsOf = (object: string) => `${object}.metadata.?labels.orValue({})`
const taintsOf = (object: string) => `${object}.spec.?taints.orValue([])`
const isNetworkLabel = `key.startsWith('${networkLabelPrefix}')`
/** Every label of the first object is also in the second one, except those that `allowed` admits. */
const labelsIn = (one: string, other: string, allowed: string) =>
  `${labelsOf(one)}.all(key, ${allowed} || (key in ${labelsOf(other)} && ${labelsOf(one)}[key] == ${labelsOf(other)}[key]))`

const conditions = [
  ...unchangedExcept(undefined, ['metadata', 'spec']),
  ...unchangedExcept('metadata', ['labels', ...serverFields]),
  ...unchangedExcept('spec', ['taints']),
  labelsIn('object', 'oldObject', `(${isNetworkLabel} && ${labelsOf('object')}[key] == '${readyValue}')`),
  labelsIn('oldObject', 'object', isNetworkLabel),
  `(${taintsOf('object')} == ${taintsOf('oldObject')} || ${taintsOf('object')} == ${taintsOf('oldObject')}.filter(one, one.key != '${notReadyTaint.key}' || one.effect != '${notReadyTaint.effect}'))`,
]

export const nodeLabelsPolicy = nodePolicy({
  name: 'multinic-agent-node-labels',
  resource: 'nodes',
  conditions,
  message: `the controller may only change labels ${networkLabelPrefix}… of a Node, and remove its taint ${notReadyTaint.key}`,
})

export const nodeLabelsPolicyBinding = denyingBinding(nodeLabelsPolicy)
