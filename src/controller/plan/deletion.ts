/**
 * Decides what a deleted config needs before its finalizer goes: an agent removes its interfaces from the node. Pure.
 *
 * The cleanup timeout bounds the wait, so that neither a lost node nor a failing one blocks the deletion forever.
 */
import { nodeConfigAnnotations, nodeConfigFinalizer } from '../../contract/node-config.ts'
import { deletionSettleMs } from '../../kube/discovery.ts'
import { otherMachineMessage, twinsMessage } from '../machine.ts'
import {
  deleteJob,
  endedJobsOf,
  isReplaced,
  newestJob,
  reportProgress,
  startJob,
  unreachableMessage,
  waitForRunningAgent,
} from './agent-job.ts'
import { pausedBy, wasConfigured } from './config-status.ts'
import { cleanupSlotMs, definitionRetryMs, heldDeletionMs, nicMissingDelay, successorDelayMs } from './delays.ts'
import { approvalOf, heldMessage, isOnHold } from './deletion-hold.ts'
import type { AgentJob, Observed } from './observed.ts'
import { requestedOf } from './requested.ts'
import { type Plan, pending, type Reason } from './step.ts'

export function planDeletion(observed: Observed): Plan {
  const { config, node, otherMachine, twins, now, policy } = observed
  const { annotations, deletionTimestamp = '', finalizers = [], uid } = config.metadata
  const { nodeName } = config.spec
  if (!finalizers.includes(nodeConfigFinalizer)) return { steps: [] }
  if (annotations?.[nodeConfigAnnotations.forceDelete] !== undefined)
    return release(
      'InterfacesRetained',
      `annotation ${nodeConfigAnnotations.forceDelete} is set: the interfaces stay on the node`,
    )

  // The controller and its permissions are deleted too: a config that waits would block the namespace forever.
  if (observed.namespaceDeleting) return release('InterfacesRetained', namespaceDeletingMessage)

  // The agent of the other config removes what that one does not request: a cleanup in between would only cut traffic.
  const successor = observed.duplicates.find(duplicate => !duplicate.deleting)
  const ended = endedJobsOf(observed)
  const job = newestJob(observed.jobs.filter(one => one.configUid === uid && one.action === 'cleanup'))
  const deletedAt = Date.parse(deletionTimestamp)
  const approvedAt = approvalOf(config, observed.deletionApproval)
  const timeLeft = startOf(job, Math.max(deletedAt, approvedAt ?? deletedAt)) + policy.cleanupTimeoutMs - now
  if (successor) {
    const message = `${successor.name} names the same node ${nodeName} and takes over its interfaces`
    if (successor.hasFinalizer || timeLeft <= 0) return release('InterfacesRetained', message, ended)
    // Without its finalizer it may be deleted next, and the interfaces would belong to no object.
    const plan = pending(observed, 'Removing', `${message} with its first agent`, successorDelayMs)
    return { ...plan, steps: ended.map(deleteJob) }
  }
  const wait = (reason: Reason, message: string) =>
    timeLeft > 0
      ? pending(observed, reason, message, timeLeft)
      : release('CleanupAbandoned', `${message}: nobody knows where to clean up`)
  if (!node && twins) return wait('MachineNotUnique', twinsMessage(config, twins))
  if (!node && otherMachine?.systemUUID === '')
    return wait('NodeUnreachable', `node ${nodeName} has not reported its system UUID`)
  if (!node && otherMachine) return release('WrongMachine', otherMachineMessage(config, otherMachine))
  if (!node) return release('NodeNotFound', `node ${nodeName} no longer exists: nothing to clean up`)

  if (job && verdictOf(job) === 'Removed') return release('Removed', `interfaces removed from node ${node.name}`, ended)
  if (!job && approvedAt === undefined) {
    const plan = beforeApproval(observed, deletedAt)
    if (plan) return plan
  }
  const running = newestJob(observed.jobs.filter(one => one.phase !== 'ended' && one !== job))
  const paused = pausedBy(observed)
  // The Go implementation recorded no time.
  const takesSlot = wasConfigured(config) || config.status?.state === 'Configured'
  if (!job && !running && !paused && node.reachable) {
    const { cleanupSlot } = observed
    if (takesSlot && !cleanupSlot.available)
      return { ...pending(observed, 'RolloutWaiting', cleanupSlot.message, cleanupSlotMs), queued: true }
    return startJob(observed, node, requestedOf(config), { action: 'cleanup', attempt: 0, takesSlot })
  }
  if (timeLeft <= 0) return release('CleanupAbandoned', `node ${node.name} did not clean up in time: ${whyNot(job)}`)

  if (running) return within(timeLeft, waitForRunningAgent(observed, running))
  const replaces = job && !paused && isReplaced(observed, job) ? job : undefined
  if (job && job.phase !== 'ended' && !replaces) return within(timeLeft, reportProgress(observed, job))
  if (paused) return pending(observed, 'Paused', paused, timeLeft)
  // Nothing else leaves a reachable node without a Job.
  if (!node.reachable || !job) return pending(observed, 'NodeUnreachable', unreachableMessage(node), timeLeft)
  const again = () =>
    startJob(observed, node, requestedOf(config), {
      ...{ action: 'cleanup', attempt: job.attempt + 1, takesSlot },
      ...(replaces && { replaces }),
    })
  if (replaces) return again()

  const delay = nicMissingDelay(job.attempt)
  const retryIn = (job.endedAt ?? now) + delay - now
  // More than the delay: the clock of the node is ahead of ours.
  if (retryIn > 0 && retryIn <= delay)
    return pending(observed, 'CleanupFailed', whyNot(job), Math.min(timeLeft, retryIn))
  return again()
}

/** Undefined for a cleanup that needs no approval. */
function beforeApproval(observed: Observed, deletedAt: number): Plan | undefined {
  const { config, definition, now } = observed
  if (definition === 'terminating') return release('InterfacesRetained', definitionDeletingMessage)
  // By then those that were deleted together are all known too.
  const settlesIn = deletedAt + deletionSettleMs - now
  // More than the delay: the clock of the API server is ahead of ours.
  const isSettling = settlesIn > 0 && settlesIn <= deletionSettleMs
  if (isSettling || definition === undefined)
    return { steps: [], requeueAfterMs: isSettling ? settlesIn : definitionRetryMs }
  if (!isOnHold(config) && !observed.isOneOfMany) return undefined
  const message = heldMessage(config.metadata.namespace ?? '', observed.deletionApproval)
  return pending(observed, 'DeletionHeld', message, heldDeletionMs)
}

/** When the first cleanup could start: it may have waited for a slot, which is no reason to give up. */
function startOf(job: AgentJob | undefined, deletedAt: number): number {
  if (!job) return deletedAt
  const waits = Array.from({ length: job.attempt }, (_, attempt) => nicMissingDelay(attempt))
  return Math.max(deletedAt, job.createdAt - waits.reduce((sum, wait) => sum + wait, 0))
}

export const namespaceDeletingMessage =
  'the namespace is being deleted, so no agent can clean up: the interfaces stay on the node'

const definitionDeletingMessage =
  'the CustomResourceDefinition is being deleted, and nobody approved the removal: the interfaces stay on the node'

function within(timeLeft: number, plan: Plan): Plan {
  return { ...plan, requeueAfterMs: Math.min(timeLeft, plan.requeueAfterMs ?? timeLeft) }
}

/** `ended`: Jobs that must be gone before an agent of the next config starts on the node. */
function release(reason: Reason, message: string, ended: readonly AgentJob[] = []): Plan {
  return { steps: [...ended.map(deleteJob), { do: 'removeFinalizer', reason, message }] }
}

function verdictOf({ result }: AgentJob): string | undefined {
  return result && 'report' in result ? result.report.verdict : undefined
}

function whyNot(job: AgentJob | undefined): string {
  if (!job) return 'no agent could be started'
  if (job.phase !== 'ended') return `${job.name} has not ended`
  const { result } = job
  if (!result) return `${job.name} left no report`
  return `${job.name}: ${'missing' in result ? result.missing : result.report.message || result.report.reason}`
}
