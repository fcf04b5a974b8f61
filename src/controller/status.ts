/**
 * What the status of a config says next. Pure: undefined when it says so already, so that nothing is written twice.
 */
import type { AgentReport, InterfaceReport } from '../contract/agent-report.ts'
import type { Interface } from '../contract/interfaces.ts'
import { equalJson } from '../contract/json.ts'
import type { ConditionStatus, InterfaceStatus, NodeConfig, NodeConfigStatus } from '../contract/node-config.ts'
import { type Said, type Work, workOf } from './plan/work.ts'

export function nextStatus(config: NodeConfig, said: Said, now: Date): NodeConfigStatus | undefined {
  const before = config.status ?? {}
  const at = `${now.toISOString().slice(0, 19)}Z`
  const work = workOf(config)
  const interfaceStatuses = interfacesAfter(config, work, said, at)
  const configured = interfaceStatuses.filter(({ status }) => status === 'Configured').length
  const lastProcessed = said.result ? at : before.lastProcessed
  const lastJobName = said.job ?? before.lastJobName
  const bootID = said.result?.bootID ?? before.bootID
  const generation = config.metadata.generation

  const next: NodeConfigStatus = {
    ...(generation !== undefined && { observedGeneration: generation }),
    observedSpecHash: config.spec.specHash || work.specHash,
    ...(lastProcessed !== undefined && { lastProcessed }),
    ...(lastJobName !== undefined && { lastJobName }),
    state: said.state,
    nics: `${configured}/${work.interfaces.length}`,
    conditions: conditionsAfter(before.conditions ?? [], said, generation, at),
    interfaceStatuses,
    failedAttempts: said.failedAttempts,
    ...(bootID !== undefined && { bootID }),
  }
  return equalJson(before, next) ? undefined : next
}

function conditionsAfter(
  before: ConditionStatus[],
  { state, reason, message, progressing }: Said,
  generation: number | undefined,
  at: string,
): ConditionStatus[] {
  const holds = { Ready: state === 'Configured', Progressing: progressing, Degraded: state === 'Failed' }
  return Object.entries(holds).map(([type, holding]) => {
    const status = holding ? 'True' : 'False'
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

function interfacesAfter(config: NodeConfig, work: Work, said: Said, at: string): InterfaceStatus[] {
  const before = config.status?.interfaceStatuses ?? []
  const report = said.result?.report
  const sameSpec = config.status?.observedGeneration === config.metadata.generation
  const wanted = work.interfaces.map(nic => {
    const old = before.find(({ id, macAddress }) => id === nic.index && macAddress === nic.macAddress)
    const told = report?.interfaces.find(
      ({ id, macAddress: mac }) => id === nic.index && mac.toLowerCase() === nic.macAddress,
    )
    if (report && told) return reported(nic, told, report, old, at)
    const stands = sameSpec && (old?.status === 'Configured' || (old?.status === 'Failed' && !said.result))
    return old && stands ? old : untold(nic, said, old)
  })
  if (!report) return wanted
  const removed = report.interfaces.filter(
    ({ status, id }) => status === 'Removed' && !work.interfaces.some(nic => nic.index === id),
  )
  return [...wanted, ...removed.map(gone)]
}

function reported(
  nic: Interface,
  told: InterfaceReport,
  { changed }: AgentReport,
  old: InterfaceStatus | undefined,
  at: string,
): InterfaceStatus {
  const unchanged = old?.status === 'Configured' && changed === 0 ? old.lastConfigured : undefined
  const lastConfigured = told.status === 'Configured' ? (unchanged ?? at) : old?.lastConfigured
  return {
    ...named(nic),
    status: told.status,
    reason: told.reason,
    ...(told.message && { message: told.message.slice(0, 1_024) }),
    ...(lastConfigured !== undefined && { lastConfigured }),
    lastChecked: at,
    ...(told.observed && { observed: told.observed }),
  }
}

/** Nobody has looked at it since it was asked for. */
function untold(nic: Interface, { state, reason }: Said, old: InterfaceStatus | undefined): InterfaceStatus {
  return {
    ...named(nic),
    status: state === 'Configured' ? 'Pending' : state,
    reason,
    ...(old?.lastConfigured !== undefined && { lastConfigured: old.lastConfigured }),
    ...(old?.lastChecked !== undefined && { lastChecked: old.lastChecked }),
    ...(old?.observed && { observed: old.observed }),
  }
}

function gone({ id, name, macAddress: mac, portId, reason, message }: InterfaceReport): InterfaceStatus {
  return {
    id,
    name,
    macAddress: mac.toLowerCase(),
    ...(portId && { portId }),
    status: 'Removed',
    reason,
    ...(message && { message: message.slice(0, 1_024) }),
  }
}

function named({ index: id, name, portId, macAddress }: Interface): InterfaceStatus {
  return { id, name, ...(portId && { portId }), macAddress }
}
