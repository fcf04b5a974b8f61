/**
 * The stages of an interface, from port seen to verified: each is stored once for each change of its request. Pure.
 *
 * Writers are stateless in this respect: a restarted operator, or another replica, may report a stage again, or may no longer
 * know it. The stored time wins, and a stage is added only after those that are stored.
 */
import { type InventoryRecord, type Stage, stages } from '../contract/inventory.ts'

type InterfaceRecord = NonNullable<InventoryRecord['interfaces']>[number]
export type StageRecord = Pick<InterfaceRecord, 'stages' | 'clamped'>

/** Times of Kubernetes have a resolution of one second, and are cut off. */
const resolutionMs = 1_000

/** `known` is empty after a change of the request. `at` is the time of the write. */
export function mergeStages(known: StageRecord, given: InterfaceRecord['stages'] = {}, at: string): StageRecord {
  const merged = { ...known.stages }
  const clamped = new Set<Stage>(known.clamped)
  const last = stages.findLastIndex(stage => merged[stage] !== undefined)
  let earliest = last < 0 ? undefined : merged[stages[last] as Stage]
  for (const stage of stages.slice(last + 1)) {
    const time = given[stage]
    if (time === undefined) continue
    const possible = between(time, earliest, at)
    if (Math.abs(Date.parse(possible) - Date.parse(time)) >= resolutionMs) clamped.add(stage)
    merged[stage] = possible
    earliest = possible
  }
  return {
    ...(Object.keys(merged).length > 0 && { stages: merged }),
    ...(clamped.size > 0 && { clamped: [...clamped] }),
  }
}

/** A stage is not before the one that precedes it, and not in the future: then the clocks of two machines differ. */
function between(time: string, earliest: string | undefined, latest: string): string {
  if (earliest !== undefined && Date.parse(time) < Date.parse(earliest)) return earliest
  return Date.parse(time) > Date.parse(latest) ? latest : time
}
