/**
 * Ports that reached their last stage with a write, and the metric of the time that they took.
 */
import { type Stage, stages } from '../contract/stages.ts'
import { boundedLabel } from '../telemetry/bounded-label.ts'
import type { Change } from './plan.ts'

export interface ReadyPort {
  providerId: string
  /** Since the port was seen. */
  seconds: readonly { stage: Stage; value: number }[]
}

/**
 * The event of a stage occurs once for each request of a port: a repeated write, or another replica, has none. Ports that
 * skipped a stage, or whose clocks differ, are left out.
 */
export function readyPorts({ after, events }: Pick<Change, 'after' | 'events'>): ReadyPort[] {
  const verified = new Set(events.filter(({ what }) => what === 'stage/verified').map(({ macAddress }) => macAddress))
  return (after?.interfaces ?? []).flatMap(({ macAddress = '', stages: times = {}, clamped = [] }) => {
    if (!verified.has(macAddress) || clamped.length > 0) return []
    if (stages.some(stage => times[stage] === undefined)) return []
    const since = (stage: Stage) => (Date.parse(times[stage] ?? '') - Date.parse(times.seen ?? '')) / 1_000
    const seconds = stages.slice(1).map(stage => ({ stage, value: since(stage) }))
    return [{ providerId: after?.providerId ?? '', seconds }]
  })
}

/** Each provider has five histograms. */
const maxProviderLabels = 100

export function measureReadyPorts(metrics: {
  time(name: 'multinic_port_ready_seconds', seconds: number, labels: { stage: string; provider: string }): void
}): (port: ReadyPort) => void {
  const labelOf = boundedLabel(maxProviderLabels)
  return ({ providerId, seconds }) => {
    const provider = labelOf(providerId)
    for (const { stage, value } of seconds) metrics.time('multinic_port_ready_seconds', value, { stage, provider })
  }
}
