/**
 * Computes the next status of a config. Pure: undefined when the status is up to date, so that nothing is written twice.
 */
import type { AgentReport, InterfaceReport } from '../contract/agent-report.ts'
import type { Interface } from '../contract/interfaces.ts'
import { equalJson } from '../contract/json.ts'
import type { ConditionStatus, InterfaceStatus, NodeConfig, NodeConfigStatus } from '../contract/node-config.ts'
import { isCurrent } from './plan/config-status.ts'
import { type Requested, requestedOf } from './plan/requested.ts'
import type { StatusUpdate } from './plan/step.ts'

export function nextStatus(config: NodeConfig, update: StatusUpdate, now: Date): NodeConfigStatus | undefined {
  const before = config.status ?? {}
  const at = `${now.toISOString().slice(0, 19)}Z`
  const requested = requestedOf(config)
  const interfaceStatuses = nextInterfaces(config, requested, update, at)
  const configured = interfaceStatuses.filter(({ status }) => status === 'Configured').length
  const lastProcessed = update.result ? at : before.lastProcessed
  const lastJobName = update.job ?? before.lastJobName
  const bootID = update.result?.bootID ?? before.bootID
  const generation = config.metadata.generation

  const next: NodeConfigStatus = {
    ...(generation !== undefined && { observedGeneration: generation }),
    observedSpecHash: config.spec.specHash || requested.specHash,
    ...(lastProcessed !== undefined && { lastProcessed }),
    ...(lastJobName !== undefined && { lastJobName }),
    state: update.state,
    nics: `${configured}/${requested.interfaces.length}`,
    conditions: nextConditions(before.conditions ?? [], update, generation, at),
    interfaceStatuses,
    failedAttempts: update.failedAttempts,
    ...(bootID !== undefined && { bootID }),
  }
  return equalJson(before, next) ? undefined : next
}

function nextConditions(
  before: ConditionStatus[],
  { state, reason, message, progressing }: StatusUpdate,
  generation: number | undefined,
  at: string,
): ConditionStatus[] {
  const isTrue = { Ready: state === 'Configured', Progressing: progressing, Degraded: state === 'Failed' }
  return Object.entries(isTrue).map(([type, value]) => {
    const status = value ? 'True' : 'False'
    const old = before.find(condition => condition.type === type)
    const since = old?.status === status ? old.lastTransitionTime : undefined
    return {
      type,
      status,
      reason,
      message: message.slice(0, 4_096),
      lastTransitionTime: since ?? at,
      ...(generation !== undefined && { observedGeneration: generation }),
    }
  })
}

function nextInterfaces(
  config: NodeConfig,
  { interfaces }: Requested,
  update: StatusUpdate,
  at: string,
): InterfaceStatus[] {
  const before = config.status?.interfaceStatuses ?? []
  const report = update.result?.report
  const requested = interfaces.map(nic => {
    const old = before.find(({ id, macAddress }) => id === nic.index && macAddress === nic.macAddress)
    const found = report?.interfaces.find(
      ({ id, macAddress }) => id === nic.index && macAddress.toLowerCase() === nic.macAddress,
    )
    if (report && found) return reported(nic, found, report, old, at)
    const isValid = isCurrent(config) && (old?.status === 'Configured' || (old?.status === 'Failed' && !update.result))
    return old && isValid ? old : notReported(nic, update, old)
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
  const unchanged = old?.status === 'Configured' && changed === 0 ? old.lastConfigured : undefined
  const lastConfigured = found.status === 'Configured' ? (unchanged ?? at) : old?.lastConfigured
  return {
    ...identityOf(nic),
    status: found.status,
    reason: found.reason,
    ...(found.message && { message: found.message.slice(0, 1_024) }),
    ...(lastConfigured !== undefined && { lastConfigured }),
    lastChecked: at,
    ...(found.observed && { observed: found.observed }),
  }
}

/** No agent has reported on the interface since it was requested. */
function notReported(
  nic: Interface,
  { state, reason }: StatusUpdate,
  old: InterfaceStatus | undefined,
): InterfaceStatus {
  return {
    ...identityOf(nic),
    status: state === 'Configured' ? 'Pending' : state,
    reason,
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
    ...(message && { message: message.slice(0, 1_024) }),
  }
}

function identityOf({ index, name, portId, macAddress }: Interface): InterfaceStatus {
  return { id: index, name, ...(portId && { portId }), macAddress }
}
