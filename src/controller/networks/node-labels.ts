/**
 * The labels of a Node for its proven networks, and the taint that waits for all of its NICs. Pure.
 */

import type { Interface } from '../../contract/interfaces.ts'
import { nodeConfigGroup } from '../../contract/node-config.ts'
import type { NodeObject } from '../../kube/types.ts'
import type { Proven } from './proven.ts'

/** Every label with this prefix belongs to the controller. */
export const networkLabelPrefix = `network.${nodeConfigGroup}/`
export const readyValue = 'ready'

/** Kubelets set it with --register-with-taints. The controller removes it, and never adds it. */
export const notReadyTaint = { key: `${nodeConfigGroup}/not-ready`, effect: 'NoSchedule' } as const

export type Taint = NonNullable<NonNullable<NodeObject['spec']>['taints']>[number]

export function isNetworkLabel(name: string): boolean {
  return name.startsWith(networkLabelPrefix)
}

export function isNotReadyTaint({ key, effect }: Taint): boolean {
  return key === notReadyTaint.key && effect === notReadyTaint.effect
}

/**
 * The labels that must change, as a merge patch: null removes one. Empty when the Node is up to date. Two interfaces with
 * one alias are one network only when both are proven.
 */
export function labelChanges(
  node: NodeObject,
  requested: readonly Interface[],
  { interfaces }: Proven,
): Record<string, string | null> {
  const labelsOf = (all: readonly Interface[]) => all.flatMap(({ alias }) => (alias ? networkLabelPrefix + alias : []))
  const missing = new Set(labelsOf(requested.filter(nic => !interfaces.includes(nic))))
  const ready = labelsOf(interfaces).filter(label => !missing.has(label))
  const current = node.metadata.labels ?? {}
  const old = Object.keys(current).filter(name => isNetworkLabel(name) && !ready.includes(name))
  const added = ready.filter(name => current[name] !== readyValue)
  return Object.fromEntries([...old.map(name => [name, null]), ...added.map(name => [name, readyValue])])
}

/**
 * A JSON patch that removes the taint; undefined when the Node does not have it. The list has no merge key and other
 * controllers write to it, so the API server compares the entry before it removes it.
 */
export function taintRemoval({ metadata, spec }: NodeObject): object[] | undefined {
  const index = (spec?.taints ?? []).findIndex(isNotReadyTaint)
  if (index < 0) return undefined
  const path = `/spec/taints/${index}`
  return [
    { op: 'test', path: '/metadata/uid', value: metadata.uid },
    { op: 'test', path, value: spec?.taints?.[index] },
    { op: 'remove', path },
  ]
}
