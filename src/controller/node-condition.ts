/**
 * The condition MultiNicReady of a Node, where it is wanted: what its config says, for those who look at Nodes. Pure.
 */
import type { NodeConfig } from '../contract/node-config.ts'
import type { NodeCondition } from '../kube/types.ts'

export const nodeCondition = 'MultiNicReady'

/** The conditions that are ours on the Node: none when the config goes. Undefined: the Node says so already. */
export function nextNodeConditions(
  shown: NodeCondition | undefined,
  config: NodeConfig,
  now: Date,
): NodeCondition[] | undefined {
  const ready = config.status?.conditions?.find(({ type }) => type === 'Ready')
  if (config.metadata.deletionTimestamp) return shown ? [] : undefined
  // Its older twin speaks for the node.
  if (!ready || ready.reason === 'DuplicateNode') return undefined
  const { status, reason = '', message = '' } = ready
  if (shown?.status === status && shown.reason === reason && shown.message === message) return undefined
  const at = `${now.toISOString().slice(0, 19)}Z`
  const since = shown?.status === status ? shown.lastTransitionTime : undefined
  return [{ type: nodeCondition, status, reason, message, lastTransitionTime: since ?? at }]
}
