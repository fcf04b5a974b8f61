/**
 * The stages of one NIC from port to verified: when it passed each, where it stopped, how long each took. Pure.
 */
import { type Stage, currentStage as stageOf, stages } from '../../src/contract/stages.ts'
import type { Nic, Node } from './nodes.ts'

export { stages }

export type StageStatus = 'done' | 'stopped' | 'waiting' | 'running' | 'differs' | 'notReached'

export interface StageView {
  stage: Stage
  status: StageStatus
  at: string | undefined
  /** Milliseconds since the previous stage with a time. Undefined if either time is unknown or impossible. */
  took: number | undefined
  /** The reported time was impossible, because clocks differ. `at` is the nearest possible one. */
  clamped: boolean
}

const currentStatus: Partial<Record<Nic['severity'], StageStatus>> = {
  failed: 'stopped',
  drifted: 'differs',
  onHold: 'waiting',
  pending: 'waiting',
  inProgress: 'running',
  removing: 'running',
}

type Timed = Pick<Nic, 'severity' | 'stages'> & Partial<Pick<Nic, 'clamped'>>

export function stagesOf({ severity, stages: times, clamped = [] }: Timed): StageView[] {
  const current = currentStage({ severity, stages: times })
  const completed = current === undefined ? stages.length : stages.indexOf(current)
  return stages.map((stage, index) => {
    const at = index < completed ? times[stage] : undefined
    const previous = stages.slice(0, index).findLast(each => times[each] !== undefined)
    const isMeasured = at && previous && !clamped.includes(stage) && !clamped.includes(previous)
    const took = isMeasured ? Math.max(0, Date.parse(at) - Date.parse(times[previous] ?? at)) : undefined
    return { stage, at, took, status: statusAt(index), clamped: at !== undefined && clamped.includes(stage) }
  })

  function statusAt(index: number): StageStatus {
    if (index < completed) return 'done'
    return index === completed ? (currentStatus[severity] ?? 'notReached') : 'notReached'
  }
}

/** The stage at which the NIC stopped, waits, runs or differs. */
export function currentStage({ severity, stages: times }: Timed): Stage | undefined {
  return stageOf({ matches: severity === 'configured', isDrifted: severity === 'drifted', times })
}

/**
 * Milliseconds from port seen to verified; undefined if a time was impossible. Kubernetes times have a resolution of one second,
 * so that a later stage may seem to precede an earlier one: the latest time counts.
 */
export function totalDuration({ stages: times, clamped = [] }: Omit<Timed, 'severity'>): number | undefined {
  if (clamped.length > 0) return undefined
  const from = times.seen ?? times.delivered
  if (!from || !(times.verified ?? times.applied)) return undefined
  const latest = Math.max(...stages.flatMap(stage => (times[stage] ? [Date.parse(times[stage])] : [])))
  return latest - Date.parse(from)
}

const isComplete = ({ stages: times }: Pick<Nic, 'stages'>) => stages.every(stage => times[stage] !== undefined)

export interface Latency {
  /** One for each configured NIC with all stages, sorted by the time its port was seen. */
  points: { at: number; ms: number; node: Node; nic: Nic }[]
  p50: number
  p95: number
  /** Median of each stage that has times. */
  steps: { stage: Stage; ms: number }[]
}

/** Of NICs whose port was seen after `since`. */
export function latencyOf(nodes: readonly Node[], since = 0): Latency | undefined {
  const points = nodes
    .flatMap(node =>
      node.nics.flatMap(nic => {
        const [ms, from] = [totalDuration(nic), nic.stages.seen]
        const isCounted = isComplete(nic) && nic.severity === 'configured' && Date.parse(from ?? '') >= since
        return ms === undefined || from === undefined || !isCounted ? [] : [{ at: Date.parse(from), ms, node, nic }]
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

const maxBands = 48
const minPointsPerBand = 8

/** The points in bands of equal size, in their order. Empty if there are too few points for one band. */
export function bandsOf(points: readonly { ms: number }[]): Band[] {
  const bands = Math.min(maxBands, Math.floor(points.length / minPointsPerBand))
  return Array.from({ length: bands }, (_, band) => {
    const [from, to] = [band, band + 1].map(each => Math.round((each * points.length) / bands))
    const times = points.slice(from, to).map(({ ms }) => ms)
    return { p50: percentile(times, 0.5), p95: percentile(times, 0.95) }
  })
}

export function percentile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * fraction) - 1)] ?? 0
}
