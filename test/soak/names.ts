/**
 * The components under test, and the metrics of the controller that are 0 when it is idle.
 */
export const componentNames = ['operator', 'viola', 'controller'] as const
export type ComponentName = (typeof componentNames)[number]

/** Without the prefix `multinic_`. */
export const zeroWhenIdle = [
  'queue_depth',
  'queue_active',
  'rollout_waiting',
  'rollout_stopped',
  'jobs_active',
] as const

export type Values = Record<string, number>
