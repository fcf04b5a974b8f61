/**
 * Inventory records as the screens show them: each NIC with one severity, each node with the worst of its NICs. Pure.
 */
import type { Deviation, InventoryRecord, Stage } from '../../src/contract/inventory.ts'
import type { ObservationTimes } from '../../src/contract/observation.ts'
import { networkOf, withPrefix } from './cidr.ts'

/** Worst first: the order of every list. */
export const severities = ['failed', 'drifted', 'onHold', 'pending', 'inProgress', 'removing', 'configured'] as const
export type Severity = (typeof severities)[number]

type RequestedInterface = InventoryRecord['config']['interfaces'][number]
type InterfaceState = NonNullable<InventoryRecord['interfaces']>[number]
export type Differences = Deviation['differences']

export interface Nic {
  /** The request as delivered; undefined for an interface that is no longer requested. */
  request: RequestedInterface | undefined
  index: number
  name: string
  severity: Severity
  /** What the newest request waits for, while it is not applied. `severity` then describes the wait, or a worse last state. */
  pending: { reason: string; message: string; remedy: string } | undefined
  /** The state that was last observed, if the newest request is not applied. */
  lastSeverity: Severity | undefined
  macAddress: string
  portId: string
  /** The first of `addresses`. */
  address: string
  /** With prefix length. */
  addresses: string[]
  network: string
  subnetId: string
  subnetName: string
  networkId: string
  networkName: string
  mtu: number | undefined
  gateway: string
  routes: { destination: string; nexthop: string }[]
  source: string
  reason: string
  message: string
  remedy: string
  stages: Partial<Record<Stage, string>>
  /** Stages without a measured time: clocks differ. */
  clamped: readonly Stage[]
  observation: ObservationTimes
  observed: InterfaceState['observed']
  differences: Differences
}

export interface Node {
  /** Unique across providers. */
  key: string
  providerId: string
  providerName: string
  nodeName: string
  instanceId: string
  instanceName: string
  updatedAt: string
  state: InventoryRecord['state']
  agentRollout: InventoryRecord['agentRollout']
  nics: Nic[]
  /** Undefined for a node without managed NICs. */
  worst: Severity | undefined
}

export const nodeKey = (providerId: string, nodeName: string) => `${providerId} ${nodeName}`

export function nodeOf(record: InventoryRecord, deviations: readonly Deviation[]): Node {
  const { providerId, providerName = '', nodeName, instanceId, instanceName = '' } = record
  const { updatedAt, state, agentRollout } = record
  const requested = record.config.interfaces.map((each, position) => nicOf(record, each, position, deviations))
  const removals = (record.interfaces ?? [])
    .filter(state => state.status !== 'Removed' && !requested.some(nic => isSameNic(nic, state)))
    .map((state, position) => pendingRemoval(state, requested.length + position))
  const nics = [...requested, ...removals].sort((a, b) => a.index - b.index)
  const names = { providerId, providerName, nodeName, instanceId, instanceName }
  return { key: nodeKey(providerId, nodeName), ...names, updatedAt, state, agentRollout, nics, worst: worstOf(nics) }
}

export function worstOf(nics: readonly { severity: Severity }[]): Severity | undefined {
  return severities.find(severity => nics.some(nic => nic.severity === severity))
}

function isSameNic({ portId, macAddress }: { portId: string; macAddress: string }, state: InterfaceState): boolean {
  return (portId !== '' && state.portId === portId) || state.macAddress?.toLowerCase() === macAddress
}

function nicOf(
  record: InventoryRecord,
  requested: RequestedInterface,
  position: number,
  deviations: readonly Deviation[],
): Nic {
  const index = requested.id ?? indexInName(requested.name) ?? position
  const name = requested.name ?? `multinic${index}`
  const [macAddress, portId] = [requested.macAddress.toLowerCase(), requested.portId ?? '']
  const state = record.interfaces?.find(each => isSameNic({ portId, macAddress }, each))
  const differences = deviations.find(each => each.interface === name)?.differences ?? []
  const addresses = [...new Set([...withPrefix(requested.address, requested.cidr), ...(requested.addresses ?? [])])]
  // The reason of the node applies to each NIC that is not configured and has no reason of its own.
  const isConfigured = record.state === 'Configured' || state?.status === 'Configured'
  const last = severityOf(state?.status, state?.reason, differences)
  // The reason of a configured NIC does not explain why its newest request is not delivered.
  const { reason, message, remedy } =
    last === 'pending' && state?.status === 'Configured' ? {} : state?.reason ? state : isConfigured ? {} : record
  return {
    request: requested,
    index,
    name,
    ...progressOf(state, severityOf(state?.status, reason, differences)),
    macAddress,
    portId,
    address: addresses[0] ?? '',
    addresses,
    network: networkOf(requested.cidr ?? addresses[0] ?? ''),
    subnetId: requested.subnetId ?? '',
    subnetName: requested.subnetName ?? '',
    networkId: requested.networkId ?? '',
    networkName: requested.networkName ?? '',
    mtu: requested.mtu,
    gateway: requested.gateway ?? '',
    routes: requested.routes ?? [],
    source: requested.source ?? '',
    reason: reason ?? '',
    message: message ?? '',
    remedy: remedy ?? '',
    stages: state?.stages ?? {},
    clamped: state?.clamped ?? [],
    observation: observationTimes(state),
    observed: state?.observed,
    differences,
  }
}

/** An interface that is no longer requested and still exists on the node. */
function pendingRemoval(state: InterfaceState, position: number): Nic {
  const index = state.id ?? indexInName(state.name) ?? position
  const address = state.observed?.addresses?.[0] ?? ''
  return {
    request: undefined,
    index,
    name: state.name ?? `multinic${index}`,
    ...progressOf(state, state.reason === 'RemovalHeld' ? 'onHold' : state.status === 'Failed' ? 'failed' : 'removing'),
    macAddress: state.macAddress?.toLowerCase() ?? '',
    portId: state.portId ?? '',
    address,
    addresses: state.observed?.addresses ?? [],
    network: networkOf(address),
    subnetId: '',
    subnetName: '',
    networkId: '',
    networkName: '',
    mtu: state.observed?.mtu,
    gateway: '',
    routes: [],
    source: '',
    reason: state.reason ?? '',
    message: state.message ?? '',
    remedy: state.remedy ?? '',
    stages: state.stages ?? {},
    clamped: state.clamped ?? [],
    observation: observationTimes(state),
    observed: state.observed,
    differences: [],
  }
}

function observationTimes({
  lastChecked,
  lastConfigured,
  checkIntervalSeconds,
}: InterfaceState = {}): ObservationTimes {
  return { lastChecked, lastConfigured, checkIntervalSeconds }
}

/** A NIC that waits is not configured as requested, but keeps a last state that is worse than waiting. */
function progressOf(
  state: InterfaceState | undefined,
  last: Severity,
): Pick<Nic, 'severity' | 'pending' | 'lastSeverity'> {
  const { pending } = state ?? {}
  if (!pending) return { severity: last, pending: undefined, lastSeverity: undefined }
  const { reason, message, remedy = '' } = pending
  return {
    severity: last !== 'configured' ? last : reason === 'Applying' ? 'inProgress' : 'pending',
    pending: { reason, message, remedy },
    lastSeverity: last === 'pending' ? undefined : last,
  }
}

/** Why a NIC is as it is: what its newest request waits for, or the reason of its last state. */
export function causeOf({ pending, severity, lastSeverity, reason, message, remedy }: Nic): {
  reason: string
  message: string
  remedy: string
} {
  return pending && severity !== lastSeverity ? pending : { reason, message, remedy }
}

export function severityOf(status: InterfaceState['status'], reason = '', differences: Differences = []): Severity {
  if (reason === 'RemovalHeld') return 'onHold'
  if (status === 'Removed' || reason === 'Removing') return 'removing'
  // A check reports a NIC that differs as Failed.
  if (reason === 'Drifted') return 'drifted'
  if (status === 'Failed') return 'failed'
  if (status === 'InProgress') return 'inProgress'
  if (status !== 'Configured') return 'pending'
  if (differences.some(({ delivered }) => delivered === undefined)) return 'drifted'
  // As delivered, but the newest request could not be delivered.
  return differences.length > 0 ? 'pending' : 'configured'
}

function indexInName(name: string | undefined): number | undefined {
  const digit = /^multinic(\d)$/.exec(name ?? '')?.[1]
  return digit === undefined ? undefined : Number(digit)
}

export type Counts = Record<Severity, number> & { nodes: number; nics: number }

export function countsOf(nodes: readonly Node[]): Counts {
  const counts: Counts = {
    ...{ failed: 0, drifted: 0, onHold: 0, pending: 0, inProgress: 0, removing: 0, configured: 0 },
    ...{ nodes: nodes.length, nics: 0 },
  }
  for (const { nics } of nodes)
    for (const { severity } of nics) {
      counts[severity] += 1
      counts.nics += 1
    }
  return counts
}

/** Reasons of a NIC whose turn will come, or that somebody paused. */
const waitingReasons = new Set<string>([
  ...['AllInterfacesConfigured', 'Applying', 'Configured', 'ConfiguredByOlderAgent', 'InSync', 'Paused', 'Planned'],
  ...['PreviousJobRunning', 'Removed', 'Removing', 'RolloutWaiting'],
])

/** The NICs that need attention. One function for every count and list of them. */
export function attentionOf(nodes: readonly Node[]): { node: Node; nic: Nic }[] {
  const isStuck = (nic: Nic) => {
    const { reason, remedy } = causeOf(nic)
    return nic.severity === 'pending' && remedy !== '' && !waitingReasons.has(reason)
  }
  return nodes.flatMap(node =>
    node.nics.filter(nic => needsAttention(nic.severity) || isStuck(nic)).map(nic => ({ node, nic })),
  )
}

export const needsAttention = (severity: Severity | undefined) =>
  severity === 'failed' || severity === 'drifted' || severity === 'onHold'

/** Whether the text is part of the node's names or of one of its NICs. */
export function nodeMatches(node: Node, text: string): boolean {
  const query = text.toLowerCase()
  const includesQuery = (value: string) => value.toLowerCase().includes(query)
  return (
    [node.nodeName, node.instanceId, node.instanceName, node.providerId, node.providerName].some(includesQuery) ||
    node.nics.some(nic =>
      [
        ...[nic.address, nic.macAddress, nic.portId, nic.network, nic.subnetName, nic.networkName, nic.name],
        ...[nic.reason, nic.pending?.reason ?? ''],
      ].some(includesQuery),
    )
  )
}
