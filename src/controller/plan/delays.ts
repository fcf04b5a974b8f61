/**
 * All delays of the planner, in milliseconds.
 */

/** A Job that ends within this time gets one status write, for its result, instead of two. */
export const progressDelayMs = 2_000
/** A Pod that has not started by then: the controller reads the Events, with at least this time between two reads. */
export const podOverdueMs = 5_000
/** The same for a Pod that has not started for a minute. */
export const podLateMs = 60_000
export const eventsRefreshMs = 30_000
/** A Pod that has not started by then may be replaced. */
export const podStartTimeoutMs = 30_000
/**
 * A Pod that has not started by then gives its rollout slot back. A control plane takes up to a minute to see that a node is
 * gone, and until then an agent that cut the network of its node looks like one that does not start.
 */
export const slotTimeoutMs = 90_000
/** Mean delay of a drift check that cannot run now, and delay of a first check that waits for the check limit. */
export const checkRetryMs = 60_000
export const firstCheckRetryMs = 1_000
/** Before the next look at a config that takes over the interfaces of a deleted one. */
export const successorDelayMs = 1_000
/** Before the next look at a slot for a cleanup. Nothing wakes those that wait while the failure budget is used up. */
export const cleanupSlotMs = 5_000
/** Before the API server is asked again whether it serves a kind. */
export const definitionRetryMs = 500
/** Before the next look at a cleanup that waits for approval: its CRD may be deleted meanwhile. */
export const heldDeletionMs = 60_000
/** A server without a TTL controller keeps ended Jobs: the controller deletes them this long after their TTL. */
export const jobExpiryMs = 60_000

const nicMissingDelays = [1_000, 2_000, 5_000, 10_000, 30_000]
/** After the first, second, … failure. */
const failureDelays = [10_000, 30_000, 60_000, 120_000, 300_000]
const laterFailureMs = 600_000
/** After a day of failures. */
const lateFailureMs = 3_600_000
const failuresInADay = failureDelays.length + 86_400_000 / laterFailureMs
/** Delay of a retry that would exceed the rate of retries in the cluster. */
export const retryLimitMs = 5_000

/** Before the next apply for a NIC that is not in the guest yet, or before the next cleanup. */
export function nicMissingDelay(attempt = nicMissingDelays.length): number {
  return nicMissingDelays[attempt] ?? 30_000
}

export function failureDelay(failures: number): number {
  return failureDelays[failures - 1] ?? (failures > failuresInADay ? lateFailureMs : laterFailureMs)
}

/** When to plan again for a Job of this age whose Pod has not started. */
export function podStartDelay(ageMs: number): number {
  return ageMs < podLateMs ? podOverdueMs - (ageMs % podOverdueMs) : eventsRefreshMs
}
