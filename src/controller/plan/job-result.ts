/**
 * The status that follows from an ended agent Job. Only a report counts as success; a completed Job without one does not.
 * Pure.
 */
import type { AgentReport } from '../../contract/agent-report.ts'
import { formatDuration } from '../../contract/duration.ts'
import { nodeConfigAnnotations } from '../../contract/node-config.ts'
import { missingInterfaces } from '../report.ts'
import { failedAttemptsOf, wasConfigured } from './config-status.ts'
import { failureDelay, nicMissingDelay } from './delays.ts'
import type { AgentJob, Observed } from './observed.ts'
import type { Requested } from './requested.ts'
import type { Plan, Reason, StatusUpdate } from './step.ts'

export function recordResult(observed: Observed, { interfaces }: Requested, job: AgentJob): Plan {
  const result = job.result ?? { missing: 'the agent left no report' }
  if ('missing' in result) return failed(observed, job, 'ReportMissing', `${job.name}: ${result.missing}`)
  const { report } = result
  const missing = missingInterfaces(report, interfaces)

  switch (report.verdict) {
    case 'Configured':
    case 'InSync':
    case 'Removed':
      if (report.verdict === 'Removed' && interfaces.length)
        return failed(observed, job, 'ReportMissing', `${job.name}: reports a removal instead of an apply`, report)
      if (missing.length)
        return failed(observed, job, 'ReportMissing', `${job.name}: report does not mention ${missing.join(', ')}`)
      return ended(job, report, {
        state: 'Configured',
        reason: 'AllInterfacesConfigured',
        message: configuredMessage(interfaces.length),
        progressing: false,
        failedAttempts: 0,
      })
    case 'Pending':
      return {
        ...ended(job, report, {
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
        return ended(job, report, {
          state: 'Pending',
          reason: report.reason,
          message: messageOf(report),
          progressing: true,
          failedAttempts: failedAttemptsOf(observed.config),
        })
      return ended(job, report, {
        state: 'Failed',
        reason: 'Drifted',
        message: messageOf(report),
        progressing: observed.policy.drift.policy === 'repair',
        failedAttempts: failedAttemptsOf(observed.config),
      })
    default:
      return failed(observed, job, 'ApplyFailed', messageOf(report), report)
  }
}

function failed({ config }: Observed, job: AgentJob, reason: Reason, message: string, report?: AgentReport): Plan {
  const failedAttempts = failedAttemptsOf(config) + 1
  const delay = failureDelay(failedAttempts)
  const next =
    delay === undefined
      ? `no retry after ${failedAttempts} failures: change the spec or set annotation ${nodeConfigAnnotations.retry}`
      : `retrying in ${formatDuration(delay)}`
  return {
    ...ended(job, report, {
      state: 'Failed',
      reason,
      message: `${message.replace(/[.;\s]+$/, '')}; ${next}`,
      progressing: delay !== undefined,
      failedAttempts,
    }),
    ...(delay !== undefined && { requeueAfterMs: delay }),
  }
}

function ended(job: AgentJob, report: AgentReport | undefined, update: StatusUpdate): Plan {
  const result = { bootID: job.bootID, ...(report && { report }) }
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
