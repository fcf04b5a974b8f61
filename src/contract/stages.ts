/**
 * The stages of a port on its way to a verified NIC, and the one at which it is. Free of dependencies: the CLI and the
 * dashboard must name the same stage.
 */
export const stages = ['seen', 'delivered', 'cr', 'job', 'applied', 'verified'] as const
export type Stage = (typeof stages)[number]

/**
 * Number of completed stages of a NIC that is not configured. The time of the last stage does not count: the NIC was
 * verified before it failed or changed.
 */
function completedStages(times: Partial<Record<Stage, string>>): number {
  return stages.slice(0, -1).findLastIndex(stage => times[stage] !== undefined) + 1
}

export interface StageState {
  /** Configured as requested, and nothing waits or differs. */
  matches: boolean
  /** It was verified, and differs now. */
  isDrifted: boolean
  times: Partial<Record<Stage, string>>
}

/** The stage that an interface has not passed: where it failed, waits or differs. Undefined if it is as requested. */
export function currentStage({ matches, isDrifted, times }: StageState): Stage | undefined {
  if (matches) return undefined
  return isDrifted ? 'verified' : stages[completedStages(times)]
}
