/**
 * Decides what a deleted config needs before it may go: its interfaces are taken from the node first. Pure.
 *
 * Bounded: neither a node that is gone nor one that never answers holds the config for ever.
 */
import { nodeConfigAnnotations, nodeConfigFinalizer } from '../../contract/node-config.ts'
import { instanceIdOf } from '../machine.ts'
import { watchJob } from './job-progress.ts'
import type { AgentJob, Observed } from './observed.ts'
import { makeRoom, newest, type Plan, pauseOf, pendingWait, type Reason, start, wait, workOf } from './work.ts'

export function planRemoval(seen: Observed): Plan {
  const { config, node, namesake, now, policy } = seen
  const { annotations, deletionTimestamp = '', finalizers = [], uid } = config.metadata
  const { nodeName } = config.spec
  if (!finalizers.includes(nodeConfigFinalizer)) return { steps: [] }
  if (annotations?.[nodeConfigAnnotations.forceDelete] !== undefined)
    return release(
      'Released',
      `annotation ${nodeConfigAnnotations.forceDelete} is set: the interfaces stay on the node`,
    )

  // The rights of the controller and its Pod go too: a config that waits would hold the namespace for ever.
  if (seen.namespaceEnding) return release('Released', namespaceEndingMessage)

  // Its agent takes away what it does not want, so a cleanup between the two would only interrupt the node.
  const heir = seen.twins.find(twin => !twin.deleting)
  if (heir) return release('Released', `${heir.name} names the same node ${nodeName}: the interfaces are its own now`)
  const left = Date.parse(deletionTimestamp) + policy.cleanupTimeoutMs - now
  if (!node && namesake?.systemUUID === '' && left > 0)
    return wait(seen, 'NodeUnreachable', `node ${nodeName} has not told which machine it is`, left)
  if (!node && namesake)
    return release('WrongMachine', `node ${nodeName} is machine ${namesake.systemUUID}, not ${instanceIdOf(config)}`)
  if (!node) return release('NodeNotFound', `node ${nodeName} is gone: there is nothing to clean up`)

  const job = newest(seen.jobs.filter(one => one.configUid === uid && one.action === 'cleanup'))
  if (job && verdictOf(job) === 'Removed') return release('Removed', `the interfaces were taken from node ${node.name}`)
  if (left <= 0) return release('CleanupAbandoned', `node ${node.name} did not clean up in time: ${whyNot(job)}`)

  const busy = newest(seen.jobs.filter(one => one.phase !== 'ended' && one !== job))
  if (busy) return within(left, makeRoom(seen, busy))
  if (job && job.phase !== 'ended') return within(left, watchJob(seen, job))
  const paused = pauseOf(seen)
  if (paused) return wait(seen, 'Paused', paused, left)
  if (!node.heard) return wait(seen, 'NodeUnreachable', `nobody hears from node ${node.name}`, left)
  if (!job) return start(seen, node, workOf(config), { action: 'cleanup', attempt: 0, takesSlot: false })

  const pause = pendingWait(job.attempt)
  const again = (job.endedAt ?? now) + pause - now
  // More than a pause: the node's clock is ahead of ours.
  if (again > 0 && again <= pause) return wait(seen, 'CleanupFailed', whyNot(job), Math.min(left, again))
  return start(seen, node, workOf(config), { action: 'cleanup', attempt: job.attempt + 1, takesSlot: false })
}

export const namespaceEndingMessage =
  'the namespace is being deleted, so no agent can clean up: the interfaces stay on the node'

function within(left: number, plan: Plan): Plan {
  return { ...plan, after: Math.min(left, plan.after ?? left) }
}

function release(reason: Reason, message: string): Plan {
  return { steps: [{ do: 'removeFinalizer', reason, message }] }
}

function verdictOf({ phase, result }: AgentJob): string | undefined {
  return phase === 'ended' && result && 'report' in result ? result.report.verdict : undefined
}

function whyNot(job: AgentJob | undefined): string {
  if (!job) return 'no agent could be started'
  if (job.phase !== 'ended') return `${job.name} has not ended`
  const { result } = job
  if (!result) return `${job.name} left no report`
  return `${job.name}: ${'lost' in result ? result.lost : result.report.message || result.report.reason}`
}
