/**
 * The gauges of a component that elects a leader and has a work queue. They are computed for each scrape.
 */

/** The work queue of the leader. */
export interface QueueLoad {
  depth(): number
  active(): number
  /** In milliseconds. */
  oldest(): number
}

type LeaderGauge =
  | 'multinic_leader'
  | 'multinic_queue_depth'
  | 'multinic_queue_active'
  | 'multinic_queue_oldest_seconds'
  | 'multinic_watches_stale'

/** `queue` is undefined while another replica is the leader. `problems`: one for each watch that may be out of date. */
export function setLeaderMetrics(
  metrics: { set(name: LeaderGauge, value: number): void },
  queue: QueueLoad | undefined,
  problems: readonly string[],
): void {
  metrics.set('multinic_leader', queue ? 1 : 0)
  metrics.set('multinic_queue_depth', queue?.depth() ?? 0)
  metrics.set('multinic_queue_active', queue?.active() ?? 0)
  metrics.set('multinic_queue_oldest_seconds', (queue?.oldest() ?? 0) / 1_000)
  metrics.set('multinic_watches_stale', problems.length)
}
