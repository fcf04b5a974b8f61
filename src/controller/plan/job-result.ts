/**
 * The status that follows from an ended agent Job. Only a report counts as success; a completed Job without one does not.
 * Pure.
 */
import type { AgentReport } from '../../contract/agent-report.ts'
import { nodeConfigAnnotations } from '../../contract/node-config.ts'
import { readyOf } from '../../contract/object.ts'
import { isRefusal } from '../../contract/reasons/catalogue.ts'
import { contradictionIn } from '../report.ts'
import { updatedBy } from './agent-rollout.ts'
import { failedAttemptsOf, isCheckable, isRefused, wasConfigured } from './config-status.ts'
import { failureDelay, nicMissingDelay } from './delays.ts'
import type { AgentJob, Observed } from './observed.ts'
import type { Requested } from './requested.ts'
import type { Plan, Reason, StatusUpdate } from './step.ts'

export function recordResult(observed: Observed, { interfaces }: Requested, job: AgentJob): Plan {
  const result = job.result ?? { missing: 'the agent left no report' }
  if ('missing' in result && job.action === 'check' && isCheckable(observed.config)) return keepState(observed, job)
  if ('missing' in result) return failed(observed, job, 'ReportMissing', `${job.name}: ${result.missing}`)
  const { report } = result
  const contradiction = contradictionIn(report, interfaces)

  switch (report.verdict) {
    case 'Configured':
    case 'InSync':
    case 'Removed':
      if (report.verdict === 'Removed' && interfaces.length)
        return failed(observed, job, 'ReportMissing', `${job.name}: reports a removal instead of an apply`, report)
      if (contradiction) return failed(observed, job, 'ReportMissing', `${job.name}: ${contradiction}`)
      return ended(observed, job, report, {
        state: 'Configured',
        reason: 'AllInterfacesConfigured',
        message: configuredMessage(interfaces.length),
        progressing: false,
        failedAttempts: 0,
      })
    case 'Pending':
      return {
        ...ended(observed, job, report, {
          state: 'Pending',
          reason: 'NicMissing',
          message: messageOf(report),
          progressing: true,
          failedAttempts: failedAttemptsOf(observed.config),
        }),
        requeueAfterMs: nicMissingDelay(job.attempt),
      }
    case 'Drifted':
      if (report.reason === 'ConfiguredByOlderAgent' && wasConfigured(observed.config))
        return ended(observed, job, report, {
          state: 'Configured',
          reason: report.reason,
          message:
            'The Go implementation configured the interfaces; to configure them again, run multinic rollout agent',
          progressing: false,
          failedAttempts: 0,
        })
      return ended(observed, job, report, {
        state: 'Failed',
        reason: 'Drifted',
        message: messageOf(report),
        progressing: observed.policy.drift === 'repair',
        failedAttempts: failedAttemptsOf(observed.config),
      })
    default:
      return failed(observed, job, 'ApplyFailed', messageOf(report), report)
  }
}

function failed(observed: Observed, job: AgentJob, reason: Reason, message: string, report?: AgentReport): Plan {
  const failedAttempts = failedAttemptsOf(observed.config) + 1
  const failure = { state: 'Failed', reason, failedAttempts } as const
  if (report && isRefusal(report.reason) && isRefused(report.interfaces))
    return ended(observed, job, report, {
      ...failure,
      message: `${message.replace(/[.;\s]+$/, '')}; waiting for a change of the spec, the Node or the agent, or for annotation ${nodeConfigAnnotations.retry}`,
      progressing: false,
    })
  const delay = failureDelay(failedAttempts)
  const nextAttempt = observed.now + delay
  return {
    ...ended(observed, job, report, { ...failure, message, progressing: true, nextAttempt }),
    requeueAfterMs: delay,
  }
}

/** A check that left no report says nothing about the node. The age of its last observation shows it. */
function keepState({ config: { status = {} } }: Observed, job: AgentJob): Plan {
  const ready = readyOf({ status })
  const { state = 'Pending', failedAttempts = 0 } = status
  const { reason = 'ReportMissing', message = '' } = ready ?? {}
  return {
    steps: [],
    statusUpdate: {
      ...{ state, reason: reason as Reason, message, failedAttempts, job: job.name },
      progressing: status.conditions?.some(({ type, status }) => type === 'Progressing' && status === 'True') ?? false,
      checkedAt: true,
    },
  }
}

function ended(
  { config: { status }, checkIntervalMs, now }: Observed,
  job: AgentJob,
  report: AgentReport | undefined,
  update: StatusUpdate,
): Plan {
  const { bootID, createdAt, agentRollout } = job
  // A check changes nothing, so the agent that configured the node stays the last one. If that one is not known and the check
  // found no difference, its agent would configure the same.
  const sameAsJob = report?.verdict === 'InSync' ? job.agentHash : undefined
  const agentHash = job.action === 'check' ? (status?.agentHash ?? sameAsJob) : job.agentHash
  const result = {
    bootID,
    // The end comes from the clock of the node.
    endedAt: Math.min(now, Math.max(createdAt, job.endedAt ?? now)),
    ...(report && { report }),
    ...(agentHash !== undefined && { agentHash }),
    ...(agentRollout !== undefined && job.action === 'apply' && { agentRollout: updatedBy(agentRollout) }),
    ...(checkIntervalMs !== undefined && { checkIntervalMs }),
  }
  return { steps: [], statusUpdate: { ...update, job: job.name, result } }
}

function configuredMessage(count: number): string {
  if (count === 0) return 'No interfaces requested, and none is left on the node'
  return count === 1 ? '1 interface configured successfully' : `All ${count} interfaces configured successfully`
}

function messageOf({ message, interfaces, reason }: AgentReport): string {
  if (message) return message
  const bad = interfaces.filter(({ status }) => status !== 'Configured' && status !== 'Removed')
  const texts = bad.map(nic => [nic.name, nic.reason, nic.message].filter(Boolean).join(': '))
  return texts.join('; ') || reason
}
