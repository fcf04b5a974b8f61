/**
 * Every metric of every part: what it counts, in which unit, and what bounds its labels. Nothing else is ever exposed.
 *
 * The parts can only count what stands here, docs/reference/metrics.md is made from it, and a test holds /metrics of each
 * running part, the alerts and the board against it.
 */
import { states } from './node-config.ts'
import { reasonGroups } from './reasons/catalogue.ts'

export type MetricType = 'counter' | 'gauge' | 'histogram'

/** All values that a label can have, or in words what there is one of for each value. */
export type LabelBound = readonly string[] | string

export interface Metric {
  type: MetricType
  help: string
  labels: Readonly<Record<string, LabelBound>>
}

function counter<L extends Record<string, LabelBound>>(help: string, labels: L) {
  return { type: 'counter', help, labels } as const
}

function gauge<L extends Record<string, LabelBound>>(help: string, labels: L) {
  return { type: 'gauge', help, labels } as const
}

function histogram<L extends Record<string, LabelBound>>(help: string, labels: L) {
  return { type: 'histogram', help, labels } as const
}

const none = {}
const services = ['contrabass', 'keystone', 'neutron', 'nova', 'viola', 'inventory']
const methods = ['GET', 'POST', 'PUT', 'DELETE']
const configs = 'OpenstackConfig, as namespace/name'
const targets = 'target of the routing file'

/** What became of spans; zero unless OTEL_EXPORTER_OTLP_ENDPOINT is set. */
const tracing = {
  multinic_trace_spans_total: counter('Spans by what became of them; nothing waits for a collector.', {
    outcome: ['sent', 'dropped'],
  }),
}

export const metricCatalogue = {
  operator: {
    multinic_operator_bus_connected: gauge('Connections that listen to a message bus.', {
      bus: 'message bus, as host:port',
    }),
    multinic_operator_call_seconds: histogram('Time of calls to other services.', {
      service: services,
      method: methods,
    }),
    multinic_operator_calls_total: counter('Calls to other services by status class.', {
      service: services,
      method: methods,
      status: ['1xx', '2xx', '3xx', '4xx', '5xx', 'error'],
    }),
    multinic_operator_last_notice_timestamp_seconds: gauge('Time of the last message of any bus.', none),
    multinic_operator_last_sync_timestamp_seconds: gauge('Time of the last good sync.', { config: configs }),
    multinic_operator_notice_lag_seconds: histogram('How late notices came that started a sync.', none),
    multinic_operator_notices_total: counter('Messages of message buses by what became of them.', {
      outcome: ['woke', 'unchanged', 'unrelated', 'other', 'poison'],
    }),
    multinic_operator_ports: gauge('Ports by verdict.', { config: configs, reason: Object.keys(reasonGroups.verdict) }),
    multinic_operator_stage_seconds: histogram('Time of a sync by stage.', {
      stage: ['cloud', 'held', 'plan', 'answers', 'deliver', 'status', 'record'],
    }),
    multinic_operator_sync_seconds: histogram('Time of a whole sync.', none),
    multinic_operator_syncs_total: counter('Syncs by outcome.', { outcome: ['changed', 'unchanged', 'failed'] }),
    ...tracing,
  },
  viola: {
    viola_node_configs_total: counter('Node configs by what became of them.', {
      provider: 'provider id, the first 500 of them; then other',
      action: ['created', 'updated', 'unchanged', 'conflict', 'failed', 'deleted'],
    }),
    viola_routing_broken: gauge('1 while the routing file as it is now cannot be used.', none),
    viola_target_credentials_broken: gauge('1 while its newest credentials cannot be used.', { target: targets }),
    viola_target_up: gauge('1 while the cluster can be spoken to.', { target: targets }),
    ...tracing,
  },
  controller: {
    multinic_config_stage_seconds: histogram('Time of a config by stage.', {
      stage: ['config_to_job', 'job_to_status', 'config_to_configured'],
    }),
    multinic_configs: gauge('MultiNicNodeConfigs by state.', { state: states }),
    multinic_jobs_active: gauge('Agent Jobs that have not ended.', none),
    multinic_jobs_created_total: counter('Agent Jobs made.', { action: ['apply', 'cleanup', 'check'] }),
    multinic_queue_active: gauge('Configs in work.', none),
    multinic_queue_depth: gauge('Configs that wait for a worker.', none),
    multinic_queue_seconds: histogram('Time a config waits for a worker.', none),
    multinic_reconcile_seconds: histogram('Time of one look at a config.', none),
    multinic_results_total: counter('Results of agent Jobs.', {
      state: states,
      reason: [...Object.keys(reasonGroups.node), 'Drifted', 'Removed'],
    }),
    multinic_rollout_failed: gauge('Nodes that failed with a new spec.', none),
    multinic_rollout_stopped: gauge('1 while the failure budget has stopped the rollout.', none),
    multinic_rollout_waiting: gauge('Configs that wait for their turn in a rollout.', none),
    ...tracing,
  },
  inventory: {
    inventory_writes_total: counter('Records that were written.', none),
  },
} as const satisfies Record<string, Record<string, Metric>>

export type MetricPart = keyof typeof metricCatalogue
type Catalogue = typeof metricCatalogue

export type MetricName<P extends MetricPart, T extends MetricType> = {
  [N in keyof Catalogue[P]]: Catalogue[P][N] extends { type: T } ? N : never
}[keyof Catalogue[P]] &
  string

export type MetricLabels<P extends MetricPart, N> = N extends keyof Catalogue[P]
  ? Catalogue[P][N] extends { labels: infer L }
    ? { [K in keyof L]: string }
    : never
  : never

/** What every part tells of its own process beside its metrics, as its library words it. */
export const processMetrics: Readonly<Record<string, Metric>> = {
  process_cpu_user_seconds_total: counter('User CPU time.', none),
  process_cpu_system_seconds_total: counter('System CPU time.', none),
  process_cpu_seconds_total: counter('User and system CPU time.', none),
  process_start_time_seconds: gauge('Start of the process, since 1970.', none),
  process_resident_memory_bytes: gauge('Resident memory.', none),
  process_virtual_memory_bytes: gauge('Virtual memory.', none),
  process_heap_bytes: gauge('Data segment of the process.', none),
  process_open_fds: gauge('Open file descriptors.', none),
  process_max_fds: gauge('Most file descriptors that may be open.', none),
  ...Object.fromEntries(
    ['', 'min_', 'max_', 'mean_', 'stddev_', 'p50_', 'p90_', 'p99_'].map(which => [
      `nodejs_eventloop_lag_${which}seconds`,
      gauge('Lag of the event loop.', none),
    ]),
  ),
  nodejs_active_resources: gauge('What keeps the event loop alive.', { type: 'kind of resource of Node' }),
  nodejs_active_handles: gauge('Open handles.', { type: 'kind of handle of Node' }),
  nodejs_active_requests: gauge('Requests under way.', { type: 'kind of request of Node' }),
  nodejs_heap_size_total_bytes: gauge('Size of the heap.', none),
  nodejs_heap_size_used_bytes: gauge('Used part of the heap.', none),
  nodejs_external_memory_bytes: gauge('Memory outside the heap.', none),
  ...Object.fromEntries(
    ['total', 'used', 'available'].map(which => [
      `nodejs_heap_space_size_${which}_bytes`,
      gauge('Sizes of the parts of the heap.', { space: 'part of the heap' }),
    ]),
  ),
  nodejs_version_info: gauge('Version of Node.', {
    version: 'version',
    major: 'version',
    minor: 'version',
    patch: 'version',
  }),
  nodejs_gc_duration_seconds: histogram('Time of garbage collections.', {
    kind: ['major', 'minor', 'incremental', 'weakcb'],
  }),
}
