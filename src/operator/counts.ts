/**
 * The operator's numbers for Prometheus: calls to other services, syncs, and ports by verdict.
 */
import type { Metrics } from '../metrics.ts'
import type { Call } from '../openstack/http.ts'
import type { EventCounts } from './events/cloud-events.ts'
import type { SyncResult } from './sync.ts'

export interface Counts {
  call(call: Call): void
  stage(stage: string, seconds: number): void
  notice: EventCounts['notice']
  bus: EventCounts['bus']
  sync(config: string, result: SyncResult | undefined, seconds: number): void
}

export function createCounts(metrics: Metrics, now: () => Date): Counts {
  const reasons = new Map<string, Set<string>>()

  /** A reason that no port has any more is 0, not what it was last. */
  function countPorts(config: string, result: SyncResult): void {
    const ports = result.findings.verdicts.filter(({ portId }) => portId !== undefined)
    const byReason = Map.groupBy(ports, ({ reason }) => reason)
    const known = reasons.get(config) ?? new Set()
    for (const reason of byReason.keys()) known.add(reason)
    reasons.set(config, known)
    for (const reason of known) {
      const count = byReason.get(reason as (typeof ports)[number]['reason'])?.length ?? 0
      metrics.set('multinic_operator_ports', 'Ports by verdict.', count, { config, reason })
    }
  }

  return {
    call({ service, method, status, seconds }) {
      const labels = { service, method, status }
      metrics.count('multinic_operator_calls_total', 'Calls to other services by status class.', labels)
      metrics.time('multinic_operator_call_seconds', 'Time of calls to other services.', seconds, { service, method })
    },
    stage: (stage, seconds) =>
      metrics.time('multinic_operator_stage_seconds', 'Time of a sync by stage.', seconds, { stage }),
    notice(outcome, lagSeconds) {
      metrics.count('multinic_operator_notices_total', 'Messages of message buses by what became of them.', { outcome })
      if (outcome === 'woke' && lagSeconds !== undefined)
        metrics.time('multinic_operator_notice_lag_seconds', 'How late notices came that started a sync.', lagSeconds)
      const at = now().getTime() / 1_000
      metrics.set('multinic_operator_last_notice_timestamp_seconds', 'Time of the last message of any bus.', at)
    },
    bus: (bus, connected) =>
      metrics.set('multinic_operator_bus_connected', 'Connections that listen to a message bus.', connected, { bus }),
    sync(config, result, seconds) {
      const outcome = result && !result.error ? (result.changed > 0 ? 'changed' : 'unchanged') : 'failed'
      metrics.count('multinic_operator_syncs_total', 'Syncs by outcome.', { outcome })
      metrics.time('multinic_operator_sync_seconds', 'Time of a whole sync.', seconds)
      if (!result) return
      countPorts(config, result)
      if (result.error) return
      const at = now().getTime() / 1_000
      metrics.set('multinic_operator_last_sync_timestamp_seconds', 'Time of the last good sync.', at, { config })
    },
  }
}
