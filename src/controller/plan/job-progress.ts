/**
 * What there is to say of a Job that has not ended. Pure.
 */
import type { AgentJob, Observed } from './observed.ts'
import { nextLook, type Plan, type Reason, startWithinMs, tellAfterMs, wait } from './work.ts'

export function watchJob(seen: Observed, job: AgentJob): Plan {
  if (job.lookAgainMs !== undefined) return { steps: [], after: job.lookAgainMs }
  if (job.action === 'check') return { steps: [] }
  const { config, node, now } = seen
  const age = Math.max(0, now - job.createdAt)
  const look = job.phase === 'waiting' ? nextLook(age) : undefined
  const working: Reason = job.action === 'cleanup' ? 'Removing' : 'Applying'
  const tell = (reason: Reason, message: string): Plan => {
    const { said, ...rest } = wait(seen, reason, message, look)
    return said ? { ...rest, said: { ...said, state: 'InProgress', job: job.name } } : rest
  }

  if (job.trouble) return tell(job.trouble.reason, job.trouble.message)
  if (job.phase === 'waiting' && !node)
    return tell('NodeNotFound', `node ${config.spec.nodeName} is not in this cluster`)
  if (node?.heard === false) return tell('NodeUnreachable', `nobody hears from node ${node.name}`)
  if (job.phase === 'waiting' && age >= startWithinMs)
    return tell('PodNotStarting', `the Pod of ${job.name} does not start on its node`)
  if (age < tellAfterMs && !saysWait(seen)) return { steps: [], after: tellAfterMs - age }
  return tell(working, `${job.name} is ${job.phase === 'waiting' ? 'starting' : 'running'}`)
}

/** The status says that nothing happens, which is no longer true. A result stands until the next one. */
function saysWait({ config: { metadata, status } }: Observed): boolean {
  if (status?.observedGeneration !== metadata.generation || status?.state !== 'Pending') return false
  return status.conditions?.find(({ type }) => type === 'Ready')?.reason !== 'NicMissing'
}
