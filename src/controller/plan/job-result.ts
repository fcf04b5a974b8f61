/**
 * What the end of an agent's Job means for its config. Pure. A completed Job is no success by itself: only its report is.
 */
import type { AgentReport } from '../../contract/agent-report.ts'
import { formatDuration } from '../../contract/duration.ts'
import { nodeConfigAnnotations } from '../../contract/node-config.ts'
import { unreported } from '../report.ts'
import type { AgentJob, Observed } from './observed.ts'
import { failuresOf, failureWait, type Plan, pendingWait, type Reason, type Said, type Work } from './work.ts'

export function takeResult(seen: Observed, work: Work, job: AgentJob): Plan {
  const result = job.result ?? { lost: 'the agent left no report' }
  if ('lost' in result) return failed(seen, job, 'ReportMissing', `${job.name}: ${result.lost}`)
  const { report } = result
  const missing = unreported(report, work.interfaces)

  switch (report.verdict) {
    case 'Configured':
    case 'InSync':
    case 'Removed':
      if (report.verdict === 'Removed' && work.interfaces.length)
        return failed(seen, job, 'ReportMissing', `${job.name} removed what it was asked to configure`, report)
      if (missing.length)
        return failed(seen, job, 'ReportMissing', `${job.name}: the report leaves out ${missing.join(', ')}`)
      return ended(job, report, {
        state: 'Configured',
        reason: 'AllInterfacesConfigured',
        message: configuredMessage(work.interfaces.length),
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
          failedAttempts: failuresOf(seen.config),
        }),
        after: pendingWait(job.attempt),
      }
    case 'Drifted':
      return ended(job, report, {
        state: 'Failed',
        reason: 'Drifted',
        message: messageOf(report),
        progressing: seen.policy.drift.policy === 'repair',
        failedAttempts: failuresOf(seen.config),
      })
    default:
      return failed(seen, job, 'ApplyFailed', messageOf(report), report)
  }
}

function failed(seen: Observed, job: AgentJob, reason: Reason, message: string, report?: AgentReport): Plan {
  const failedAttempts = failuresOf(seen.config) + 1
  const after = failureWait(failedAttempts)
  const next =
    after === undefined
      ? `it failed ${failedAttempts} times and waits for a new spec or the annotation ${nodeConfigAnnotations.retry}`
      : `it is tried again after ${formatDuration(after)}`
  return {
    ...ended(job, report, {
      state: 'Failed',
      reason,
      message: `${message.replace(/[.;\s]+$/, '')}; ${next}`,
      progressing: after !== undefined,
      failedAttempts,
    }),
    ...(after !== undefined && { after }),
  }
}

function ended(job: AgentJob, report: AgentReport | undefined, said: Said): Plan {
  return { steps: [], said: { ...said, job: job.name, result: { bootID: job.bootID, ...(report && { report }) } } }
}

function configuredMessage(count: number): string {
  if (count === 0) return 'No interfaces are wanted, and none of ours is left'
  return count === 1 ? '1 interface configured successfully' : `All ${count} interfaces configured successfully`
}

function messageOf({ message, interfaces, reason }: AgentReport): string {
  if (message) return message
  const bad = interfaces.filter(({ status }) => status !== 'Configured' && status !== 'Removed')
  const said = bad.map(nic => [nic.name, nic.reason, nic.message].filter(Boolean).join(': '))
  return said.join('; ') || reason
}
