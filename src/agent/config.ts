/**
 * The agent's settings: environment in, one value or every mistake at once out.
 */
import { canonical, parseIp } from '../contract/address.ts'
import { parseDuration } from '../contract/duration.ts'
import { type FieldError, interfaceIndex } from '../contract/interfaces.ts'
import type { Environment } from '../runtime/env.ts'

export const backends = ['netplan', 'networkmanager', 'ifcfg'] as const
export type BackendKind = (typeof backends)[number]

/** What an answer of a NIC's own gateway or peer is to a run: needed, told, or not asked for. */
export const probeModes = ['required', 'reported', 'off'] as const
export type ProbeMode = (typeof probeModes)[number]

export interface Settings {
  policyRouting: boolean
  tableBase: number
  metric: number
  noPrefixRoute: boolean
  arpSysctls: boolean
  looseRpFilter: boolean
  /** Router advertisements count on our NICs; a default route never comes of one. */
  acceptRa: boolean
  reload: 'none' | 'apply'
  /** Milliseconds. */
  nicWait: number
  allowUp: boolean
  backend?: BackendKind
  /** An address, or a name that is still to be asked for. */
  apiServer?: string
  apiPort: number
  probe: {
    mode: ProbeMode
    /** By number of the interface, where it differs. */
    of: Readonly<Record<number, ProbeMode>>
    /** Addresses to ask instead of the gateway by a NIC in whose network they are. */
    peers: readonly string[]
    /** Milliseconds for an answer. */
    timeout: number
  }
  duplicateCheck: boolean
}

const yes = new Set(['1', 'true', 'yes', 'on'])
const no = new Set(['0', 'false', 'no', 'off'])

/** A rule's priority is 10000 + table: beyond this one it would come after the kernel's main table (32766). */
const maxTableBase = 22_756

export function parseSettings(env: Environment): { settings: Settings; errors: FieldError[] } {
  const errors: FieldError[] = []
  const text = (name: string) => (env[name] === '' ? undefined : env[name])
  const fail = (path: string, message: string) => errors.push({ path, message })

  const flag = (name: string, fallback: boolean) => {
    const value = text(name)?.toLowerCase()
    if (value === undefined) return fallback
    if (!yes.has(value) && !no.has(value)) fail(name, `"${env[name]}" is neither true nor false`)
    return yes.has(value)
  }
  const whole = (name: string, fallback: number, min: number, max: number) => {
    const value = text(name)
    if (value === undefined) return fallback
    const number = Number(value)
    if (!/^\d{1,10}$/.test(value) || number < min || number > max)
      fail(name, `"${value}" is not a whole number from ${min} to ${max}`)
    return number
  }
  const duration = (name: string, fallback: number) => {
    const value = text(name)
    if (value === undefined) return fallback
    const ms = value === '0' || value === '0s' ? 0 : parseDuration(value)
    if (ms === undefined) fail(name, `"${value}" is not a duration such as 15s`)
    return ms ?? fallback
  }
  const oneOf = <T extends string>(name: string, allowed: readonly T[]): T | undefined => {
    const value = text(name)
    const found = allowed.find(item => item === value)
    if (value !== undefined && !found) fail(name, `"${value}" is none of ${allowed.join(', ')}`)
    return found
  }

  const tableBase = whole('NETWORK_ROUTING_TABLE_BASE', 100, 1, maxTableBase)
  if (tableBase <= 255 && tableBase + 9 >= 253)
    fail('NETWORK_ROUTING_TABLE_BASE', `${tableBase} reaches the kernel's own tables 253 to 255`)
  const backend = oneOf('MULTINIC_BACKEND', backends)
  const probe = probeOf(text('NETWORK_PROBE') ?? 'reported', message => fail('NETWORK_PROBE', message))
  const peers = (text('NETWORK_PROBE_PEERS') ?? '').split(',').filter(Boolean)
  for (const peer of peers)
    if (!parseIp(peer)) fail('NETWORK_PROBE_PEERS', `"${peer}" is neither an IPv4 nor an IPv6 address`)
  // Some clouds replace the address by a name.
  const apiServer = text('KUBERNETES_SERVICE_HOST')
  if (apiServer !== undefined && !/^[A-Za-z0-9.:_-]{1,253}$/.test(apiServer))
    fail('KUBERNETES_SERVICE_HOST', `"${apiServer}" is neither an address nor a host name`)
  const settings: Settings = {
    policyRouting: flag('NETWORK_POLICY_ROUTING_ENABLED', true),
    tableBase,
    metric: whole('NETWORK_ROUTE_METRIC', 100, 0, 0x7fffffff),
    noPrefixRoute: flag('NETWORK_NOPREFIXROUTE', true),
    arpSysctls: flag('NETWORK_SET_ARP_SYSCTLS', true),
    looseRpFilter: flag('NETWORK_SET_RP_FILTER_LOOSE', true),
    acceptRa: flag('NETWORK_ACCEPT_RA', false),
    reload: oneOf('NETWORK_RELOAD', ['none', 'apply']) ?? 'none',
    nicWait: duration('NIC_WAIT', 15_000),
    allowUp: flag('PREFLIGHT_ALLOW_UP', false),
    ...(backend === undefined ? {} : { backend }),
    ...(apiServer === undefined ? {} : { apiServer: canonical(apiServer) ?? apiServer }),
    apiPort: whole('KUBERNETES_SERVICE_PORT', 443, 1, 65_535),
    probe: { ...probe, peers, timeout: duration('NETWORK_PROBE_TIMEOUT', 800) },
    duplicateCheck: flag('NETWORK_DUPLICATE_CHECK', true),
  }
  return { settings, errors }
}

/** `reported`, or `reported,multinic2=required,multinic3=off`. */
function probeOf(text: string, fail: (message: string) => void): Pick<Settings['probe'], 'mode' | 'of'> {
  const modeOf = (word: string): ProbeMode => {
    const mode = probeModes.find(known => known === word)
    if (!mode) fail(`"${word}" is none of ${probeModes.join(', ')}`)
    return mode ?? 'reported'
  }
  const [first = '', ...more] = text.split(',')
  const of: Record<number, ProbeMode> = {}
  for (const entry of more) {
    const [name = '', word = ''] = entry.split('=')
    const id = interfaceIndex(name)
    if (id === undefined) fail(`"${name}" is not one of multinic0 to multinic9`)
    else of[id] = modeOf(word)
  }
  return { mode: modeOf(first), of }
}
