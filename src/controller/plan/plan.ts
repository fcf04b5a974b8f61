/**
 * Decides what one MultiNicNodeConfig needs next. `planNodeConfig` is the state machine, to be read from top to bottom.
 *
 *                     new spec, reboot
 *            +-----------------------------------+
 *            v                                   |
 *     +-> Pending --Job--> InProgress --ok--> Configured
 *     |                     |      |             |
 *     +--- NIC missing -----+      | report      | check finds
 *     |    (1s to 30s)             | failed or   | drift
 *     |                            v missing     v
 *     +--- retry (10s to 1h) ---- Failed <-------+
 *
 * A Pending config may also wait: for its Node, an older config, a running agent, the end of a pause, a rollout slot.
 * An invalid spec is Failed without a Job. A deleted config runs a cleanup Job, then loses its finalizer (deletion.ts).
 *
 * Pure: `Observed` holds everything that the decision depends on, so the tests are tables and need no cluster.
 */
import { nodeConfigAnnotations, nodeConfigFinalizer } from '../../contract/node-config.ts'
import type { NodeReason } from '../../contract/reasons/catalogue.ts'
import { otherMachineMessage, twinsMessage } from '../machine.ts'
import {
  deleteJob,
  expiredJobs,
  isOrphanedLegacyJob,
  isReplaced,
  newestJob,
  nextAttempt,
  reportProgress,
  startJob,
  unreachableMessage,
  waitForRunningAgent,
} from './agent-job.ts'
import { isAgentDue, settledRollout, waitingFor } from './agent-rollout.ts'
import { checkRetryDelay, checkRound } from './check-schedule.ts'
import {
  failedAttemptsOf,
  hasOnlyNewNames,
  isCheckable,
  isCurrent,
  isLegacyEntry,
  isRebooted,
  isRefused,
  isResultRecorded,
  isSettled,
  pausedBy,
  readyReasonOf,
  wasConfigured,
} from './config-status.ts'
import { isConsistent } from './consistency.ts'
import { failureDelay, firstCheckRetryMs, nicMissingDelay, retryLimitMs } from './delays.ts'
import { planDeletion } from './deletion.ts'
import { recordResult } from './job-result.ts'
import type { AgentJob, NodeFacts, Observed, RolloutSlot } from './observed.ts'
import { type Requested, requestedOf } from './requested.ts'
import { type Plan, pending } from './step.ts'

export function planNodeConfig(observed: Observed): Plan {
  if (observed.config.metadata.deletionTimestamp || observed.namespaceDeleting) return planDeletion(observed)
  const plan = decide(observed)
  return lacksFinalizer(observed, plan) ? { ...plan, steps: [{ do: 'addFinalizer' }, ...plan.steps] } : plan
}

/** An agent runs or ran on the node, so a deletion has to clean up. Somebody may have removed the finalizer meanwhile. */
function lacksFinalizer({ config: { metadata, status } }: Observed, { steps }: Plan): boolean {
  if (metadata.finalizers?.includes(nodeConfigFinalizer)) return false
  return status?.lastJobName !== undefined || steps.some(step => step.do === 'createJob')
}

function decide(observed: Observed): Plan {
  const { config, node, otherMachine } = observed
  const { nodeName } = config.spec

  const requested = requestedOf(config)
  const job = currentJob(observed, requested)
  const replaces = job && node && !pausedBy(observed) && isReplaced(observed, job) ? job : undefined
  if (job && job.phase !== 'ended' && !replaces) return reportProgress(observed, job)
  // The result of an agent counts, whatever happened since.
  if (job && !replaces && !isResultRecorded(config, job.name)) return recordResult(observed, requested, job)

  const older = observed.duplicates.find(duplicate => duplicate.older && !duplicate.deleting)
  if (older && isLegacyEntry(config) && !older.legacy)
    return pending(observed, 'OwnedByNodeConfig', `MultiNicNodeConfig ${older.name} manages node ${nodeName}`)
  if (older) return pending(observed, 'DuplicateNode', `${older.name} is older and names the same node ${nodeName}`)
  if (!node && observed.twins) return pending(observed, 'MachineNotUnique', twinsMessage(config, observed.twins))
  if (!node && otherMachine?.systemUUID === '')
    return pending(observed, 'NodeUnreachable', `node ${nodeName} has not reported its system UUID`)
  if (!node && otherMachine) return pending(observed, 'WrongMachine', otherMachineMessage(config, otherMachine))
  if (!node) return pending(observed, 'NodeNotFound', `node ${nodeName} is not in this cluster`)
  if (requested.errors.length) return rejectSpec(observed, requested)

  if (replaces) {
    const { action } = replaces
    const attempt = nextAttempt(observed, node, requested, action)
    return startJob(observed, node, requested, { action, attempt, takesSlot: wasConfigured(config), replaces })
  }
  const next = checkFirst(observed, nextAction(observed, node, requested), node, requested)
  if (next.action === 'none') return keepSettled(observed, next.requeueAfterMs)
  const running = newestJob(observed.jobs.filter(other => other.phase !== 'ended'))
  const paused = pausedBy(observed)
  if (next.action === 'check') {
    if (next.first && observed.checkLimitReached) return { steps: [], requeueAfterMs: firstCheckRetryMs }
    // A drift check that cannot run now says nothing about the node.
    const cannotRun = running || paused || !node.reachable || observed.checkLimitReached
    if ((!next.first && cannotRun) || (next.rate && observed.checkRateReached))
      return keepSettled(observed, checkRetryDelay(config.metadata.uid ?? ''))
  } else if (next.rate && observed.retryRateReached && !paused) return keepSettled(observed, retryLimitMs)
  if (next.action === 'apply' && next.agentRollout !== undefined) {
    const plan = waitForAgentRollout(observed, next.agentRollout, paused, running)
    if (plan) return plan
  }
  if (paused) return pending(observed, 'Paused', paused)
  if (running) return waitForRunningAgent(observed, running)
  if (!node.reachable) return pending(observed, 'NodeUnreachable', unreachableMessage(node))
  if (next.takesSlot && !next.retry) {
    // Computed on demand: it looks at all nodes.
    const { rollout } = observed
    if (!rollout.available) return { ...pending(observed, slotReason(rollout), rollout.message), queued: true }
  }

  const attempt = next.action === 'check' ? next.number : nextAttempt(observed, node, requested, 'apply')
  return startJob(observed, node, requested, { ...next, attempt })
}

function slotReason({ stopped }: RolloutSlot): NodeReason {
  return stopped ? 'RolloutStopped' : 'RolloutWaiting'
}

/** A node that waits for a run of the agent stays as it is. Undefined when nothing keeps the run from starting. */
function waitForAgentRollout(
  observed: Observed,
  request: string,
  paused: string | undefined,
  running: AgentJob | undefined,
): Plan | undefined {
  const { node, rollout } = observed
  const wait = (reason: NodeReason, message: string): Plan => ({
    ...keepSettled(observed),
    agentRollout: waitingFor(request, reason, message),
  })
  if (paused) return wait('Paused', paused)
  if (running) return wait('PreviousJobRunning', `${running.name} must end before the next agent starts`)
  if (node?.reachable === false) return wait('NodeUnreachable', unreachableMessage(node))
  if (rollout.available) return undefined
  return { ...wait(slotReason(rollout), rollout.message), queued: true }
}

/** The newest Job for the current spec. */
function currentJob({ config, jobs }: Observed, { specHash }: Requested): AgentJob | undefined {
  const { uid, generation } = config.metadata
  return newestJob(
    jobs.filter(
      job =>
        job.configUid === uid && job.generation === generation && job.specHash === specHash && job.action !== 'cleanup',
    ),
  )
}

function rejectSpec(observed: Observed, { errors }: Requested): Plan {
  const message = errors.map(({ path, message }) => `${path}: ${message}`).join('; ')
  const { statusUpdate } = pending(observed, 'SpecInvalid', message)
  return { steps: [], statusUpdate: { ...statusUpdate, state: 'Failed', progressing: false } }
}

/** A retry counts as a change and waits for no slot: its node is in the rollout already, and may recover by it. */
type NextAction =
  | { action: 'none'; requeueAfterMs?: number }
  | { action: 'apply'; takesSlot: boolean; retry?: boolean; rate?: 'retry'; agentRollout?: string }
  | { action: 'check'; takesSlot: false; retry?: false; number: number; first?: true; rate?: 'check' }

/**
 * A config that takes over a node, or whose names alone changed, checks the node before it changes anything: most often the
 * node needs no change.
 */
function checkFirst(observed: Observed, next: NextAction, node: NodeFacts, requested: Requested): NextAction {
  const { config } = observed
  const isLikelyDone = isTakeover(observed) || (hasOnlyNewNames(config, requested) && !isRebooted(config, node))
  if (next.action !== 'apply' || !isLikelyDone) return next
  return { action: 'check', takesSlot: false, number: nextAttempt(observed, node, requested, 'check'), first: true }
}

function isTakeover({ config }: Observed): boolean {
  const { annotations = {} } = config.metadata
  const { adopt, retry } = nodeConfigAnnotations
  const reason = readyReasonOf(config)
  if (reason === 'OwnedByNodeConfig') return true
  const isAdopting = annotations[adopt] !== undefined && annotations[retry] === undefined
  return isAdopting && !wasConfigured(config) && reason !== 'Drifted'
}

function nextAction(observed: Observed, node: NodeFacts, requested: Requested): NextAction {
  const { config, now, policy, agentHash } = observed
  const { status = {}, metadata } = config
  const { annotations = {} } = metadata
  // The Go implementation recorded neither when an interface was configured nor in which boot.
  const byGo = status.state === 'Configured' && status.bootID === undefined
  // A config that takes over a node finds the NICs of its predecessor.
  const takesSlot = byGo || wasConfigured(config) || readyReasonOf(config) === 'Drifted'
  const recordedAt = status.lastProcessed ? Date.parse(status.lastProcessed) : undefined
  // A time in the future comes from a clock that was set back since: ignore it.
  const processedAt = recordedAt !== undefined && recordedAt > now ? undefined : recordedAt
  const elapsed = processedAt === undefined ? Number.POSITIVE_INFINITY : now - processedAt
  const reason = readyReasonOf(config)

  if (!isCurrent(config)) return { action: 'apply', takesSlot }
  // The annotation of a MultiNicBizConfig is for its nodes that failed.
  if (annotations[nodeConfigAnnotations.retry] !== undefined && !(isLegacyEntry(config) && isSettled(config)))
    return { action: 'apply', takesSlot, retry: true }
  if (isRebooted(config, node)) return { action: 'apply', takesSlot: byGo }

  const check = { action: 'check', takesSlot: false } as const
  const isEdited = !isConsistent(config, requested)
  if (isCheckable(config) || (isEdited && failedAttemptsOf(config) === 0 && status.state === 'Failed')) {
    if (reason === 'Drifted' && policy.drift === 'repair') return { action: 'apply', takesSlot }
    if (isEdited) return { ...check, number: nextAttempt(observed, node, requested, 'check'), rate: 'check' }
    const isRestored = (processedAt ?? 0) < (observed.restoredAt ?? 0)
    if (isRestored || annotations[nodeConfigAnnotations.check] !== undefined)
      return { ...check, number: nextAttempt(observed, node, requested, 'check') }
    const { checkIntervalMs, agentRollout } = observed
    if (agentRollout !== undefined && isAgentDue(observed)) return { action: 'apply', takesSlot: true, agentRollout }
    if (checkIntervalMs === undefined) return { action: 'none' }
    const { number, due, nextMs } = checkRound(metadata.uid ?? '', checkIntervalMs, now, processedAt)
    return due ? { ...check, number, rate: 'check' } : { action: 'none', requeueAfterMs: nextMs }
  }
  if (reason === 'NicMissing') {
    const delay = nicMissingDelay(newestJob(observed.jobs)?.attempt)
    const isLate = delay >= nicMissingDelay()
    return elapsed >= delay
      ? { action: 'apply', takesSlot: false, ...(isLate && { rate: 'retry' }) }
      : { action: 'none', requeueAfterMs: delay - elapsed }
  }
  if (status.state === 'Failed' && reason !== 'SpecInvalid') {
    const isOtherAgent = status.agentHash !== undefined && status.agentHash !== agentHash
    if (isOtherAgent) return { action: 'apply', takesSlot, retry: true }
    if (isEdited) return { action: 'apply', takesSlot, retry: true, rate: 'retry' }
    if (status.nextAttempt === undefined && isRefused(status.interfaceStatuses ?? [])) return { action: 'none' }
    const delay = failureDelay(failedAttemptsOf(config))
    return elapsed >= delay
      ? { action: 'apply', takesSlot, retry: true, rate: 'retry' }
      : { action: 'none', requeueAfterMs: delay - elapsed }
  }
  return { action: 'apply', takesSlot }
}

/** Leaves the config as it is, and deletes Jobs that expired. */
function keepSettled(observed: Observed, after = Number.POSITIVE_INFINITY): Plan {
  const { config, jobs, now, policy } = observed
  const ended = jobs.filter(job => job.configUid === config.metadata.uid && job.phase === 'ended')
  const { expired, requeueAfterMs = Number.POSITIVE_INFINITY } = expiredJobs(ended, now, policy.jobTtlMs)
  const next = Math.min(after, requeueAfterMs)
  return {
    steps: [...expired, ...jobs.filter(isOrphanedLegacyJob)].map(deleteJob),
    agentRollout: settledRollout(observed),
    ...(Number.isFinite(next) && { requeueAfterMs: next }),
  }
}
