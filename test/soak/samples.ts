/**
 * How the parts and the clusters are at a moment of a soak, as numbers with names.
 */
import { statSync } from 'node:fs'
import { memoryOf } from '../bench/figure.ts'
import type { Family } from '../support/exposition.ts'
import type { SandboxCluster } from '../support/sandbox-cluster.ts'
import { nodeConfigId, openstackConfigId } from './actions.ts'
import { partNames, type Values } from './names.ts'
import type { SoakStage } from './setup.ts'

/** Takes one after the other: some numbers are about the time between two of them. */
export function createSampler(stage: SoakStage): () => Promise<Values> {
  let queued = { count: 0, sum: 0 }
  return async () => {
    const values: Values = { 'sandbox.mib': memoryOf(process.pid) }
    for (const name of partNames) {
      const part = stage.parts[name]
      // It may be down just now: a fault.
      if (!part.alive()) continue
      values[`${name}.mib`] = part.mib()
      values[`${name}.descriptors`] = part.descriptors()
    }
    const controller = await stage.parts.controller.numbers()
    values['controller.queue_depth'] = numberOf(controller, 'multinic_queue_depth')
    values['controller.queue_active'] = numberOf(controller, 'multinic_queue_active')
    values['controller.rollout_waiting'] = numberOf(controller, 'multinic_rollout_waiting')
    values['controller.rollout_stopped'] = numberOf(controller, 'multinic_rollout_stopped')
    values['controller.jobs_active'] = numberOf(controller, 'multinic_jobs_active')
    values['controller.jobs_created'] = sumOf(controller, 'multinic_jobs_created_total')
    const waits = {
      count: numberOf(controller, 'multinic_queue_seconds', '_count'),
      sum: numberOf(controller, 'multinic_queue_seconds', '_sum'),
    }
    values['controller.queue_wait_ms'] = (1_000 * (waits.sum - queued.sum)) / Math.max(1, waits.count - queued.count)
    queued = waits
    const operator = await stage.parts.operator.numbers()
    values['operator.sync_age_s'] = oldestSync(operator)
    values['operator.syncs'] = sumOf(operator, 'multinic_operator_syncs_total')
    return { ...values, ...countsOf(stage) }
  }
}

function countsOf({ management, biz, database }: SoakStage): Values {
  const count = ({ api }: SandboxCluster, kind: string) => [...api.store.all(kind)].length
  const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0
  return {
    'biz.jobs': count(biz, 'batch/jobs'),
    'biz.pods': count(biz, '/pods'),
    'biz.secrets': count(biz, '/secrets'),
    'biz.events': count(biz, '/events'),
    'biz.node_configs': count(biz, nodeConfigId),
    'management.configs': count(management, openstackConfigId),
    'management.secrets': count(management, '/secrets'),
    'management.config_maps': count(management, '/configmaps'),
    'management.events': count(management, '/events'),
    'inventory.kib': (sizeOf(database) + sizeOf(`${database}-wal`)) / 1_024,
  }
}

function numberOf(families: Map<string, Family>, name: string, end = ''): number {
  return families.get(name)?.samples.find(sample => sample.name === `${name}${end}`)?.value ?? 0
}

function sumOf(families: Map<string, Family>, name: string): number {
  return (families.get(name)?.samples ?? []).reduce((sum, { value }) => sum + value, 0)
}

/** Of all OpenstackConfigs, how long ago the last good sync was. */
function oldestSync(families: Map<string, Family>): number {
  const times = (families.get('multinic_operator_last_sync_timestamp_seconds')?.samples ?? []).map(({ value }) => value)
  return times.length === 0 ? 0 : Date.now() / 1_000 - Math.min(...times)
}
