/**
 * Every metric of every component, with its unit and the bound of each label. Nothing else is exposed.
 *
 * Components can only record metrics of this catalogue. docs/reference/metrics.md is generated from it, and a test compares
 * /metrics of every running component, the alerts and the Grafana dashboard with it.
 */
import { states } from './node-config.ts'
import { reasonGroups } from './reasons/catalogue.ts'
import { stages } from './stages.ts'

export type MetricType = 'counter' | 'gauge' | 'histogram'

/** All values of a label, or a description of what each value stands for. */
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
const statuses = ['1xx', '2xx', '3xx', '4xx', '5xx', 'error']
const configs = 'OpenstackConfig, as namespace/name'
const targets = 'target of the routing file'

/** Exported spans. Zero unless OTEL_EXPORTER_OTLP_ENDPOINT is set. */
const tracing = {
  multinic_trace_spans_total: counter('Spans by export outcome. Export never blocks the component.', {
    outcome: ['sent', 'dropped'],
  }),
}

const served = {
  route: 'route of this component; other for an unknown path',
  method: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'other'],
}

/** Of every HTTP server. */
const serving = {
  multinic_http_request_seconds: histogram('Duration of the requests that this component served.', served),
  multinic_http_requests_active: gauge('Requests that this component is serving.', none),
  multinic_http_requests_total: counter(
    'Requests that this component served, by status class. A request that ends without a response is an error.',
    { ...served, status: statuses },
  ),
  multinic_http_streams_active: gauge(
    'Open event streams. A stream counts as a request until it is open, and not after that.',
    none,
  ),
}

/** Of every component that calls these services. */
function calling(...services: string[]) {
  const labels = { service: services, method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] }
  return {
    multinic_client_request_seconds: histogram('Duration of requests to other services.', labels),
    multinic_client_requests_active: gauge('Requests to other services that wait for a response.', {
      service: services,
    }),
    multinic_client_requests_total: counter(
      'Requests to other services by status class, each attempt and each opened stream once.',
      { ...labels, status: statuses },
    ),
  }
}

/** Of every component that watches the API server and elects a leader. */
const leading = {
  multinic_leader: gauge('1 while this replica is the leader.', none),
  multinic_watches_stale: gauge('Kubernetes watches whose cache may be out of date.', none),
}

/** Of every component with a work queue. The replica that is not the leader reports 0. */
const queued = {
  multinic_queue_active: gauge('Keys being reconciled.', none),
  multinic_queue_depth: gauge('Keys waiting for a worker.', none),
  multinic_queue_oldest_seconds: gauge('Age of the oldest key that waits for a worker.', none),
}

export const metricCatalogue = {
  operator: {
    multinic_operator_bus_connected: gauge('Open connections to a message bus.', {
      bus: 'message bus, as host:port',
    }),
    multinic_operator_last_notification_timestamp_seconds: gauge('Time of the last message from any bus.', none),
    multinic_operator_last_sync_timestamp_seconds: gauge('Time of the last successful sync.', { config: configs }),
    multinic_operator_notification_lag_seconds: histogram('Delay of notifications that triggered a sync.', none),
    multinic_operator_notifications_total: counter('Messages from message buses by outcome.', {
      outcome: ['woke', 'unchanged', 'unrelated', 'other', 'poison'],
    }),
    multinic_operator_oldest_unready_port_seconds: gauge(
      'Time for which the longest waiting selected port is not ready.',
      {
        config: configs,
      },
    ),
    multinic_operator_ports: gauge('Ports by verdict.', { config: configs, reason: Object.keys(reasonGroups.verdict) }),
    multinic_operator_removals_on_hold: gauge('Removals that wait for approval.', { config: configs }),
    multinic_operator_stage_seconds: histogram('Duration of a sync by stage.', {
      stage: ['cloud', 'held', 'plan', 'answers', 'deliver', 'status', 'record'],
    }),
    multinic_operator_sync_seconds: histogram('Duration of a sync.', none),
    multinic_operator_syncs_total: counter('Syncs by outcome.', { outcome: ['changed', 'unchanged', 'failed'] }),
    ...leading,
    ...queued,
    ...calling('contrabass', 'keystone', 'neutron', 'nova', 'viola', 'inventory', 'kubernetes'),
    ...serving,
    ...tracing,
  },
  viola: {
    multinic_viola_node_configs_total: counter('Node configs by outcome.', {
      provider: 'provider ID; from the 501st on: other',
      action: ['created', 'updated', 'unchanged', 'conflict', 'failed', 'deleted'],
    }),
    multinic_viola_routing_invalid: gauge('1 while the current routing file is invalid.', none),
    multinic_viola_target_credentials_invalid: gauge('1 while the newest credentials of the target are invalid.', {
      target: targets,
    }),
    multinic_viola_target_up: gauge('1 while the cluster is reachable.', { target: targets }),
    ...calling('kubernetes'),
    ...serving,
    ...tracing,
  },
  controller: {
    multinic_config_stage_seconds: histogram('Duration of a config by stage.', {
      stage: ['config_to_job', 'job_to_status', 'config_to_configured'],
    }),
    multinic_configs: gauge('MultiNicNodeConfigs by state.', { state: states }),
    multinic_configs_drifted: gauge('MultiNicNodeConfigs whose node differs from the spec.', none),
    multinic_jobs_active: gauge('Running agent Jobs.', none),
    multinic_jobs_created_total: counter('Created agent Jobs.', { action: ['apply', 'cleanup', 'check'] }),
    multinic_queue_seconds: histogram('Time that a config waits for a worker.', none),
    multinic_reconcile_seconds: histogram('Duration of one reconciliation of a config.', none),
    multinic_results_total: counter('Results of agent Jobs.', {
      state: states,
      reason: [...Object.keys(reasonGroups.node), 'Drifted', 'Removed'],
    }),
    multinic_deletions_on_hold: gauge('Deleted configs whose cleanup waits for approval.', none),
    multinic_rollout_failed: gauge('Nodes that failed with a new spec, or became unreachable in their change.', none),
    multinic_rollout_stopped: gauge('1 while the failure budget has stopped the rollout.', none),
    multinic_rollout_waiting: gauge('Configs waiting in a rollout.', none),
    ...leading,
    ...queued,
    ...calling('kubernetes'),
    ...serving,
    ...tracing,
  },
  inventory: {
    multinic_inventory_database_up: gauge('1 while the database is reachable.', none),
    multinic_inventory_database_writable: gauge(
      '0 after a failed write, until one succeeds: the database is read-only, full or locked.',
      none,
    ),
    multinic_inventory_writes_total: counter('Records written.', none),
    multinic_port_ready_seconds: histogram(
      'Time from the first sight of a port to each of its stages, of ports that reached the last one.',
      { stage: stages.slice(1), provider: 'provider ID; from the 101st on: other' },
    ),
    ...calling('kubernetes'),
    ...serving,
  },
} as const satisfies Record<string, Record<string, Metric>>

export type MetricComponent = keyof typeof metricCatalogue
type Catalogue = typeof metricCatalogue

export type MetricName<P extends MetricComponent, T extends MetricType> = {
  [N in keyof Catalogue[P]]: Catalogue[P][N] extends { type: T } ? N : never
}[keyof Catalogue[P]] &
  string

export type MetricLabels<P extends MetricComponent, N> = N extends keyof Catalogue[P]
  ? Catalogue[P][N] extends { labels: infer L }
    ? { [K in keyof L]: string }
    : never
  : never

/** Process metrics that the Prometheus client adds to every component. */
export const processMetrics: Readonly<Record<string, Metric>> = {
  process_cpu_user_seconds_total: counter('User CPU time.', none),
  process_cpu_system_seconds_total: counter('System CPU time.', none),
  process_cpu_seconds_total: counter('User and system CPU time.', none),
  process_start_time_seconds: gauge('Start of the process, since 1970.', none),
  process_resident_memory_bytes: gauge('Resident memory.', none),
  process_virtual_memory_bytes: gauge('Virtual memory.', none),
  process_heap_bytes: gauge('Data segment of the process.', none),
  process_open_fds: gauge('Open file descriptors.', none),
  process_max_fds: gauge('Maximum number of open file descriptors.', none),
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
