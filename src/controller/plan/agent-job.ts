/**
 * Plans around an agent Job: start one, wait for a running one, report its progress, delete expired ones. Pure.
 */
import { formatDuration } from '../../contract/duration.ts'
import { nodeConfigAnnotations } from '../../contract/node-config.ts'
import { agentJobName, identityOf } from '../job.ts'
import type { JobRate } from '../job-rates.ts'
import { otherMachineMessage } from '../machine.ts'
import { failedAttemptsOf, isCurrent, readyReasonOf } from './config-status.ts'
import { jobExpiryMs, podStartDelay, podStartTimeoutMs, progressDelayMs } from './delays.ts'
import type { Action, AgentJob, NodeFacts, Observed } from './observed.ts'
import type { Requested } from './requested.ts'
import { type Plan, pending, type Reason, type Step } from './step.ts'

export function newestJob(jobs: AgentJob[]): AgentJob | undefined {
  return jobs.toSorted((a, b) => b.createdAt - a.createdAt || b.attempt - a.attempt)[0]
}

export interface JobStart {
  action: Action
  attempt: number
  takesSlot: boolean
  rate?: JobRate | undefined
  agentRollout?: string | undefined
  /** A Job that cannot start. */
  replaces?: AgentJob
}

/** Creates the Job, after everything that must exist before it. */
export function startJob(
  observed: Observed,
  node: NodeFacts,
  { specHash }: Requested,
  { action, attempt, takesSlot, rate, agentRollout, replaces }: JobStart,
): Plan {
  const { config, jobs } = observed
  const { annotations = {} } = config.metadata
  const name = agentJobName(identityOf({ config, node, specHash, action, attempt }))
  const ended = [...endedJobsOf(observed), ...jobs.filter(job => job === replaces || isOrphanedLegacyJob(job))]
  const { retry, check } = nodeConfigAnnotations
  const isRequested = annotations[retry] !== undefined || annotations[check] !== undefined
  return {
    steps: [
      ...ended.map(deleteJob),
      {
        ...{ do: 'createJob', name, action, attempt, takesSlot },
        ...(rate && { rate }),
        ...(agentRollout !== undefined && { agentRollout }),
      },
      ...(isRequested ? [{ do: 'clearRequests' } as const] : []),
    ],
    requeueAfterMs: progressDelayMs,
  }
}

/** The Job controller restarts an ended Job, beside the next one, if it loses the Pod before it counted it. */
export function endedJobsOf({ config, jobs }: Observed): AgentJob[] {
  return jobs.filter(job => job.configUid === config.metadata.uid && job.phase === 'ended')
}

/** An attempt whose Job name was never used, so that the result of an old Job cannot pass for that of the new one. */
export function nextAttempt(
  { config, jobs }: Observed,
  node: NodeFacts,
  { specHash }: Requested,
  action: Action,
): number {
  const { uid, generation } = config.metadata
  const before = jobs.filter(job => job.configUid === uid && job.generation === generation && job.action === action)
  const name = (attempt: number) => agentJobName(identityOf({ config, node, specHash, action, attempt }))
  let attempt = Math.max(failedAttemptsOf(config), ...before.map(job => job.attempt + 1))
  while (name(attempt) === config.status?.lastJobName) attempt++
  return attempt
}

/** Another agent runs on the node. It must finish or roll back: killing it can leave the node half configured. */
export function waitForRunningAgent(observed: Observed, running: AgentJob): Plan {
  const age = Math.max(0, observed.now - running.createdAt)
  const plan = pending(observed, 'PreviousJobRunning', `${running.name} must end before the next agent starts`)
  if (running.phase === 'running') return plan
  if (age < podStartTimeoutMs) return { ...plan, requeueAfterMs: podStartTimeoutMs - age }
  // It may have started, and cut the network of its node.
  if (observed.node?.reachable === false) return plan
  // The agent never started, so there is nothing to roll back. Without a uid only a terminating Pod is left.
  return running.uid ? { ...plan, steps: [deleteJob(running)] } : plan
}

/**
 * A Job that cannot start is replaced when the agent would run with something else now, or when somebody asks for a retry.
 * Its agent does not run, so there is nothing to wait for.
 */
export function isReplaced({ config, agentHash, now }: Observed, job: AgentJob): boolean {
  const cannotStart = job.podStartError || (job.phase === 'waiting' && now - job.createdAt >= podStartTimeoutMs)
  if (!cannotStart) return false
  const isOtherAgent = job.agentHash !== undefined && job.agentHash !== agentHash
  return isOtherAgent || config.metadata.annotations?.[nodeConfigAnnotations.retry] !== undefined
}

/** The status of a Job that has not ended. */
export function reportProgress(observed: Observed, job: AgentJob): Plan {
  if (job.recheckAfterMs !== undefined) return { steps: [], requeueAfterMs: job.recheckAfterMs }
  if (job.action === 'check') return { steps: [] }
  const { config, node, otherMachine, now } = observed
  const age = Math.max(0, now - job.createdAt)
  const isWaiting = job.phase === 'waiting'
  const inProgress = (reason: Reason, message: string, failedAttempts = failedAttemptsOf(config)): Plan => {
    const plan = pending(observed, reason, message, isWaiting ? podStartDelay(age) : undefined)
    return { ...plan, statusUpdate: { ...plan.statusUpdate, state: 'InProgress', job: job.name, failedAttempts } }
  }

  if (job.podStartError) return inProgress(job.podStartError.reason, job.podStartError.message)
  if (isWaiting && !node && otherMachine) return inProgress('WrongMachine', otherMachineMessage(config, otherMachine))
  if (isWaiting && !node) return inProgress('NodeNotFound', `node ${config.spec.nodeName} is not in this cluster`)
  // Counts as a failed change, also after the Job is gone.
  if (node?.reachable === false)
    return inProgress('NodeUnreachable', unreachableMessage(node), Math.max(1, failedAttemptsOf(config)))
  if (isWaiting && age >= podStartTimeoutMs)
    return inProgress('PodNotStarting', `${job.name}: Pod has not started within ${formatDuration(podStartTimeoutMs)}`)
  if (age < progressDelayMs && !showsWait(observed)) return { steps: [], requeueAfterMs: progressDelayMs - age }
  const reason = job.action === 'cleanup' ? 'Removing' : 'Applying'
  if (job.restartsAfter !== undefined)
    return inProgress(reason, `${job.name} ended with exit code ${job.restartsAfter}, and is started again`)
  return inProgress(reason, `${job.name} is ${isWaiting ? 'starting' : 'running'}`)
}

export function unreachableMessage({ name }: NodeFacts): string {
  return `node ${name} is unreachable: its Ready condition is Unknown`
}

/** The status shows a wait that is over. NicMissing is a result and stays until the next result. */
function showsWait({ config }: Observed): boolean {
  return isCurrent(config) && config.status.state === 'Pending' && readyReasonOf(config) !== 'NicMissing'
}

/** Ended Jobs whose TTL passed, and when the next one expires. */
export function expiredJobs(
  ended: AgentJob[],
  now: number,
  ttlMs: number,
): { expired: AgentJob[]; requeueAfterMs?: number } {
  const timeLeft = (job: AgentJob) => (job.endedAt ?? job.createdAt) + ttlMs + jobExpiryMs - now
  const later = ended.map(timeLeft).filter(ms => ms > 0)
  return {
    expired: ended.filter(job => timeLeft(job) <= 0),
    ...(later.length && { requeueAfterMs: Math.min(...later) }),
  }
}

/** An ended Job of the Go implementation: it has no report, and nothing else deletes it. */
export function isOrphanedLegacyJob({ configUid, phase, uid }: AgentJob): boolean {
  return configUid === '' && uid !== '' && phase === 'ended'
}

export function deleteJob({ name, uid }: AgentJob): Step {
  return { do: 'deleteJob', name, uid }
}
