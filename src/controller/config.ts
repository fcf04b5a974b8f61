/**
 * The settings of the controller, from its environment. Settings of the agent are checked here too, because a Job that
 * fails on a typing mistake would fail on every node.
 */
import { z } from 'zod'
import { parseDuration } from '../contract/duration.ts'
import { type Environment, settingsFrom } from '../env.ts'

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
  drift: { policy: 'report' | 'repair'; intervalMs?: number }
  cleanupTimeoutMs: number
  healthAddr: string
  leaderElect: boolean
  workers: number
}

const flag = z.stringbool()
const flagText = z.string().refine(text => flag.safeParse(text).success, 'must be true or false')
const numberText = z.string().regex(/^[0-9]{1,9}$/, 'must be a whole number')
const durationText = z
  .string()
  .refine(text => parseDuration(text) !== undefined, 'must be a duration above zero, such as 15s or 2m')
const durationMs = durationText.transform(text => parseDuration(text) ?? 0)

/** Everything of the agent that may be set for a cluster: it reaches the Job under the same name. */
const agentEnvironment = {
  NETWORK_POLICY_ROUTING_ENABLED: flagText.optional(),
  NETWORK_ROUTING_TABLE_BASE: numberText.optional(),
  NETWORK_ROUTE_METRIC: numberText.optional(),
  NETWORK_NOPREFIXROUTE: flagText.optional(),
  NETWORK_SET_ARP_SYSCTLS: flagText.optional(),
  NETWORK_SET_RP_FILTER_LOOSE: flagText.optional(),
  NETWORK_RELOAD: z.enum(['none', 'apply']).optional(),
  NIC_WAIT: durationText.optional(),
  PREFLIGHT_ALLOW_UP: flagText.optional(),
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

const schema = z.object({
  KUBECONFIG: z.string().optional(),
  KUBERNETES_SERVICE_HOST: z.string().optional(),
  KUBERNETES_SERVICE_PORT: z.string().optional(),
  CONTROLLER_NAMESPACE: z.string().optional(),
  POD_NAMESPACE: z.string().optional(),
  POD_NAME: z.string().optional(),
  AGENT_IMAGE: z.string().default('multinic-agent:latest'),
  AGENT_IMAGE_PULL_POLICY: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  AGENT_SERVICE_ACCOUNT: z.string().default('multinic-agent-job'),
  AGENT_PULL_SECRETS: z.string().default(''),
  AGENT_PRIORITY_CLASS: z.string().optional(),
  JOB_TTL: seconds.default(600),
  MAX_UNAVAILABLE: amount.default({ percent: 10 }),
  FAILURE_BUDGET: amount.default({ percent: 20 }),
  DRIFT_INTERVAL: z.union([z.literal('off').transform(() => undefined), durationMs]).optional(),
  DRIFT_POLICY: z.enum(['report', 'repair']).default('report'),
  CLEANUP_TIMEOUT: durationMs.default(600_000),
  HEALTH_ADDR: z.string().default(':8080'),
  LEADER_ELECT: flag.default(false),
  CONTROLLER_WORKERS: z.coerce.number().int().min(1).max(256).default(16),
  ...agentEnvironment,
})

export function controllerConfig(env: Environment): Readonly<ControllerConfig> {
  const given = settingsFrom(schema, env)
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
      ...(given.DRIFT_INTERVAL !== undefined && { intervalMs: given.DRIFT_INTERVAL }),
    },
    cleanupTimeoutMs: given.CLEANUP_TIMEOUT,
    healthAddr: given.HEALTH_ADDR,
    leaderElect: given.LEADER_ELECT,
    workers: given.CONTROLLER_WORKERS,
  })
}
