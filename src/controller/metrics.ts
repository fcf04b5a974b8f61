/**
 * The metrics that reconciles of MultiNicNodeConfigs write.
 */
import type { NodeConfig } from '../contract/node-config.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { StatusUpdate, Step } from './plan/step.ts'

export interface ControllerMetrics {
  reconciled(ms: number): void
  /** A key waited this long for a worker. */
  dequeued(ms: number): void
  stepApplied(step: Step, config: NodeConfig): void
  statusWritten(config: NodeConfig, update: StatusUpdate): void
}

export function createControllerMetrics(metrics: Metrics<'controller'>, now: () => Date): ControllerMetrics {
  /** When the Job of a config was created, until its result is in the status. */
  const jobCreatedAt = new Map<string, number>()
  const stage = (name: string, fromMs: number) =>
    metrics.time('multinic_config_stage_seconds', (now().getTime() - fromMs) / 1_000, { stage: name })

  return {
    dequeued: ms => metrics.time('multinic_queue_seconds', ms / 1_000),
    reconciled: ms => metrics.time('multinic_reconcile_seconds', ms / 1_000),
    stepApplied(step, { metadata, status }) {
      if (step.do === 'removeFinalizer') jobCreatedAt.delete(metadata.uid ?? '')
      if (step.do !== 'createJob') return
      metrics.count('multinic_jobs_created_total', 1, { action: step.action })
      jobCreatedAt.set(metadata.uid ?? '', now().getTime())
      if (!status?.observedGeneration && metadata.creationTimestamp)
        stage('config_to_job', Date.parse(metadata.creationTimestamp))
    },
    statusWritten({ metadata, status }, { state, reason, result }) {
      if (!result) return
      metrics.count('multinic_results_total', 1, { state, reason })
      const since = jobCreatedAt.get(metadata.uid ?? '')
      jobCreatedAt.delete(metadata.uid ?? '')
      if (since !== undefined) stage('job_to_status', since)
      if (state === 'Configured' && !status?.observedGeneration && metadata.creationTimestamp)
        stage('config_to_configured', Date.parse(metadata.creationTimestamp))
    },
  }
}
