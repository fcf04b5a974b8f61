/**
 * The settings of the agent for the whole cluster, each with its default as a user writes it. The controller passes them to its
 * Jobs under the same names. Free of dependencies: the agent parses its environment with these defaults.
 */
import { defaultMarkMask, defaultTableBase, hex } from './routing-scheme.ts'

export const agentDefaults = {
  NETWORK_POLICY_ROUTING_ENABLED: 'true',
  NETWORK_ROUTING_TABLE_BASE: `${defaultTableBase}`,
  NETWORK_ROUTE_METRIC: '100',
  NETWORK_MARK_MASK: hex(defaultMarkMask),
  NETWORK_ACCEPT_RA: 'false',
  NIC_WAIT: '15s',
  NETWORK_PROBE: 'reported',
  NETWORK_PROBE_PEERS: '',
  NETWORK_PROBE_TIMEOUT: '800ms',
  NETWORK_DUPLICATE_CHECK: 'true',
  NETWORK_TAKEOVER: 'dynamic',
  PREFLIGHT_ALLOW_UP: 'false',
} as const

export type AgentSetting = keyof typeof agentDefaults
