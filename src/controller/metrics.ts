/**
 * What the controller has done, in numbers: for /metrics, and for whoever asks how long things take.
 */
import type { NodeConfig } from '../contract/node-config.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Said, Step } from './plan/work.ts'

export interface Tally {
  reconciled(ms: number): void
  /** A key, for a worker. */
  waited(ms: number): void
  stepped(step: Step, config: NodeConfig): void
  told(config: NodeConfig, said: Said): void
}

export function createTally(metrics: Metrics<'controller'>, now: () => Date): Tally {
  /** When the Job of a config was made, until its result is told. */
  const started = new Map<string, number>()
  const stage = (name: string, fromMs: number) =>
    metrics.time('multinic_config_stage_seconds', (now().getTime() - fromMs) / 1_000, { stage: name })

  return {
    waited: ms => metrics.time('multinic_queue_seconds', ms / 1_000),
    reconciled: ms => metrics.time('multinic_reconcile_seconds', ms / 1_000),
    stepped(step, { metadata, status }) {
      if (step.do === 'removeFinalizer') started.delete(metadata.uid ?? '')
      if (step.do !== 'createJob') return
      metrics.count('multinic_jobs_created_total', 1, { action: step.action })
      started.set(metadata.uid ?? '', now().getTime())
      if (!status?.observedGeneration && metadata.creationTimestamp)
        stage('config_to_job', Date.parse(metadata.creationTimestamp))
    },
    told({ metadata, status }, { state, reason, result }) {
      if (!result) return
      metrics.count('multinic_results_total', 1, { state, reason })
      const since = started.get(metadata.uid ?? '')
      started.delete(metadata.uid ?? '')
      if (since !== undefined) stage('job_to_status', since)
      if (state === 'Configured' && !status?.observedGeneration && metadata.creationTimestamp)
        stage('config_to_configured', Date.parse(metadata.creationTimestamp))
    },
  }
}
