/**
 * The way of one NIC from port to verified: when it passed each stage, where it stands, how long each took. Pure.
 */
import type { Stage } from '../../src/contract/inventory.ts'
import type { Nic, Node } from './nodes.ts'

export const stages: readonly Stage[] = ['seen', 'delivered', 'cr', 'job', 'applied', 'verified']

export type StageMark = 'done' | 'stop' | 'wait' | 'run' | 'differs' | 'none'

export interface StageView {
  stage: Stage
  mark: StageMark
  at: string | undefined
  /** Since the stage before it; undefined where either time is not known. */
  took: number | undefined
}

const marks: Partial<Record<Nic['look'], StageMark>> = {
  bad: 'stop',
  held: 'wait',
  pend: 'wait',
  prog: 'run',
  rem: 'run',
}

export function stagesOf({ look, stages: times }: Pick<Nic, 'look' | 'stages'>): StageView[] {
  const passed = look === 'ok' || look === 'drift' ? stages.length : passedOf(times)
  return stages.map((stage, index) => {
    const at = index < passed ? times[stage] : undefined
    const before = stages.slice(0, index).findLast(each => times[each] !== undefined)
    const took = at && before ? Math.max(0, Date.parse(at) - Date.parse(times[before] ?? at)) : undefined
    return { stage, at, took, mark: markOf(index) }
  })

  function markOf(index: number): StageMark {
    if (look === 'drift' && index === stages.length - 1) return 'differs'
    if (index < passed) return 'done'
    return index === passed ? (marks[look] ?? 'none') : 'none'
  }
}

/** How many stages lie behind: a failed or repeated run may have been verified once, so the last one never counts. */
function passedOf(times: Nic['stages']): number {
  const last = stages.findLastIndex(stage => times[stage] !== undefined)
  return Math.min(last + 1, stages.length - 1)
}

export function stuckAt(nic: Pick<Nic, 'look' | 'stages'>): Stage | undefined {
  return stagesOf(nic).find(({ mark }) => mark === 'stop' || mark === 'wait' || mark === 'run')?.stage
}

/**
 * From the port being seen to the NIC being verified. Kubernetes knows whole seconds only: what it timed may seem to lie before
 * what was timed finer, so the latest of all counts.
 */
export function totalOf({ stages: times }: Pick<Nic, 'stages'>): number | undefined {
  const from = times.seen ?? times.delivered
  if (!from || !(times.verified ?? times.applied)) return undefined
  const latest = Math.max(...stages.flatMap(stage => (times[stage] ? [Date.parse(times[stage])] : [])))
  return latest - Date.parse(from)
}

export interface Latency {
  /** One a NIC, by the time its port was seen. */
  points: { at: number; ms: number; node: Node; nic: Nic }[]
  p50: number
  p95: number
  /** Median of each stage that was timed. */
  steps: { stage: Stage; ms: number }[]
}

export function latencyOf(nodes: readonly Node[]): Latency | undefined {
  const points = nodes
    .flatMap(node =>
      node.nics.flatMap(nic => {
        const [ms, from] = [totalOf(nic), nic.stages.seen ?? nic.stages.delivered]
        return ms === undefined || from === undefined || nic.look !== 'ok'
          ? []
          : [{ at: Date.parse(from), ms, node, nic }]
      }),
    )
    .sort((a, b) => a.at - b.at)
  if (points.length === 0) return undefined
  const times = points.map(({ ms }) => ms)
  const views = points.map(({ nic }) => stagesOf(nic))
  const steps = stages.flatMap((stage, index) => {
    const took = views.flatMap(view => view[index]?.took ?? [])
    return took.length === 0 ? [] : [{ stage, ms: percentile(took, 0.5) }]
  })
  return { points, p50: percentile(times, 0.5), p95: percentile(times, 0.95), steps }
}

export interface Band {
  p50: number
  p95: number
}

const [mostBands, leastOfBand] = [48, 8]

/** The points in groups of equal size, in their order; too few for a group make none. */
export function bandsOf(points: readonly { ms: number }[]): Band[] {
  const bands = Math.min(mostBands, Math.floor(points.length / leastOfBand))
  return Array.from({ length: bands }, (_, band) => {
    const [from, to] = [band, band + 1].map(each => Math.round((each * points.length) / bands))
    const times = points.slice(from, to).map(({ ms }) => ms)
    return { p50: percentile(times, 0.5), p95: percentile(times, 0.95) }
  })
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0
}
