/**
 * The operator's Prometheus metrics: syncs, and ports by verdict.
 */

import type { Metrics } from '../telemetry/metrics.ts'
import type { EventMetrics } from './events/cloud-events.ts'
import { byReason } from './plan/verdicts.ts'
import { createUnreadyPorts } from './record/unready-ports.ts'
import type { SyncResult } from './sync/sync.ts'

export interface OperatorMetrics extends EventMetrics {
  stage(stage: string, seconds: number): void
  sync(config: string, result: SyncResult | undefined, seconds: number): void
  /** Sets the gauges that change without a sync. Call it for each scrape. */
  collect(): void
  /** Drops the series of a deleted object. */
  forget(config: string): void
  /** Drops those of all objects: another replica is the leader now. */
  forgetAll(): void
}

const gaugesOfConfig = [
  'multinic_operator_last_sync_timestamp_seconds',
  'multinic_operator_oldest_unready_port_seconds',
  'multinic_operator_removals_on_hold',
] as const

export function createOperatorMetrics(metrics: Metrics<'operator'>, now: () => Date): OperatorMetrics {
  const reasons = new Map<string, Set<string>>()
  const unready = createUnreadyPorts(now)

  /** A reason that no port has any more is set to 0. Otherwise it would keep its last value. */
  function countPorts(config: string, result: SyncResult): void {
    const groups = byReason(result.findings.verdicts).filter(({ portIds }) => portIds.length > 0)
    const counts = new Map<string, number>(groups.map(({ reason, portIds }) => [reason, portIds.length]))
    const known = new Set([...(reasons.get(config) ?? []), ...counts.keys()])
    reasons.set(config, known)
    for (const reason of known) metrics.set('multinic_operator_ports', counts.get(reason) ?? 0, { config, reason })
  }

  function forget(config: string): void {
    for (const reason of reasons.get(config) ?? []) metrics.forget('multinic_operator_ports', { config, reason })
    reasons.delete(config)
    unready.forget(config)
    for (const name of gaugesOfConfig) metrics.forget(name, { config })
  }

  return {
    stage: (stage, seconds) => metrics.time('multinic_operator_stage_seconds', seconds, { stage }),
    notification(outcome, lagSeconds) {
      metrics.count('multinic_operator_notifications_total', 1, { outcome })
      if (outcome === 'woke' && lagSeconds !== undefined)
        metrics.time('multinic_operator_notification_lag_seconds', lagSeconds)
      const at = now().getTime() / 1_000
      metrics.set('multinic_operator_last_notification_timestamp_seconds', at)
    },
    bus(bus, connected) {
      const name = 'multinic_operator_bus_connected'
      if (connected === undefined) metrics.forget(name, { bus })
      else metrics.set(name, connected, { bus })
    },
    sync(config, result, seconds) {
      const outcome = result && !result.error ? (result.changed > 0 ? 'changed' : 'unchanged') : 'failed'
      metrics.count('multinic_operator_syncs_total', 1, { outcome })
      metrics.time('multinic_operator_sync_seconds', seconds)
      if (!result) return
      countPorts(config, result)
      metrics.set('multinic_operator_removals_on_hold', result.findings.removalsOnHold.length, { config })
      unready.update(config, result.unreadyPorts)
      if (result.error) return
      const at = now().getTime() / 1_000
      metrics.set('multinic_operator_last_sync_timestamp_seconds', at, { config })
    },
    collect() {
      for (const config of unready.configs())
        metrics.set('multinic_operator_oldest_unready_port_seconds', unready.oldestSeconds(config), { config })
    },
    forget,
    forgetAll() {
      for (const config of [...reasons.keys()]) forget(config)
    },
  }
}
