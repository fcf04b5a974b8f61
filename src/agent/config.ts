/**
 * The agent's settings, parsed from the environment. All errors are reported at once.
 */
import { canonical, parseIp } from '../contract/address.ts'
import { type AgentSetting, agentDefaults } from '../contract/agent-settings.ts'
import { parseDuration } from '../contract/duration.ts'
import { type FieldError, interfaceIndex } from '../contract/interfaces.ts'
import { defaultMarkMask } from '../contract/routing-scheme.ts'
import type { Environment } from '../runtime/env.ts'

export const backends = ['netplan', 'networkmanager', 'ifcfg'] as const
export type BackendKind = (typeof backends)[number]

/** A missing reply from a NIC's gateway or peer fails the NIC, is reported, or is not probed for. */
export const probeModes = ['required', 'reported', 'off'] as const
export type ProbeMode = (typeof probeModes)[number]

/** What happens to a NIC that DHCP or router advertisements configured first: taken over, or refused. */
export const takeoverModes = ['dynamic', 'refuse'] as const

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
  takeover: (typeof takeoverModes)[number]
  backend?: BackendKind
  /** An address, or a host name that is not resolved yet. */
  apiServer?: string
  apiPort: number
  probe: {
    mode: ProbeMode
    /** By index of the interface, where it differs from `mode`. */
    perInterface: Readonly<Record<number, ProbeMode>>
    /** A NIC probes the first peer in its network instead of its gateway. */
    peers: readonly string[]
    /** Milliseconds to wait for a reply. */
    timeout: number
  }
  duplicateCheck: boolean
}

const yes = new Set(['1', 'true', 'yes', 'on'])
const no = new Set(['0', 'false', 'no', 'off'])

/** Table numbers have 32 bits; the last NIC has the base + 9, the primary NIC the base + 10. */
const maxTableBase = 0xffff_ffff - 10

export function parseSettings(env: Environment): { settings: Settings; errors: FieldError[] } {
  const errors: FieldError[] = []
  const text = (name: AgentSetting) => env[name] || agentDefaults[name]
  const fail = (path: string, message: string) => errors.push({ path, message })

  const flag = (name: AgentSetting) => {
    const value = text(name).toLowerCase()
    if (!yes.has(value) && !no.has(value)) fail(name, `"${env[name]}" must be true or false`)
    return yes.has(value)
  }
  const integer = (name: string, value: string, min: number, max: number) => {
    const number = Number(value)
    if (!/^\d{1,10}$/.test(value) || number < min || number > max)
      fail(name, `"${value}" must be an integer from ${min} to ${max}`)
    return number
  }
  const duration = (name: AgentSetting) => {
    const value = text(name)
    const ms = value === '0' || value === '0s' ? 0 : parseDuration(value)
    if (ms === undefined) fail(name, `"${value}" must be a duration such as 15s`)
    return ms ?? 0
  }
  const oneOf = <T extends string>(name: string, value: string, allowed: readonly T[]): T | undefined => {
    const found = allowed.find(item => item === value)
    if (!found) fail(name, `"${value}" must be one of ${allowed.join(', ')}`)
    return found
  }

  const tableBase = integer('NETWORK_ROUTING_TABLE_BASE', text('NETWORK_ROUTING_TABLE_BASE'), 1, maxTableBase)
  if (tableBase <= 255 && tableBase + 10 >= 253)
    fail('NETWORK_ROUTING_TABLE_BASE', `${tableBase} overlaps the kernel tables 253 to 255`)
  const givenBackend = env['MULTINIC_BACKEND'] || undefined
  const backend = givenBackend === undefined ? undefined : oneOf('MULTINIC_BACKEND', givenBackend, backends)
  const probe = parseProbe(text('NETWORK_PROBE'), message => fail('NETWORK_PROBE', message))
  const peers = text('NETWORK_PROBE_PEERS').split(',').filter(Boolean)
  for (const peer of peers) if (!parseIp(peer)) fail('NETWORK_PROBE_PEERS', `"${peer}" must be an IPv4 or IPv6 address`)
  // Some clouds set a host name instead of the address.
  const apiServer = env['KUBERNETES_SERVICE_HOST'] || undefined
  if (apiServer !== undefined && !/^[A-Za-z0-9.:_-]{1,253}$/.test(apiServer))
    fail('KUBERNETES_SERVICE_HOST', `"${apiServer}" must be an address or a host name`)
  const settings: Settings = {
    policyRouting: flag('NETWORK_POLICY_ROUTING_ENABLED'),
    tableBase,
    metric: integer('NETWORK_ROUTE_METRIC', text('NETWORK_ROUTE_METRIC'), 0, 0x7fffffff),
    markMask: markMask(text('NETWORK_MARK_MASK'), message => fail('NETWORK_MARK_MASK', message)),
    acceptRa: flag('NETWORK_ACCEPT_RA'),
    nicWait: duration('NIC_WAIT'),
    allowUp: flag('PREFLIGHT_ALLOW_UP'),
    takeover: oneOf('NETWORK_TAKEOVER', text('NETWORK_TAKEOVER'), takeoverModes) ?? 'dynamic',
    ...(backend === undefined ? {} : { backend }),
    ...(apiServer === undefined ? {} : { apiServer: canonical(apiServer) ?? apiServer }),
    apiPort: integer('KUBERNETES_SERVICE_PORT', env['KUBERNETES_SERVICE_PORT'] || '443', 1, 65_535),
    probe: { ...probe, peers, timeout: duration('NETWORK_PROBE_TIMEOUT') },
    duplicateCheck: flag('NETWORK_DUPLICATE_CHECK'),
  }
  return { settings, errors }
}

/** `0x78`: the bits 3 to 6. */
function markMask(text: string, fail: (message: string) => void): number {
  const mask = /^0x[0-9a-f]{1,8}$/i.test(text) ? Number(text) : 0
  if (mask !== 0 && mask / (mask & -mask) === 0xf) return mask
  fail(`"${text}" must be a hexadecimal number with four adjacent bits, such as 0x78`)
  return defaultMarkMask
}

/** `reported`, or `reported,multinic2=required,multinic3=off`. */
function parseProbe(text: string, fail: (message: string) => void): Pick<Settings['probe'], 'mode' | 'perInterface'> {
  const modeOf = (value: string): ProbeMode => {
    const mode = probeModes.find(known => known === value)
    if (!mode) fail(`"${value}" must be one of ${probeModes.join(', ')}`)
    return mode ?? 'reported'
  }
  const [first = '', ...more] = text.split(',')
  const perInterface: Record<number, ProbeMode> = {}
  for (const entry of more) {
    const [name = '', value = ''] = entry.split('=')
    const index = interfaceIndex(name)
    if (index === undefined) fail(`"${name}" must be one of multinic0 to multinic9`)
    else perInterface[index] = modeOf(value)
  }
  return { mode: modeOf(first), perInterface }
}
