/**
 * Samples of a soak: values of the replicas, the database and the clusters at one moment, by name.
 */
import { sandboxNamespace } from '../../sandbox/lifecycle/components.ts'
import { stages } from '../../src/contract/stages.ts'
import { leases } from '../../src/kube/resources.ts'
import { memoryOf } from '../bench/figure.ts'
import type { Family } from '../support/exposition.ts'
import type { SandboxCluster } from '../support/sandbox-cluster.ts'
import { nodeConfigId, openstackConfigId } from './actions.ts'
import {
  type ComponentName,
  componentNames,
  type Electing,
  type ReplicaName,
  replicaNames,
  replicasOf,
  type Values,
  zeroWhenIdle,
} from './names.ts'
import { createRates } from './rates.ts'
import type { SoakSetup } from './setup.ts'

type Metrics = Map<string, Family>

/** Some values are averages since the previous sample. */
export function createSampler(setup: SoakSetup): () => Promise<Values> {
  const rates = createRates()
  return async () => {
    const values: Values = { 'sandbox.mib': memoryOf(process.pid) }
    const metrics: Partial<Record<ReplicaName, Metrics>> = {}
    for (const name of replicaNames) {
      const replica = setup.replicas[name]
      // A fault may have stopped it, or it is starting.
      const answer = replica.alive() ? await replica.metrics().catch(() => undefined) : undefined
      if (!answer) continue
      metrics[name] = answer
      values[`${name}.mib`] = replica.mib()
      values[`${name}.descriptors`] = replica.descriptors()
    }
    const growthOf = (replica: ReplicaName, name: string, pick: (metrics: Metrics) => number) => {
      const own = metrics[replica]
      return own ? rates.growth(`${replica} ${name}`, pick(own)) : 0
    }
    /** Growth of a counter of all replicas of a component. */
    const growth = (component: ComponentName, name: string, pick: (metrics: Metrics) => number) =>
      replicasOf(component).reduce((sum, replica) => sum + growthOf(replica, name, pick), 0)
    const seconds = rates.seconds()
    for (const component of componentNames)
      values[`${component}.requests_per_s`] =
        growth(component, 'requests', own => sumOf(own, 'multinic_http_requests_total')) / seconds

    // The standby reports 0.
    for (const name of zeroWhenIdle)
      values[`controller.${name}`] = Math.max(
        ...replicasOf('controller').map(replica => numberOf(metrics[replica], `multinic_${name}`)),
      )
    values['controller.jobs_per_s'] =
      growth('controller', 'jobs', own => sumOf(own, 'multinic_jobs_created_total')) / seconds
    const waited = growth('controller', 'waited', own => numberOf(own, 'multinic_queue_seconds', '_sum'))
    const waits = growth('controller', 'waits', own => numberOf(own, 'multinic_queue_seconds', '_count'))
    values['controller.queue_wait_ms'] = (1_000 * waited) / Math.max(1, waits)
    const readySeconds = growth('inventory', 'ready', own => readyPorts(own, '_sum'))
    const ready = growth('inventory', 'ready ports', own => readyPorts(own, '_count'))
    if (ready > 0) values['port.ready_s'] = readySeconds / ready
    values['operator.sync_age_s'] = Math.max(...replicasOf('operator').map(replica => oldestSync(metrics[replica])))
    return { ...values, ...(await setup.database.sample().catch(() => ({}))), ...(await countsOf(setup)) }
  }
}

async function countsOf({ management, biz }: SoakSetup): Promise<Values> {
  const count = ({ api }: SandboxCluster, kind: string) => [...api.store.all(kind)].length
  const transitions = async (component: Electing) => {
    const { kube } = component === 'operator' ? management : biz
    const lease = await kube.get(leases, { namespace: sandboxNamespace, name: `multinic-${component}` })
    return lease?.spec?.leaseTransitions ?? 0
  }
  return {
    'operator.lease_transitions': await transitions('operator'),
    'controller.lease_transitions': await transitions('controller'),
    'biz.jobs': count(biz, 'batch/jobs'),
    'biz.pods': count(biz, '/pods'),
    'biz.secrets': count(biz, '/secrets'),
    'biz.events': count(biz, '/events'),
    'biz.node_configs': count(biz, nodeConfigId),
    'management.configs': count(management, openstackConfigId),
    'management.secrets': count(management, '/secrets'),
    'management.config_maps': count(management, '/configmaps'),
    'management.events': count(management, '/events'),
  }
}

function numberOf(families: Metrics | undefined, name: string, end = ''): number {
  return families?.get(name)?.samples.find(sample => sample.name === `${name}${end}`)?.value ?? 0
}

function sumOf(families: Metrics, name: string): number {
  return (families.get(name)?.samples ?? []).reduce((sum, { value }) => sum + value, 0)
}

/** From the first sight of a port to its last stage. */
function readyPorts(families: Metrics, end: '_sum' | '_count'): number {
  const name = 'multinic_port_ready_seconds'
  return (families.get(name)?.samples ?? [])
    .filter(sample => sample.name === `${name}${end}` && sample.labels['stage'] === stages.at(-1))
    .reduce((sum, { value }) => sum + value, 0)
}

/** Age of the oldest last successful sync of all OpenstackConfigs, in seconds. Of the leader; the standby has none. */
function oldestSync(families: Metrics | undefined): number {
  const times = (families?.get('multinic_operator_last_sync_timestamp_seconds')?.samples ?? []).map(
    ({ value }) => value,
  )
  return times.length === 0 ? 0 : Date.now() / 1_000 - Math.min(...times)
}
