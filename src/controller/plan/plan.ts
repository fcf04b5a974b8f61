/**
 * Decides what one MultiNicNodeConfig needs next: the state machine, from top to bottom.
 *
 * Pure: all that the decision may depend on is in `Observed`. No clock, no environment, no API calls, so the test is a
 * table and needs no cluster.
 */
import { type NodeConfig, nodeConfigAnnotations } from '../../contract/node-config.ts'
import { agentJobName, identityOf } from '../job.ts'
import { isEntry } from '../legacy/entry.ts'
import { instanceIdOf } from '../machine.ts'
import { checkTurn } from './check-schedule.ts'
import { planRemoval } from './deletion.ts'
import { watchJob } from './job-progress.ts'
import { takeResult } from './job-result.ts'
import type { Action, AgentJob, NodeFacts, Observed } from './observed.ts'
import {
  failuresOf,
  failureWait,
  isNobodys,
  isTaken,
  makeRoom,
  newest,
  type Plan,
  pauseOf,
  pendingWait,
  start,
  sweep,
  type Work,
  wait,
  workOf,
} from './work.ts'

export function planNodeConfig(seen: Observed): Plan {
  const { config, node, namesake } = seen
  const { nodeName } = config.spec
  if (config.metadata.deletionTimestamp || seen.namespaceEnding) return planRemoval(seen)

  const work = workOf(config)
  const job = currentJob(seen, work)
  if (job && job.phase !== 'ended') return watchJob(seen, job)
  // What an agent found out counts, whatever else happened meanwhile.
  if (job && !isTaken(config, job.name)) return takeResult(seen, work, job)

  const older = seen.twins.find(twin => twin.older && !twin.deleting)
  if (older && isEntry(config) && !older.entry)
    return wait(seen, 'OwnedByNodeConfig', `MultiNicNodeConfig ${older.name} has node ${nodeName}`)
  if (older) return wait(seen, 'DuplicateNode', `${older.name} is older and names the same node ${nodeName}`)
  if (!node && namesake?.systemUUID === '')
    return wait(seen, 'NodeUnreachable', `node ${nodeName} has not told which machine it is`)
  if (!node && namesake)
    return wait(seen, 'WrongMachine', `node ${nodeName} is machine ${namesake.systemUUID}, not ${instanceIdOf(config)}`)
  if (!node) return wait(seen, 'NodeNotFound', `node ${nodeName} is not in this cluster`)
  if (work.errors.length) return refuse(seen, work)

  const due = lookingFirst(seen, whatIsDue(seen, node), action => nextAttempt(seen, node, work, action))
  if (due.action === 'nothing') return keep(seen, due.after)
  const busy = newest(seen.jobs.filter(other => other.phase !== 'ended'))
  const paused = pauseOf(seen)
  if (due.action === 'check' && due.first && seen.checksFull) return { steps: [], after: lookLaterMs }
  // A check that cannot be made now says nothing about the node.
  if (due.action === 'check' && !due.first && (busy || paused || !node.heard || seen.checksFull))
    return keep(seen, checkLaterMs)
  if (paused) return wait(seen, 'Paused', paused)
  if (busy) return makeRoom(seen, busy)
  if (!node.heard) return wait(seen, 'NodeUnreachable', `nobody hears from node ${node.name}`)
  const waits = due.takesSlot && !due.retry
  if (waits && seen.rollout.stopped) return wait(seen, 'RolloutStopped', seen.rollout.because)
  if (waits && !seen.rollout.room) return wait(seen, 'RolloutWaiting', seen.rollout.because)

  const attempt = due.action === 'check' ? due.number : nextAttempt(seen, node, work, 'apply')
  return start(seen, node, work, { action: due.action, attempt, takesSlot: due.takesSlot })
}

const checkLaterMs = 60_000
const lookLaterMs = 1_000

/** The newest Job for what is wanted now. */
function currentJob({ config, jobs }: Observed, { specHash }: Work): AgentJob | undefined {
  const { uid, generation } = config.metadata
  return newest(
    jobs.filter(
      job =>
        job.configUid === uid && job.generation === generation && job.specHash === specHash && job.action !== 'cleanup',
    ),
  )
}

function refuse(seen: Observed, { errors }: Work): Plan {
  const message = errors.map(({ path, message }) => `${path}: ${message}`).join('; ')
  const { said } = wait(seen, 'SpecInvalid', message)
  return said ? { steps: [], said: { ...said, state: 'Failed', progressing: false } } : { steps: [] }
}

/** A retry takes a slot and does not wait for one: it makes the wave no wider, and the node may be good again by it. */
type Due =
  | { action: 'nothing'; after?: number }
  | { action: 'apply'; takesSlot: boolean; retry?: boolean }
  | { action: 'check'; takesSlot: false; retry?: false; number: number; first?: true }

/** Whoever takes a node over looks at it before it changes anything: most often it is as wanted. */
function lookingFirst({ config }: Observed, due: Due, nextOf: (action: Action) => number): Due {
  if (due.action !== 'apply' || !looksFirst(config)) return due
  return { action: 'check', takesSlot: false, number: nextOf('check'), first: true }
}

function looksFirst({ metadata: { annotations = {} }, status = {} }: NodeConfig): boolean {
  const reason = status.conditions?.find(({ type }) => type === 'Ready')?.reason
  if (reason === 'OwnedByNodeConfig') return true
  const untouched = !(status.interfaceStatuses ?? []).some(({ lastConfigured }) => lastConfigured !== undefined)
  const { adopt, retry } = nodeConfigAnnotations
  return annotations[adopt] !== undefined && annotations[retry] === undefined && untouched && reason !== 'Drifted'
}

function whatIsDue({ config, jobs, now, policy }: Observed, node: NodeFacts): Due {
  const { status = {}, metadata } = config
  const current = status.observedGeneration === metadata.generation
  const sameBoot = (status.bootID ?? '') === node.bootID
  // The Go implementation told neither when an interface was configured nor in which boot.
  const ofGo = status.state === 'Configured' && status.bootID === undefined
  const takesSlot = ofGo || (status.interfaceStatuses ?? []).some(({ lastConfigured }) => lastConfigured !== undefined)
  const toldAt = status.lastProcessed ? Date.parse(status.lastProcessed) : undefined
  // A time to come was told by a clock that was set back since: nobody waits for it.
  const processedAt = toldAt !== undefined && toldAt > now ? undefined : toldAt
  const since = processedAt === undefined ? Number.POSITIVE_INFINITY : now - processedAt
  const later = (ms: number): Due => ({ action: 'nothing', after: ms - since })
  const reason = status.conditions?.find(({ type }) => type === 'Ready')?.reason

  if (!current) return { action: 'apply', takesSlot }
  if (metadata.annotations?.[nodeConfigAnnotations.retry] !== undefined && status.state !== 'Configured')
    return { action: 'apply', takesSlot, retry: true }
  if (!sameBoot) return { action: 'apply', takesSlot: ofGo }

  if (status.state === 'Configured' || reason === 'Drifted') {
    if (reason === 'Drifted' && policy.drift.policy === 'repair') return { action: 'apply', takesSlot }
    const { intervalMs } = policy.drift
    if (intervalMs === undefined) return { action: 'nothing' }
    const { number, due, nextMs } = checkTurn(metadata.uid ?? '', intervalMs, now, processedAt)
    return due ? { action: 'check', takesSlot: false, number } : { action: 'nothing', after: nextMs }
  }
  if (reason === 'NicMissing') {
    const ms = pendingWait(newest(jobs)?.attempt)
    return since >= ms ? { action: 'apply', takesSlot: false } : later(ms)
  }
  if (status.state === 'Failed' && reason !== 'SpecInvalid') {
    const ms = failureWait(failuresOf(config))
    if (ms === undefined) return { action: 'nothing' }
    return since >= ms ? { action: 'apply', takesSlot, retry: true } : later(ms)
  }
  return { action: 'apply', takesSlot }
}

/** Settled. */
function keep({ config, jobs, now, policy }: Observed, after = Number.POSITIVE_INFINITY): Plan {
  const ended = jobs.filter(job => job.configUid === config.metadata.uid && job.phase === 'ended')
  const { old, after: sweepAfter = Number.POSITIVE_INFINITY } = sweep(ended, now, policy.jobTtlMs)
  const next = Math.min(after, sweepAfter)
  return {
    steps: [...old, ...jobs.filter(isNobodys)].map(({ name, uid }) => ({ do: 'deleteJob', name, uid })),
    ...(Number.isFinite(next) && { after: next }),
  }
}

/** A name that was never used for this work, so that an old result is not taken for a new one. */
function nextAttempt({ config, jobs }: Observed, node: NodeFacts, { specHash }: Work, action: Action): number {
  const { uid, generation } = config.metadata
  const before = jobs.filter(job => job.configUid === uid && job.generation === generation && job.action === action)
  const name = (attempt: number) => agentJobName(identityOf({ config, node, specHash, action, attempt }))
  let attempt = Math.max(failuresOf(config), ...before.map(job => job.attempt + 1))
  while (name(attempt) === config.status?.lastJobName) attempt++
  return attempt
}
