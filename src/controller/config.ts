/**
 * The settings of the controller, from its environment. Settings of the agent are checked here too, because a Job that
 * fails on a typing mistake would fail on every node.
 */
import { z } from 'zod'
import { parseDuration } from '../contract/duration.ts'
import { type Environment, settingsFrom } from '../runtime/env.ts'
import { type TraceSettings, traceSettings } from '../telemetry/trace-export.ts'
import type { BizMode } from './legacy/expand.ts'

/** A number of nodes, or a share of them. */
export type Amount = { count: number } | { percent: number }

export interface AgentSettings {
  image: string
  pullPolicy: 'Always' | 'IfNotPresent' | 'Never'
  serviceAccount: string
  pullSecrets: string[]
  priorityClass?: string
  /** Handed to the Job's container as they are. */
  environment: Record<string, string>
  jobTtlSeconds: number
}

export interface ControllerConfig {
  kubeconfig?: string
  serviceHost: { KUBERNETES_SERVICE_HOST?: string | undefined; KUBERNETES_SERVICE_PORT?: string | undefined }
  namespace: string
  identity?: string
  agent: AgentSettings
  rollout: { maxUnavailable: Amount; failureBudget: Amount }
  drift: { policy: 'report' | 'repair'; intervalMs?: number; maxChecks: number }
  cleanupTimeoutMs: number
  bizMode: BizMode
  /** Nodes get the condition MultiNicReady. */
  marksNodes: boolean
  healthAddr: string
  leaderElect: boolean
  workers: number
  tracing: TraceSettings
}

const flag = z.stringbool()
const flagText = z.string().refine(text => flag.safeParse(text).success, 'must be true or false')
const numberText = z.string().regex(/^[0-9]{1,9}$/, 'must be a whole number')
const durationText = z
  .string()
  .refine(text => parseDuration(text) !== undefined, 'must be a duration above zero, such as 15s or 2m')
const probeText = /^(required|reported|off)(,multinic[0-9]=(required|reported|off))*$/
const durationMs = durationText.transform(text => parseDuration(text) ?? 0)

function said<T extends z.ZodType>(description: string, setting: T): T {
  return setting.meta({ description })
}

/** Everything of the agent that may be set for a cluster: it reaches the Job under the same name. */
const agentEnvironment = {
  NETWORK_POLICY_ROUTING_ENABLED: said('A routing table and rules for every NIC.', flagText.optional()),
  NETWORK_ROUTING_TABLE_BASE: said('Number of the first of these tables.', numberText.optional()),
  NETWORK_ROUTE_METRIC: said('Metric of the routes of our NICs.', numberText.optional()),
  NETWORK_NOPREFIXROUTE: said('No connected route of our NICs in the main table.', flagText.optional()),
  NETWORK_SET_ARP_SYSCTLS: said('arp_ignore and arp_announce of our NICs.', flagText.optional()),
  NETWORK_SET_RP_FILTER_LOOSE: said('Loose reverse path filter on our NICs.', flagText.optional()),
  NETWORK_ACCEPT_RA: said(
    'Whether router advertisements count on our NICs; a default route never comes of one.',
    flagText.optional(),
  ),
  NETWORK_RELOAD: said('Whether files are also loaded when they are written.', z.enum(['none', 'apply']).optional()),
  NIC_WAIT: said('How long an agent waits for a NIC that is not in the guest yet.', durationText.optional()),
  NETWORK_PROBE: said(
    'Whether the gateway of a NIC has to answer; for single NICs as in reported,multinic2=required.',
    z.string().regex(probeText, 'must be required, reported or off, then multinicN=… for single NICs').optional(),
  ),
  NETWORK_PROBE_PEERS: said('Addresses to ask instead of a gateway, separated by commas.', z.string().optional()),
  NETWORK_PROBE_TIMEOUT: said('How long an answer may take.', durationText.optional()),
  NETWORK_DUPLICATE_CHECK: said('Ask the wire whether another machine has the address.', flagText.optional()),
  PREFLIGHT_ALLOW_UP: said('Take NICs that are up with addresses of others.', flagText.optional()),
}

const amount = z
  .string()
  .regex(/^[0-9]{1,6}%?$/, 'must be a number of nodes, or a share such as 10%')
  .transform((text): Amount => (text.endsWith('%') ? { percent: Number.parseInt(text, 10) } : { count: Number(text) }))

/** `10m`, or a bare number of seconds as older charts have it. */
const seconds = z
  .string()
  .refine(text => /^[0-9]{1,9}$/.test(text) || parseDuration(text) !== undefined, 'must be a duration, such as 10m')
  .transform(text => Math.ceil(/^[0-9]+$/.test(text) ? Number(text) : (parseDuration(text) ?? 0) / 1_000))

/** The defaults are written as they would be typed, so that the reference page can show them. */
export const controllerSettings = z.object({
  KUBECONFIG: said('Access to the cluster; without it the ServiceAccount of the Pod is used.', z.string().optional()),
  KUBERNETES_SERVICE_HOST: said('Set by Kubernetes in every Pod.', z.string().optional()),
  KUBERNETES_SERVICE_PORT: said('Set by Kubernetes in every Pod.', z.string().optional()),
  CONTROLLER_NAMESPACE: said(
    'Where the configs and Jobs are; else POD_NAMESPACE, else multinic-system.',
    z.string().optional(),
  ),
  POD_NAMESPACE: said('The namespace of the Pod, from the downward API.', z.string().optional()),
  POD_NAME: said('Name of this replica in the Lease; else the host name.', z.string().optional()),
  AGENT_IMAGE: said("Image of the agent's Jobs.", z.string().prefault('multinic-agent:latest')),
  AGENT_IMAGE_PULL_POLICY: said(
    'When the image is pulled.',
    z.enum(['Always', 'IfNotPresent', 'Never']).prefault('IfNotPresent'),
  ),
  AGENT_SERVICE_ACCOUNT: said(
    'ServiceAccount of the Jobs; it needs no rights.',
    z.string().prefault('multinic-agent-job'),
  ),
  AGENT_PULL_SECRETS: said('Names of pull Secrets, separated by commas.', z.string().prefault('')),
  AGENT_PRIORITY_CLASS: said('PriorityClass of the Jobs.', z.string().optional()),
  JOB_TTL: said('How long an ended Job stays.', seconds.prefault('10m')),
  MAX_UNAVAILABLE: said(
    'How many nodes may change at once: a number, or a share of all nodes (at least 1).',
    amount.prefault('10%'),
  ),
  FAILURE_BUDGET: said(
    'How many nodes may fail with a new spec before the others wait: a number, or a share (at least 3).',
    amount.prefault('20%'),
  ),
  DRIFT_INTERVAL: said(
    'How often a settled node is checked, or off.',
    z.union([z.literal('off').transform(() => undefined), durationMs]).prefault('off'),
  ),
  DRIFT_POLICY: said(
    'What follows from drift: it is told, or repaired.',
    z.enum(['report', 'repair']).prefault('report'),
  ),
  DRIFT_MAX_CHECKS: said('How many checks may run at once.', z.coerce.number().int().min(1).max(1_000).prefault('10')),
  CLEANUP_TIMEOUT: said('How long a deleted config waits for its node to clean up.', durationMs.prefault('10m')),
  BIZ_CONFIG_MODE: said(
    'MultiNicBizConfigs: dual serves them beside MultiNicNodeConfigs, biz-read-only ignores changes of them, node-only does not look at them.',
    z.enum(['dual', 'node-only', 'biz-read-only']).prefault('dual'),
  ),
  NODE_CONDITION: said(
    'Whether each Node gets the condition MultiNicReady (needs the right to patch nodes/status).',
    flag.prefault('false'),
  ),
  HEALTH_ADDR: said('Where /healthz, /readyz and /metrics are served.', z.string().prefault(':8080')),
  LEADER_ELECT: said('Whether replicas elect a leader; needed for more than one.', flag.prefault('false')),
  CONTROLLER_WORKERS: said(
    'How many configs are worked on at once.',
    z.coerce.number().int().min(1).max(256).prefault('16'),
  ),
  ...traceSettings,
  ...agentEnvironment,
})

export function controllerConfig(env: Environment): Readonly<ControllerConfig> {
  const given = settingsFrom(controllerSettings, env)
  const names = Object.keys(agentEnvironment) as (keyof typeof agentEnvironment)[]
  return Object.freeze({
    ...(given.KUBECONFIG && { kubeconfig: given.KUBECONFIG }),
    serviceHost: {
      KUBERNETES_SERVICE_HOST: given.KUBERNETES_SERVICE_HOST,
      KUBERNETES_SERVICE_PORT: given.KUBERNETES_SERVICE_PORT,
    },
    namespace: given.CONTROLLER_NAMESPACE ?? given.POD_NAMESPACE ?? 'multinic-system',
    ...(given.POD_NAME && { identity: given.POD_NAME }),
    agent: {
      image: given.AGENT_IMAGE,
      pullPolicy: given.AGENT_IMAGE_PULL_POLICY,
      serviceAccount: given.AGENT_SERVICE_ACCOUNT,
      pullSecrets: given.AGENT_PULL_SECRETS.split(',')
        .map(name => name.trim())
        .filter(Boolean),
      ...(given.AGENT_PRIORITY_CLASS && { priorityClass: given.AGENT_PRIORITY_CLASS }),
      environment: Object.fromEntries(names.flatMap(name => (given[name] ? [[name, given[name]]] : []))),
      jobTtlSeconds: given.JOB_TTL,
    },
    rollout: { maxUnavailable: given.MAX_UNAVAILABLE, failureBudget: given.FAILURE_BUDGET },
    drift: {
      policy: given.DRIFT_POLICY,
      maxChecks: given.DRIFT_MAX_CHECKS,
      ...(given.DRIFT_INTERVAL !== undefined && { intervalMs: given.DRIFT_INTERVAL }),
    },
    cleanupTimeoutMs: given.CLEANUP_TIMEOUT,
    bizMode: given.BIZ_CONFIG_MODE,
    marksNodes: given.NODE_CONDITION,
    healthAddr: given.HEALTH_ADDR,
    leaderElect: given.LEADER_ELECT,
    workers: given.CONTROLLER_WORKERS,
    tracing: {
      OTEL_EXPORTER_OTLP_ENDPOINT: given.OTEL_EXPORTER_OTLP_ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: given.OTEL_EXPORTER_OTLP_HEADERS,
      OTEL_SERVICE_NAME: given.OTEL_SERVICE_NAME,
    },
  })
}
