/**
 * The condition MultiNicReady of a Node: a copy of the Ready condition of its config, if the setting is on. Pure.
 */
import type { ConditionType } from '../contract/condition-types.ts'
import type { NodeConfig } from '../contract/node-config.ts'
import { readyOf } from '../contract/object.ts'
import type { NodeCondition } from '../kube/types.ts'

export const nodeCondition: ConditionType<'Node'> = 'MultiNicReady'

/** Our conditions for the Node: none once the config is deleted. Undefined when the Node is up to date. */
export function nextNodeConditions(
  current: NodeCondition | undefined,
  config: NodeConfig,
  now: Date,
): NodeCondition[] | undefined {
  const ready = readyOf(config)
  if (config.metadata.deletionTimestamp) return current ? [] : undefined
  // The older config for the node sets the condition.
  if (!ready || ready.reason === 'DuplicateNode') return undefined
  const { status, reason = '', message = '' } = ready
  if (current?.status === status && current.reason === reason && current.message === message) return undefined
  const at = `${now.toISOString().slice(0, 19)}Z`
  const since = current?.status === status ? current.lastTransitionTime : undefined
  return [{ type: nodeCondition, status, reason, message, lastTransitionTime: since ?? at }]
}
