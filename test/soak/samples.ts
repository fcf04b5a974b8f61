/**
 * Samples of a soak: values of the components and the clusters at one moment, by name.
 */
import { statSync } from 'node:fs'
import { memoryOf } from '../bench/figure.ts'
import type { Family } from '../support/exposition.ts'
import type { SandboxCluster } from '../support/sandbox-cluster.ts'
import { nodeConfigId, openstackConfigId } from './actions.ts'
import { componentNames, type Values } from './names.ts'
import type { SoakSetup } from './setup.ts'

/** Some values are averages since the previous sample. */
export function createSampler(setup: SoakSetup): () => Promise<Values> {
  let queued = { count: 0, sum: 0 }
  return async () => {
    const values: Values = { 'sandbox.mib': memoryOf(process.pid) }
    for (const name of componentNames) {
      const component = setup.components[name]
      // A fault may have stopped it.
      if (!component.alive()) continue
      values[`${name}.mib`] = component.mib()
      values[`${name}.descriptors`] = component.descriptors()
    }
    const controller = await setup.components.controller.metrics()
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
    const operator = await setup.components.operator.metrics()
    values['operator.sync_age_s'] = oldestSync(operator)
    values['operator.syncs'] = sumOf(operator, 'multinic_operator_syncs_total')
    return { ...values, ...countsOf(setup) }
  }
}

function countsOf({ management, biz, database }: SoakSetup): Values {
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

/** Age of the oldest last successful sync of all OpenstackConfigs, in seconds. */
function oldestSync(families: Map<string, Family>): number {
  const times = (families.get('multinic_operator_last_sync_timestamp_seconds')?.samples ?? []).map(({ value }) => value)
  return times.length === 0 ? 0 : Date.now() / 1_000 - Math.min(...times)
}
