/**
 * The configuration of the controller, from its settings.
 */
import { agentSettings, ignoredAgentSettings } from '../contract/agent-settings.ts'
import { settingsFrom, type Values } from '../contract/setting.ts'
import type { Environment } from '../runtime/env.ts'
import type { TraceSettings } from '../telemetry/trace-export.ts'
import type { AttachmentSettings } from './networks/attachments.ts'
import { type Amount, controllerSettings } from './settings.ts'

export interface AgentSettings {
  image: string
  pullPolicy: 'Always' | 'IfNotPresent' | 'Never'
  serviceAccount: string
  pullSecrets: string[]
  priorityClass?: string
  appArmorProfile?: 'RuntimeDefault' | 'Unconfined'
  /** Environment of the agent container. */
  environment: Record<string, string>
  jobTtlSeconds: number
}

export type BizConfigMode = Values<typeof controllerSettings>['BIZ_CONFIG_MODE']

export interface ControllerConfig {
  kubeconfig?: string
  serviceHost: { KUBERNETES_SERVICE_HOST?: string | undefined; KUBERNETES_SERVICE_PORT?: string | undefined }
  namespace: string
  identity?: string
  agent: AgentSettings
  rollout: { maxUnavailable: Amount; failureBudget: Amount }
  drift: { policy: 'report' | 'repair'; intervalMs?: number }
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
  tracing: TraceSettings
}

export function controllerConfig(env: Environment): Readonly<ControllerConfig> {
  const settings = settingsFrom(controllerSettings, env)
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
      pullSecrets: settings.AGENT_PULL_SECRETS ?? [],
      ...(settings.AGENT_PRIORITY_CLASS && { priorityClass: settings.AGENT_PRIORITY_CLASS }),
      ...(settings.AGENT_APPARMOR_PROFILE && { appArmorProfile: settings.AGENT_APPARMOR_PROFILE }),
      environment: givenOf(agentSettings, env),
      jobTtlSeconds: settings.JOB_TTL,
    },
    rollout: { maxUnavailable: settings.MAX_UNAVAILABLE, failureBudget: settings.FAILURE_BUDGET },
    drift: {
      policy: settings.DRIFT_POLICY,
      ...(settings.DRIFT_INTERVAL.ms !== undefined && { intervalMs: settings.DRIFT_INTERVAL.ms }),
    },
    cleanupTimeoutMs: settings.CLEANUP_TIMEOUT,
    bizConfigMode: settings.BIZ_CONFIG_MODE,
    setsNodeCondition: settings.NODE_CONDITION,
    labelsNodes: settings.NODE_LABELS,
    attachments: {
      namespaces: settings.ATTACHMENT_NAMESPACES ?? [],
      plugin: settings.ATTACHMENT_PLUGIN,
      ipam: settings.ATTACHMENT_IPAM,
    },
    ignored: Object.keys(givenOf(ignoredAgentSettings, env)),
    healthAddr: settings.HEALTH_ADDR,
    leaderElect: settings.LEADER_ELECT,
    tracing: {
      OTEL_EXPORTER_OTLP_ENDPOINT: settings.OTEL_EXPORTER_OTLP_ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: settings.OTEL_EXPORTER_OTLP_HEADERS,
      OTEL_SERVICE_NAME: settings.OTEL_SERVICE_NAME,
    },
  })
}

/** The variables of a table that are set, as text. */
function givenOf(table: object, env: Environment): Record<string, string> {
  return Object.fromEntries(Object.keys(table).flatMap(name => (env[name] ? [[name, env[name]]] : [])))
}
