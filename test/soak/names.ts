/**
 * The components under test in the order of their start, their replicas, and the metrics of the controller that are 0 when it is idle.
 */
export const componentNames = ['viola', 'inventory', 'operator', 'controller'] as const
export type ComponentName = (typeof componentNames)[number]

/** As in values-mgmt.yaml and values-production.yaml of the chart. */
const indexes = [0, 1] as const
export const replicaCount = indexes.length
export type ReplicaName = `${ComponentName}-${(typeof indexes)[number]}`

/** Components whose replicas elect a leader. */
export const electing = ['operator', 'controller'] as const
export type Electing = (typeof electing)[number]

export function replicasOf(component: ComponentName): ReplicaName[] {
  return indexes.map((index): ReplicaName => `${component}-${index}`)
}

export function componentOf(replica: ReplicaName): ComponentName {
  return componentNames.find(name => replica.startsWith(`${name}-`)) ?? componentNames[0]
}

export const replicaNames: readonly ReplicaName[] = componentNames.flatMap(replicasOf)

/** Without the prefix `multinic_`. */
export const zeroWhenIdle = [
  'queue_depth',
  'queue_active',
  'rollout_waiting',
  'rollout_stopped',
  'jobs_active',
] as const

export type Values = Record<string, number>
