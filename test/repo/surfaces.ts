/**
 * The list of surfaces: for each, what the checker (test/chaos) compares it with while NICs come, fail and go, or why there is
 * nothing to compare. A surface without an entry fails `make check`.
 */
import type { nicSurfaces } from '../chaos/claims.ts'
import type { fleetSurfaces } from '../chaos/fleet-surfaces.ts'
import type { nodeSurfaces } from '../chaos/node-claims.ts'
import type { SurfaceKind } from './surfaces-of-code.ts'

export type Compared = (typeof nicSurfaces)[number] | (typeof nodeSurfaces)[number] | (typeof fleetSurfaces)[number]
/** Names in the checker, or why the surface says nothing about the state of NICs, nodes and ports now. */
export type Entry = readonly Compared[] | { because: string }

const because = (text: string): Entry => ({ because: text })

const writes = because('a request, not a statement')
const component = because('about the component itself')
const documents = because('the program and its documents')
const requests = because('requests, and how long they took')
const times = because('how long something took')
const past = because('past changes; the newest one is compared as the change feed')
const requested = because('who asked for what, not what came of it')
const access = because('who may use the API')
const legacy = because('MultiNicBizConfig, which the sandbox does not create; src/controller/legacy has its tests')
const objectTime = because('the age or the version of the object')
const logs = because('logs')
const onlyWhenAsked = because('only after a request that the checker does not make; a test of its own compares it')
const rollout = because('the progress of a rollout; src/controller/rollout has its tests')
const sandbox = because('changes or explains the sandbox')

const ofConfig = ['the OpenstackConfig'] as const
const ofController = ['the metrics of the controller'] as const
const ofOperator = ['the metrics of the operator'] as const
const ofBundle = ['the support bundle'] as const
const ofFeed = ['the change feed', 'the reason in the change feed'] as const

export const surfaces: Record<SurfaceKind, Record<string, Entry>> = {
  routes: {
    'inventory get /v1/inventory/node-configs': ['the dashboard', 'multinic status', 'multinic export'],
    'inventory get /v1/inventory/node-configs/{nodeName}': ['the inventory'],
    'inventory get /v1/inventory/node-configs/{nodeName}/history': ofFeed,
    'inventory get /v1/inventory/history': past,
    'inventory get /v1/inventory/search': ['multinic find', 'the owners of ports'],
    'inventory get /v1/inventory/holders': ['the owners of ports'],
    'inventory get /v1/inventory/deviations': ['the list of deviations'],
    'inventory get /v1/inventory/audit': requested,
    'inventory get /v1/inventory/events': ['the stream of changes'],
    'inventory put /v1/inventory/records': writes,
    'inventory get /v1/operator/verdicts': ['the ports of the dashboard'],
    'inventory get /v1/operator/plans': because('what the last sync planned'),
    'inventory get /v1/interfaces/providers': ['the list of providers'],
    'inventory get /v1/interfaces/node-configs': ['the records of the provider'],
    'inventory get /v1/interfaces/node-configs/by-instance/{instanceId}': ['the records by VM'],
    'inventory post /v1/session': access,
    'inventory get /v1/session': access,
    'inventory delete /v1/session': access,
    'operator post /v1/operator/plan': because('what a changed object would do'),
    'viola post /v1/k8s/multinic/node-configs': writes,
    'viola get /v1/k8s/multinic/node-configs': ['the list of Viola'],
    'viola delete /v1/k8s/multinic/node-configs/{nodeName}': writes,
    'viola get /v1/k8s/multinic/nodes': because('the Nodes of the cluster, which the cluster itself states'),
    'every get /healthz': component,
    'every get /readyz': component,
    'every get /metrics': [...ofController, ...ofOperator],
    'every get /openapi.json': documents,
    'every get /openapi.yaml': documents,
    'every get /docs': documents,
    'every get /': documents,
    'every get /${path}': documents,
  },
  commands: {
    audit: requested,
    operator: component,
    viola: component,
    controller: component,
    inventory: component,
    agent: component,
    status: [
      'multinic status',
      'the text of multinic status',
      'the Korean text of multinic status',
      'the state in multinic status',
    ],
    why: ['multinic why'],
    plan: because('what a changed object would do'),
    renumber: onlyWhenAsked,
    history: past,
    find: ['multinic find', 'the owners of ports'],
    check: ['multinic check', 'the text of multinic check', 'the Korean text of multinic check'],
    export: ['multinic export'],
    'migrate plan': legacy,
    'migrate apply': legacy,
    'migrate verify': legacy,
    'migrate rollback': legacy,
    retry: because('a request; its result is the Ready condition, which is compared'),
    'rollout agent': rollout,
    'rollout status': rollout,
    doctor: ['multinic doctor'],
    'support-bundle': ofBundle,
    completion: documents,
    version: documents,
    'sandbox up': sandbox,
    'sandbox down': sandbox,
    'sandbox attach': sandbox,
    'sandbox detach': sandbox,
    'sandbox reboot': sandbox,
    'sandbox shell': sandbox,
    'sandbox fault': sandbox,
    'sandbox tour': sandbox,
    'sandbox status': ['sandbox status', 'the state in sandbox status'],
  },
  pages: {
    overview: ['the dashboard'],
    matrix: ['the dashboard'],
    nodes: ['the dashboard'],
    topology: ['the dashboard'],
    deviations: ['the dashboard', 'the list of deviations'],
    ports: ['the ports of the dashboard'],
    history: ofFeed,
  },
  columns: {
    'MultiNicNodeConfig Node': ['the columns of kubectl'],
    'MultiNicNodeConfig State': ['the columns of kubectl'],
    'MultiNicNodeConfig NICs': ['the columns of kubectl'],
    'MultiNicNodeConfig Reason': ['the columns of kubectl'],
    'MultiNicNodeConfig Generation': objectTime,
    'MultiNicNodeConfig Observed': objectTime,
    'MultiNicNodeConfig Age': objectTime,
    'MultiNicBizConfig Nodes': legacy,
    'MultiNicBizConfig Configured': legacy,
    'MultiNicBizConfig Failed': legacy,
    'MultiNicBizConfig Ready': legacy,
    'MultiNicBizConfig Age': objectTime,
    'OpenstackConfig Ready': ofConfig,
    'OpenstackConfig Reason': because('the result of the last sync'),
    'OpenstackConfig Nodes': ofConfig,
    'OpenstackConfig Ports': ofConfig,
    'OpenstackConfig Synced': objectTime,
    'OpenstackConfig Age': objectTime,
  },
  conditions: {
    'MultiNicNodeConfig Ready': ['the conditions'],
    'MultiNicNodeConfig Progressing': ['the conditions'],
    'MultiNicNodeConfig Degraded': ['the conditions'],
    'MultiNicNodeConfig Warning': because('about the Node, such as one machine ID of two Nodes'),
    'MultiNicBizConfig InProgress': legacy,
    'MultiNicBizConfig Applied': legacy,
    'MultiNicBizConfig Ready': legacy,
    'MultiNicBizConfig Overridden': legacy,
    'MultiNicBizConfig ReadOnly': legacy,
    'OpenstackConfig Ready': ofConfig,
    'OpenstackConfig Degraded': ofConfig,
    'OpenstackConfig NodesReady': ofConfig,
    'OpenstackConfig RemovalHeld': because('the checker removes one port at a time, which is never on hold'),
    'OpenstackConfig RemovalPending': because('a removal that Viola refuses'),
    'OpenstackConfig CloudReady': because('the login to the cloud'),
    'OpenstackConfig Renumbering': onlyWhenAsked,
    'OpenstackConfig EventsConnected': because('the connection to the message bus'),
    'Node MultiNicReady': ['the condition of the Node'],
  },
  metrics: {
    multinic_operator_bus_connected: component,
    multinic_operator_last_notification_timestamp_seconds: component,
    multinic_operator_last_sync_timestamp_seconds: component,
    multinic_operator_notification_lag_seconds: times,
    multinic_operator_notifications_total: component,
    multinic_operator_oldest_unready_port_seconds: times,
    multinic_operator_ports: ofOperator,
    multinic_operator_removals_on_hold: ofOperator,
    multinic_operator_stage_seconds: times,
    multinic_operator_sync_seconds: times,
    multinic_operator_syncs_total: component,
    multinic_viola_node_configs_total: requests,
    multinic_viola_routing_invalid: component,
    multinic_viola_target_credentials_invalid: component,
    multinic_viola_target_up: component,
    multinic_config_stage_seconds: times,
    multinic_configs: ofController,
    multinic_configs_drifted: ofController,
    multinic_jobs_active: component,
    multinic_jobs_created_total: component,
    multinic_queue_seconds: times,
    multinic_reconcile_seconds: times,
    multinic_results_total: because('results since the start of the controller'),
    multinic_rollout_failed: rollout,
    multinic_rollout_stopped: rollout,
    multinic_deletions_on_hold: rollout,
    multinic_rollout_waiting: rollout,
    multinic_inventory_database_up: component,
    multinic_inventory_database_writable: component,
    multinic_inventory_writes_total: requests,
    multinic_port_ready_seconds: times,
    multinic_leader: component,
    multinic_watches_stale: component,
    multinic_queue_active: component,
    multinic_queue_depth: component,
    multinic_queue_oldest_seconds: component,
    multinic_client_request_seconds: requests,
    multinic_client_requests_active: requests,
    multinic_client_requests_total: requests,
    multinic_http_request_seconds: requests,
    multinic_http_requests_active: requests,
    multinic_http_requests_total: requests,
    multinic_http_streams_active: requests,
    multinic_trace_spans_total: requests,
  },
  events: {
    sync: because('the result of a sync: src/operator/sync/object-events.test.ts compares Events with conditions'),
    verdict: because('the same verdicts as the ports of the dashboard: src/operator/sync/object-events.test.ts'),
    node: ['the Events'],
    bizConfig: legacy,
    interface: ['the Events'],
  },
  'files of the support bundle': {
    'openstackconfigs.json': because('the object without unknown fields: src/cli/support-bundle.test.ts'),
    'multinicnodeconfigs.json': ofBundle,
    'multinicbizconfigs.json': legacy,
    'nodes.json': because('the object without unknown fields: src/cli/support-bundle.test.ts'),
    'deployments.json': component,
    'pods.json': component,
    'agent-jobs.json': component,
    'agent-pods.json': component,
    'events.json': because('the Events, which are compared'),
    'version.json': component,
    '${metadata.name}.log': logs,
    'missing.txt': because('what could not be read'),
  },
}
