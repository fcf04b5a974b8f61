/**
 * The agent's settings, parsed from the environment. All errors are reported at once.
 */
import { canonical } from '../contract/address.ts'
import { type AgentValues, agentSettings, type ProbeSettings } from '../contract/agent-settings.ts'
import { type Backend, backendNames } from '../contract/backend.ts'
import type { FieldError } from '../contract/interfaces.ts'
import { integer, matching, oneOf, readSettings } from '../contract/setting.ts'
import type { Environment } from '../runtime/env.ts'

export interface Settings {
  policyRouting: boolean
  tableBase: number
  metric: number
  /** Four adjacent bits of the packet mark. */
  markMask: number
  /** Accept router advertisements on our NICs, except their default route. */
  acceptRa: boolean
  /** Milliseconds. */
  nicWait: number
  allowUp: boolean
  /** What happens to a NIC that DHCP or router advertisements configured first: taken over, or refused. */
  takeover: AgentValues['NETWORK_TAKEOVER']
  backend?: Backend
  /** An address, or a host name that is not resolved yet. */
  apiServer?: string
  apiPort: number
  probe: ProbeSettings & {
    /** A NIC probes the first peer in its network instead of its gateway. */
    peers: readonly string[]
    /** Milliseconds to wait for a reply. */
    timeout: number
  }
  duplicateCheck: boolean
}

/** Of one Job: the controller and Kubernetes set them. */
const jobSettings = {
  MULTINIC_BACKEND: { read: oneOf(...backendNames) },
  // Some clouds set a host name instead of the address.
  KUBERNETES_SERVICE_HOST: {
    read: matching(value => /^[A-Za-z0-9.:_-]{1,253}$/.test(value), 'must be an address or a host name'),
  },
  KUBERNETES_SERVICE_PORT: { read: integer(1, 65_535), default: '443' },
} as const

export function parseSettings(env: Environment): { settings: Settings; errors: FieldError[] } {
  const { values, errors } = readSettings({ ...agentSettings, ...jobSettings }, env)
  const { MULTINIC_BACKEND: backend, KUBERNETES_SERVICE_HOST: apiServer } = values
  const settings: Settings = {
    policyRouting: values.NETWORK_POLICY_ROUTING_ENABLED,
    tableBase: values.NETWORK_ROUTING_TABLE_BASE,
    metric: values.NETWORK_ROUTE_METRIC,
    markMask: values.NETWORK_MARK_MASK,
    acceptRa: values.NETWORK_ACCEPT_RA,
    nicWait: values.NIC_WAIT,
    allowUp: values.PREFLIGHT_ALLOW_UP,
    takeover: values.NETWORK_TAKEOVER,
    ...(backend === undefined ? {} : { backend }),
    ...(apiServer === undefined ? {} : { apiServer: canonical(apiServer) ?? apiServer }),
    apiPort: values.KUBERNETES_SERVICE_PORT,
    probe: {
      ...values.NETWORK_PROBE,
      peers: values.NETWORK_PROBE_PEERS ?? [],
      timeout: values.NETWORK_PROBE_TIMEOUT,
    },
    duplicateCheck: values.NETWORK_DUPLICATE_CHECK,
  }
  return { settings, errors }
}
