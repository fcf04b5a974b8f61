/**
 * The HTTP endpoints of the controller: /healthz in the format of the Go implementation, /readyz and /metrics.
 */
import type { FastifyInstance } from 'fastify'
import { formatDuration } from '../contract/duration.ts'
import { states } from '../contract/node-config.ts'
import type { RefusedWrites } from '../kube/refused-writes.ts'
import { createApp } from '../server/server.ts'
import { type QueueLoad, setLeaderMetrics } from '../telemetry/leader-metrics.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Caches } from './caches.ts'
import { readyReasonOf } from './plan/config-status.ts'

export interface HealthOptions {
  caches: Caches
  metrics: Metrics<'controller'>
  log: Log
  now: () => Date
  /** Aborted when the controller stops. */
  signal: AbortSignal
  refused: Pick<RefusedWrites, 'problem'>
  /** What an administrator should know although the controller works. */
  warnings: () => string[]
  /** Undefined while another replica is the leader. */
  queue: () => { controller: QueueLoad; waiting: number; failed: number; stopped: boolean } | undefined
}

export function healthApp(options: HealthOptions): FastifyInstance {
  const { caches, log, metrics, now, signal } = options
  const started = now().getTime()
  const running = () => !signal.aborted && Object.values(caches).every(({ synced }) => synced)
  const problems = () =>
    Object.entries(caches).flatMap(([name, informer]) => {
      const problem = informer.problem()
      return problem === undefined ? [] : [`${name}: ${problem}`]
    })

  return createApp({
    log,
    metrics: { ...metrics, text: () => exposition(options, problems()) },
    ready: () => [...problems(), ...[options.refused.problem()].filter(problem => problem !== undefined)],
    warnings: options.warnings,
    health() {
      const processed = caches.configs.list().flatMap(({ status }) => status?.lastProcessed ?? [])
      const failed = caches.configs.list().some(({ status }) => status?.state === 'Failed')
      const status = !running() ? 'unhealthy' : failed ? 'degraded' : 'healthy'
      return {
        healthy: status !== 'unhealthy',
        body: {
          status,
          uptime: formatDuration(Math.max(1_000, now().getTime() - started)),
          processed_configs: processed.length,
          active_jobs: caches.jobs.by('live', 'yes').length,
          crd_watcher_status: running() && problems().length === 0 ? 'running' : 'stopped',
          last_crd_processed: processed.toSorted().at(-1) ?? null,
        },
      }
    },
  })
}

/** Gauges are computed for each scrape. */
async function exposition({ caches, metrics, queue }: HealthOptions, problems: readonly string[]): Promise<string> {
  const configs = caches.configs.list()
  for (const state of states) {
    const count = configs.filter(({ status }) => (status?.state ?? 'Pending') === state).length
    metrics.set('multinic_configs', count, { state })
  }
  metrics.set('multinic_jobs_active', caches.jobs.by('live', 'yes').length)
  metrics.set('multinic_configs_drifted', configs.filter(config => readyReasonOf(config) === 'Drifted').length)
  metrics.set('multinic_deletions_on_hold', caches.configs.by('deleted', 'onHold').length)
  const { controller, waiting = 0, failed = 0, stopped = false } = queue() ?? {}
  setLeaderMetrics(metrics, controller, problems)
  metrics.set('multinic_rollout_waiting', waiting)
  metrics.set('multinic_rollout_stopped', stopped ? 1 : 0)
  metrics.set('multinic_rollout_failed', failed)
  return metrics.text()
}
