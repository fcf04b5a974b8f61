/**
 * Computes the next status of a config. Pure: undefined when the status is up to date, so that nothing is written twice.
 */
import type { AgentReport, InterfaceReport } from '../contract/agent-report.ts'
import type { ConditionType } from '../contract/condition-types.ts'
import { interfaceHash } from '../contract/interface-hash.ts'
import type { Interface } from '../contract/interfaces.ts'
import { equalJson } from '../contract/json.ts'
import type {
  AgentRollout,
  ConditionStatus,
  InterfaceStatus,
  NodeConfig,
  NodeConfigStatus,
} from '../contract/node-config.ts'
import { truncate } from '../contract/truncate.ts'
import { isAboutRequest } from './plan/config-status.ts'
import { type Requested, requestedOf } from './plan/requested.ts'
import type { StatusUpdate } from './plan/step.ts'
import type { Warning } from './plan/warning.ts'

export function nextStatus(
  config: NodeConfig,
  update: StatusUpdate,
  now: Date,
  warning?: Warning,
  nodeAddresses: readonly string[] = config.status?.nodeAddresses ?? [],
): NodeConfigStatus | undefined {
  const before = config.status ?? {}
  const at = timestampOf(now)
  const requested = requestedOf(config)
  const interfaceStatuses = nextInterfaces(config, requested, update, at)
  const ready = interfaceStatuses.filter(({ status, pending }) => status === 'Configured' && !pending).length
  const lastProcessed = update.result || update.checkedAt ? at : before.lastProcessed
  const lastJobName = update.job ?? before.lastJobName
  const {
    bootID = before.bootID,
    agentRollout = before.agentRollout,
    agentHash,
    checkIntervalMs,
  } = update.result ?? {
    agentHash: before.agentHash,
    checkIntervalMs: before.checkIntervalSeconds && before.checkIntervalSeconds * 1_000,
  }
  const generation = config.metadata.generation

  const next: NodeConfigStatus = {
    ...(generation !== undefined && { observedGeneration: generation }),
    observedSpecHash: config.spec.specHash || requested.specHash,
    ...(lastProcessed !== undefined && { lastProcessed }),
    ...(lastJobName !== undefined && { lastJobName }),
    state: update.state,
    nics: `${ready}/${requested.interfaces.length}`,
    conditions: [
      ...nextConditions(before.conditions ?? [], update, generation, at),
      ...warningCondition(before.conditions ?? [], warning, generation, at),
    ],
    interfaceStatuses,
    failedAttempts: update.failedAttempts,
    ...(bootID !== undefined && { bootID }),
    ...(nodeAddresses.length > 0 && { nodeAddresses: [...nodeAddresses] }),
    ...(update.nextAttempt !== undefined && { nextAttempt: timestampOf(new Date(update.nextAttempt)) }),
    ...(agentHash !== undefined && { agentHash }),
    ...(agentRollout && { agentRollout }),
    ...(checkIntervalMs !== undefined && { checkIntervalSeconds: Math.ceil(checkIntervalMs / 1_000) }),
  }
  return equalJson(before, next) ? undefined : next
}

/** What is said about a config whose state stays as it is. */
interface Notes {
  warning: Warning | undefined
  /** Undefined: as it is. Null: none. */
  agentRollout?: AgentRollout | null | undefined
}

export function nextNotes(
  { status, metadata: { generation } }: NodeConfig,
  { warning, agentRollout = status?.agentRollout }: Notes,
  now: Date,
): NodeConfigStatus | undefined {
  if (!status?.conditions) return undefined
  const others = status.conditions.filter(({ type }) => type !== warningType)
  const { agentRollout: _, ...rest } = status
  const next = {
    ...rest,
    ...(agentRollout && { agentRollout }),
    conditions: [...others, ...warningCondition(status.conditions, warning, generation, timestampOf(now))],
  }
  return equalJson(status, next) ? undefined : next
}

export function hasWarning({ status }: NodeConfig): boolean {
  return status?.conditions?.some(({ type }) => type === warningType) ?? false
}

type NodeConfigCondition = ConditionType<'MultiNicNodeConfig'>

const warningType: NodeConfigCondition = 'Warning'

/** Only there while it is True. */
function warningCondition(
  before: readonly ConditionStatus[],
  warning: Warning | undefined,
  generation: number | undefined,
  at: string,
): ConditionStatus[] {
  if (!warning) return []
  const { reason, message } = warning
  const since = before.find(({ type }) => type === warningType)?.lastTransitionTime ?? at
  return [conditionOf(warningType, true, { reason, message, since, generation })]
}

function nextConditions(
  before: ConditionStatus[],
  { state, reason, message, progressing }: StatusUpdate,
  generation: number | undefined,
  at: string,
): ConditionStatus[] {
  const values: [NodeConfigCondition, boolean][] = [
    ['Ready', state === 'Configured'],
    ['Progressing', progressing],
    ['Degraded', state === 'Failed'],
  ]
  return values.map(([type, value]) => {
    const old = before.find(condition => condition.type === type)
    const since = old?.status === (value ? 'True' : 'False') ? old.lastTransitionTime : undefined
    return conditionOf(type, value, { reason, message, since: since ?? at, generation })
  })
}

function conditionOf(
  type: NodeConfigCondition,
  value: boolean,
  {
    reason,
    message,
    since,
    generation,
  }: Pick<StatusUpdate, 'reason' | 'message'> & { since: string; generation: number | undefined },
): ConditionStatus {
  return {
    type,
    status: value ? 'True' : 'False',
    reason,
    message: truncate(message, 4_096),
    lastTransitionTime: since,
    ...(generation !== undefined && { observedGeneration: generation }),
  }
}

function timestampOf(now: Date): string {
  return `${now.toISOString().slice(0, 19)}Z`
}

function nextInterfaces(
  config: NodeConfig,
  { interfaces }: Requested,
  update: StatusUpdate,
  at: string,
): InterfaceStatus[] {
  const before = config.status?.interfaceStatuses ?? []
  if (update.checkedAt) return before
  const { report, endedAt } = update.result ?? {}
  const observedAt = endedAt === undefined ? at : timestampOf(new Date(endedAt))
  const requested = interfaces.map(nic => {
    const old = before.find(({ id, macAddress }) => id === nic.index && macAddress === nic.macAddress)
    const found = report?.interfaces.find(
      ({ id, macAddress }) => id === nic.index && macAddress.toLowerCase() === nic.macAddress,
    )
    return report && found ? reported(nic, found, report, old, observedAt) : waiting(config, nic, update, old)
  })
  if (!report) return requested
  const removed = report.interfaces.filter(
    ({ status, id }) => status === 'Removed' && !interfaces.some(nic => nic.index === id),
  )
  return [...requested, ...removed.map(removedInterface)]
}

function reported(
  nic: Interface,
  found: InterfaceReport,
  { changed }: AgentReport,
  old: InterfaceStatus | undefined,
  at: string,
): InterfaceStatus {
  const isUnchanged = (found.changed ?? changed) === 0 && old?.lastConfigured !== undefined
  const lastConfigured = found.status === 'Configured' && !isUnchanged ? at : old?.lastConfigured
  return {
    ...identityOf(nic),
    // What the Go implementation configured works as it meant it.
    status: found.reason === 'ConfiguredByOlderAgent' ? 'Configured' : found.status,
    reason: found.reason,
    ...(found.message && { message: truncate(found.message, 1_024) }),
    ...(lastConfigured !== undefined && { lastConfigured }),
    lastChecked: at,
    specHash: interfaceHash(nic),
    ...(found.observed && { observed: found.observed }),
  }
}

/** Without a new report the interface keeps its last observed state. */
function waiting(
  config: NodeConfig,
  nic: Interface,
  update: StatusUpdate,
  old: InterfaceStatus | undefined,
): InterfaceStatus {
  if (!old || !isObservation(old)) return notReported(nic, update, old)
  const { pending: _, ...last } = old
  if (old.status === 'Configured' && isAboutRequest(config, nic, old) && !update.pendingForAll) return last
  if (update.result) return notReported(nic, update, old)
  return { ...last, pending: { reason: update.reason, message: update.message.slice(0, 1_024) } }
}

/** The Go implementation wrote no hash. */
function isObservation({ specHash, status }: InterfaceStatus): boolean {
  return specHash !== undefined || status === 'Configured' || status === 'Failed'
}

/** No agent has reported on the interface since it was requested. */
function notReported(
  nic: Interface,
  { state, reason, result }: StatusUpdate,
  old: InterfaceStatus | undefined,
): InterfaceStatus {
  return {
    ...identityOf(nic),
    status: state === 'Configured' ? 'Pending' : state,
    reason: result?.report?.reason ?? reason,
    ...(old?.lastConfigured !== undefined && { lastConfigured: old.lastConfigured }),
    ...(old?.lastChecked !== undefined && { lastChecked: old.lastChecked }),
    ...(old?.observed && { observed: old.observed }),
  }
}

function removedInterface({ id, name, macAddress, portId, reason, message }: InterfaceReport): InterfaceStatus {
  return {
    id,
    name,
    macAddress: macAddress.toLowerCase(),
    ...(portId && { portId }),
    status: 'Removed',
    reason,
    ...(message && { message: truncate(message, 1_024) }),
  }
}

function identityOf({ index, name, portId, macAddress }: Interface): InterfaceStatus {
  return { id: index, name, ...(portId && { portId }), macAddress }
}
