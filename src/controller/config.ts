/**
 * The settings of the controller, from its environment. It validates those of the agent too: a typing error would
 * otherwise fail the Jobs on all nodes.
 */
import * as z from 'zod'
import { type AgentSetting, agentDefaults } from '../contract/agent-settings.ts'
import { parseDuration } from '../contract/duration.ts'
import { type Environment, settingsFrom } from '../runtime/env.ts'
import { type TraceSettings, traceSettings } from '../telemetry/trace-export.ts'
import { type AttachmentSettings, attachmentPlugins } from './networks/attachments.ts'

/** A number of nodes, or a percentage of all nodes. */
export type Amount = { count: number } | { percent: number }

const appArmorProfiles = ['RuntimeDefault', 'Unconfined'] as const

export interface AgentSettings {
  image: string
  pullPolicy: 'Always' | 'IfNotPresent' | 'Never'
  serviceAccount: string
  pullSecrets: string[]
  priorityClass?: string
  appArmorProfile?: (typeof appArmorProfiles)[number]
  /** Environment of the agent container. */
  environment: Record<string, string>
  jobTtlSeconds: number
}

const bizConfigModes = ['dual', 'node-only', 'biz-read-only'] as const
export type BizConfigMode = (typeof bizConfigModes)[number]

export interface ControllerConfig {
  kubeconfig?: string
  serviceHost: { KUBERNETES_SERVICE_HOST?: string | undefined; KUBERNETES_SERVICE_PORT?: string | undefined }
  namespace: string
  identity?: string
  agent: AgentSettings
  rollout: { maxUnavailable: Amount; failureBudget: Amount }
  drift: { policy: 'report' | 'repair'; intervalMs?: number; gapMs: number; maxChecks: number }
  cleanupTimeoutMs: number
  bizConfigMode: BizConfigMode
  /** Set the condition MultiNicReady on Nodes. */
  setsNodeCondition: boolean
  /** Label Nodes with their proven networks, and remove the taint not-ready. */
  labelsNodes: boolean
  attachments: AttachmentSettings
  /** Names of settings that are set and have no effect. */
  ignored: string[]
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

function described<T extends z.ZodType>(description: string, setting: T): T {
  return setting.meta({ description })
}

/** If unset, the Job does not get a setting, and the agent has its default. */
function ofAgent<T extends Record<AgentSetting, z.ZodType>>(shape: T): T {
  const entries = Object.entries(shape) as [AgentSetting, z.ZodType][]
  return Object.fromEntries(
    entries.map(([name, setting]) => [name, setting.meta({ ...setting.meta(), default: agentDefaults[name] })]),
  ) as T
}

export const agentEnvironment = ofAgent({
  NETWORK_POLICY_ROUTING_ENABLED: described('Use a routing table and rules for each NIC.', flagText.optional()),
  NETWORK_ROUTING_TABLE_BASE: described('Number of the first of these routing tables.', numberText.optional()),
  NETWORK_ROUTE_METRIC: described('Metric of the routes of the managed NICs.', numberText.optional()),
  NETWORK_MARK_MASK: described(
    'Four adjacent bits of the packet mark for the managed NICs, such as 0x78. No other program of the node may use them in its rules.',
    z
      .string()
      .regex(/^0x[0-9a-fA-F]{1,8}$/, 'must be a hexadecimal number such as 0x78')
      .optional(),
  ),
  NETWORK_ACCEPT_RA: described(
    'Accept router advertisements on the managed NICs, but never a default route from them.',
    flagText.optional(),
  ),
  NIC_WAIT: described('How long an agent waits for a NIC that is not in the guest yet.', durationText.optional()),
  NETWORK_PROBE: described(
    'Whether the gateway of a NIC must answer: required, reported or off. Per NIC: reported,multinic2=required.',
    z.string().regex(probeText, 'must be required, reported or off, then multinicN=… for single NICs').optional(),
  ),
  NETWORK_PROBE_PEERS: described(
    'Addresses to probe instead of the gateway, separated by commas.',
    z.string().optional(),
  ),
  NETWORK_PROBE_TIMEOUT: described('Timeout of a probe.', durationText.optional()),
  NETWORK_DUPLICATE_CHECK: described(
    'Probe the network for another machine with the same address before using it.',
    flagText.optional(),
  ),
  NETWORK_TAKEOVER: described(
    'With dynamic, the agent takes over a NIC that DHCP or router advertisements configured. With refuse, it refuses the NIC. The label multinic.io/takeover on a Node overrides it.',
    z.enum(['dynamic', 'refuse']).optional(),
  ),
  PREFLIGHT_ALLOW_UP: described(
    'Also configure NICs that are up and have addresses that MultiNIC did not set.',
    flagText.optional(),
  ),
})

/** Of the Go agent. The NICs always have what these switched on, and the kernel has what a reload would apply. */
const noEffect = described('Has no effect. It is accepted because values of the Go agent set it.', z.string().optional())
const withoutEffect = {
  NETWORK_NOPREFIXROUTE: noEffect,
  NETWORK_SET_ARP_SYSCTLS: noEffect,
  NETWORK_SET_RP_FILTER_LOOSE: noEffect,
  NETWORK_RELOAD: noEffect,
}

const amount = z
  .string()
  .regex(/^[0-9]{1,6}%?$/, 'must be a number of nodes, or a percentage such as 10%')
  .transform((text): Amount => (text.endsWith('%') ? { percent: Number.parseInt(text, 10) } : { count: Number(text) }))

const ipamSections = z.record(z.string(), z.looseObject({ type: z.string().min(1) }))

function namesIn(text: string): string[] {
  return [...new Set(text.split(',').map(name => name.trim()))].filter(Boolean)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** `10m`, or a plain number of seconds. */
const seconds = z
  .string()
  .refine(text => /^[0-9]{1,9}$/.test(text) || parseDuration(text) !== undefined, 'must be a duration, such as 10m')
  .transform(text => Math.ceil(/^[0-9]+$/.test(text) ? Number(text) : (parseDuration(text) ?? 0) / 1_000))

/** Defaults have the form that a user types, so that the reference page can show them. */
export const controllerSettings = z.object({
  KUBECONFIG: described('Path of a kubeconfig file. Default: the ServiceAccount of the Pod.', z.string().optional()),
  KUBERNETES_SERVICE_HOST: described('Set by Kubernetes in every Pod.', z.string().optional()),
  KUBERNETES_SERVICE_PORT: described('Set by Kubernetes in every Pod.', z.string().optional()),
  CONTROLLER_NAMESPACE: described(
    'Namespace of the configs and Jobs. Default: POD_NAMESPACE, else multinic-system.',
    z.string().optional(),
  ),
  POD_NAMESPACE: described('Namespace of the Pod, from the downward API.', z.string().optional()),
  POD_NAME: described('Name of this replica in the Lease. Default: the host name.', z.string().optional()),
  AGENT_IMAGE: described('Image of the agent Jobs.', z.string().prefault('multinic-agent:latest')),
  AGENT_IMAGE_PULL_POLICY: described(
    'Image pull policy of the agent Jobs.',
    z.enum(['Always', 'IfNotPresent', 'Never']).prefault('IfNotPresent'),
  ),
  AGENT_SERVICE_ACCOUNT: described(
    'ServiceAccount of the agent Jobs. It needs no permissions.',
    z.string().prefault('multinic-agent-job'),
  ),
  AGENT_PULL_SECRETS: described(
    'Names of image pull Secrets, separated by commas.',
    z.string().transform(namesIn).prefault(''),
  ),
  AGENT_PRIORITY_CLASS: described('PriorityClass of the agent Jobs.', z.string().optional()),
  AGENT_APPARMOR_PROFILE: described(
    'AppArmor profile of the agent Jobs. Unconfined lets the agent use D-Bus on Ubuntu, whose default profile denies it.',
    z.enum(appArmorProfiles).optional(),
  ),
  JOB_TTL: described('How long to keep an ended Job.', seconds.prefault('10m')),
  MAX_UNAVAILABLE: described(
    'How many nodes may change at the same time: a number, or a percentage of all nodes (at least 1).',
    amount.prefault('10%'),
  ),
  FAILURE_BUDGET: described(
    'How many nodes may fail with a new spec before the rollout stops: a number, or a percentage of all nodes (at least 3).',
    amount.prefault('20%'),
  ),
  DRIFT_INTERVAL: described(
    'How often to check a configured node for drift, or off. Longer if DRIFT_CHECK_GAP for each node exceeds it.',
    z.union([z.literal('off').transform(() => undefined), durationMs]).prefault('1h'),
  ),
  DRIFT_CHECK_GAP: described(
    'Minimum time between the starts of two drift checks in the cluster.',
    durationMs.prefault('5s'),
  ),
  DRIFT_POLICY: described(
    'What to do about drift: report it, or repair it.',
    z.enum(['report', 'repair']).prefault('report'),
  ),
  DRIFT_MAX_CHECKS: described(
    'How many drift checks may run at the same time.',
    z.coerce.number().int().min(1).max(1_000).prefault('10'),
  ),
  CLEANUP_TIMEOUT: described('How long a deleted config waits for its node to clean up.', durationMs.prefault('10m')),
  BIZ_CONFIG_MODE: described(
    'How to handle MultiNicBizConfigs: dual reconciles them beside MultiNicNodeConfigs, biz-read-only ignores changes to them, node-only ignores them.',
    z.enum(bizConfigModes).prefault('dual'),
  ),
  NODE_CONDITION: described(
    'Set the condition MultiNicReady on Nodes. Needs permission to patch nodes/status.',
    flag.prefault('false'),
  ),
  NODE_LABELS: described(
    'Label each Node with its proven networks (network.multinic.io/ALIAS: ready), and remove the taint multinic.io/not-ready:NoSchedule when all NICs of its config are proven. Needs permission to patch nodes.',
    flag.prefault('false'),
  ),
  ATTACHMENT_NAMESPACES: described(
    'Namespaces in which the controller keeps one NetworkAttachmentDefinition of Multus for each network with an alias, separated by commas. Default: none. Needs permissions in these namespaces.',
    z.string().transform(namesIn).prefault(''),
  ),
  ATTACHMENT_PLUGIN: described('CNI plugin of these definitions.', z.enum(attachmentPlugins).prefault('ipvlan')),
  ATTACHMENT_IPAM: described(
    'The ipam section of these definitions by alias, as JSON: {"storage":{"type":"whereabouts","range":"10.10.0.128/26"}}. For other aliases, the section that you write into the definition stays.',
    z
      .string()
      .transform((text, context) => {
        const found = ipamSections.safeParse(parseJson(text))
        if (!found.success)
          context.addIssue('must be a JSON object with an ipam section, with its type, for each alias')
        return found.data ?? {}
      })
      .prefault('{}'),
  ),
  HEALTH_ADDR: described('Listen address of /healthz, /readyz and /metrics.', z.string().prefault(':8080')),
  LEADER_ELECT: described('Use leader election. Required for more than one replica.', flag.prefault('false')),
  CONTROLLER_WORKERS: described(
    'How many configs to reconcile at the same time.',
    z.coerce.number().int().min(1).max(256).prefault('16'),
  ),
  ...traceSettings,
  ...agentEnvironment,
  ...withoutEffect,
})

export function controllerConfig(env: Environment): Readonly<ControllerConfig> {
  const settings = settingsFrom(controllerSettings, env)
  const names = Object.keys(agentEnvironment) as (keyof typeof agentEnvironment)[]
  return Object.freeze({
    ...(settings.KUBECONFIG && { kubeconfig: settings.KUBECONFIG }),
    serviceHost: {
      KUBERNETES_SERVICE_HOST: settings.KUBERNETES_SERVICE_HOST,
      KUBERNETES_SERVICE_PORT: settings.KUBERNETES_SERVICE_PORT,
    },
    namespace: settings.CONTROLLER_NAMESPACE ?? settings.POD_NAMESPACE ?? 'multinic-system',
    ...(settings.POD_NAME && { identity: settings.POD_NAME }),
    agent: {
      image: settings.AGENT_IMAGE,
      pullPolicy: settings.AGENT_IMAGE_PULL_POLICY,
      serviceAccount: settings.AGENT_SERVICE_ACCOUNT,
      pullSecrets: settings.AGENT_PULL_SECRETS,
      ...(settings.AGENT_PRIORITY_CLASS && { priorityClass: settings.AGENT_PRIORITY_CLASS }),
      ...(settings.AGENT_APPARMOR_PROFILE && { appArmorProfile: settings.AGENT_APPARMOR_PROFILE }),
      environment: Object.fromEntries(names.flatMap(name => (settings[name] ? [[name, settings[name]]] : []))),
      jobTtlSeconds: settings.JOB_TTL,
    },
    rollout: { maxUnavailable: settings.MAX_UNAVAILABLE, failureBudget: settings.FAILURE_BUDGET },
    drift: {
      policy: settings.DRIFT_POLICY,
      maxChecks: settings.DRIFT_MAX_CHECKS,
      gapMs: settings.DRIFT_CHECK_GAP,
      ...(settings.DRIFT_INTERVAL !== undefined && { intervalMs: settings.DRIFT_INTERVAL }),
    },
    cleanupTimeoutMs: settings.CLEANUP_TIMEOUT,
    bizConfigMode: settings.BIZ_CONFIG_MODE,
    setsNodeCondition: settings.NODE_CONDITION,
    labelsNodes: settings.NODE_LABELS,
    attachments: {
      namespaces: settings.ATTACHMENT_NAMESPACES,
      plugin: settings.ATTACHMENT_PLUGIN,
      ipam: settings.ATTACHMENT_IPAM,
    },
    ignored: Object.keys(withoutEffect).filter(name => settings[name as keyof typeof withoutEffect] !== undefined),
    healthAddr: settings.HEALTH_ADDR,
    leaderElect: settings.LEADER_ELECT,
    workers: settings.CONTROLLER_WORKERS,
    tracing: {
      OTEL_EXPORTER_OTLP_ENDPOINT: settings.OTEL_EXPORTER_OTLP_ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: settings.OTEL_EXPORTER_OTLP_HEADERS,
      OTEL_SERVICE_NAME: settings.OTEL_SERVICE_NAME,
    },
  })
}
