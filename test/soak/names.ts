/**
 * The parts that are soaked, and the numbers of the controller that are 0 when nothing is left to do.
 */
export const partNames = ['operator', 'viola', 'controller'] as const
export type PartName = (typeof partNames)[number]

/** Without their prefix `multinic_`. */
export const quiet = ['queue_depth', 'queue_active', 'rollout_waiting', 'rollout_stopped', 'jobs_active'] as const

export type Values = Record<string, number>
