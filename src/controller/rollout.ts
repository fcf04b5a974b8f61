/**
 * Limits how many nodes change at the same time, in the order in which their configs began to wait.
 *
 * A first configuration takes no slot, so a new node never waits for a rollout. A Job whose Pod does not start gives its
 * slot back. A node that became unreachable in its change keeps its slot and counts as failed until it is reachable again or
 * deleted: nobody knows what the change did to it. See docs/decisions/0128-lost-in-a-change.md
 */
import { keyOf, keyText } from '../kube/keys.ts'
import type { JobObject } from '../kube/types.ts'
import { progressOf } from './agent-jobs.ts'
import { type Caches, nodeOf, type RolloutKind } from './caches.ts'
import { jobAnnotations } from './job.ts'
import type { LatestState } from './latest-state.ts'
import { isReachable } from './machine.ts'
import { isResultRecorded } from './plan/config-status.ts'
import { slotTimeoutMs } from './plan/delays.ts'
import type { RolloutSlot } from './plan/observed.ts'
import type { Amount } from './settings.ts'

export interface Rollout {
  /** `despiteFailures`: also while the failure budget is used up. */
  slotFor(key: string, now: number, options?: { despiteFailures: boolean }): RolloutSlot
  /** The maximum number of check Jobs is running. */
  checkLimitReached(): boolean
  /** Holds a slot between the decision and the Job. */
  reserve(key: string, kind: RolloutKind): void
  release(key: string): void
  /** A config that keeps waiting keeps its place in the queue. */
  setWaiting(key: string, waiting: boolean): void
  /** Configs to reconcile: those that may start now, or all that wait when the rollout stops or resumes. */
  keysToWake(now: number): string[]
  waiting(): number
  /** Nodes that failed after their change, or became unreachable in it. */
  failed(now: number): number
  /** The failure budget is used up: no node that was configured before changes. */
  stopped(now: number): boolean
}

export interface RolloutLimits {
  maxUnavailable: Amount
  failureBudget: Amount
  /** A check changes nothing, so the limits of changes do not count for it. */
  maxChecks: number
}

export function createRollout(caches: Caches, latest: LatestState, limits: RolloutLimits): Rollout {
  const reserved = new Map<string, RolloutKind>()
  const queue = new Set<string>()
  let wasStopped = false

  function changing(now: number): number {
    const lost = lostConfigs(now)
    const counted = latest.rolloutJobs('change').filter(job => {
      const { phase, createdAt } = progressOf(job, caches, now)
      if (lost.has(configKeyOf(job))) return false
      // An ended Job keeps its slot until its result is in the status: it may be the failure that stops the rollout.
      if (phase === 'ended') return !isRecorded(job)
      if (phase === 'waiting' && now - createdAt >= slotTimeoutMs) return false
      return caches.nodes.get(nodeOf(job)) !== undefined
    })
    return lost.size + counted.length + reservedFor('change')
  }

  /** Configs whose node became unreachable in its change. The Job of a long outage may be gone: the status remains. */
  function lostConfigs(now: number): Set<string> {
    const jobs = latest
      .rolloutJobs('change')
      .filter(job => isLost(nodeOf(job)) && progressOf(job, caches, now).phase !== 'ended')
    const configs = latest.failedChanges().filter(({ spec }) => isLost(spec.nodeName))
    return new Set([...jobs.map(configKeyOf), ...configs.map(keyOf)])
  }

  function isLost(nodeName: string): boolean {
    const node = caches.nodes.get(nodeName)
    return node !== undefined && !isReachable(node)
  }

  const reservedFor = (kind: RolloutKind) => [...reserved.values()].filter(other => other === kind).length

  function isRecorded(job: JobObject): boolean {
    const { metadata } = job
    const config = latest.config(configKeyOf(job))
    return (
      !config ||
      isResultRecorded(config, metadata.name) ||
      `${config.metadata.generation}` !== metadata.annotations?.[jobAnnotations.generation]
    )
  }

  function failures(now: number): { failed: number; lost: number } {
    const lost = lostConfigs(now)
    return { failed: new Set([...latest.failedChanges().map(keyOf), ...lost]).size, lost: lost.size }
  }

  function whyStopped(now: number): string | undefined {
    const { failed, lost } = failures(now)
    const budget = amountOf(limits.failureBudget, caches.nodes.list().length, 3)
    if (failed < budget) return undefined
    const nodes = failed === 1 ? '1 node failed after its change' : `${failed} nodes failed after their change`
    const unreachable = lost === 0 ? '' : ` (${lost} unreachable)`
    return `${nodes}${unreachable}, which uses up the failure budget of ${budget}`
  }

  function slots(now: number): { max: number; free: number } {
    const max = amountOf(limits.maxUnavailable, caches.nodes.list().length, 1)
    return { max, free: max - changing(now) }
  }

  return {
    slotFor(key, now, { despiteFailures } = { despiteFailures: false }) {
      const stopped = despiteFailures ? undefined : whyStopped(now)
      if (stopped) return { available: false, message: stopped, stopped: true }
      const { max, free } = slots(now)
      const place = [...queue].indexOf(key)
      const ahead = place < 0 ? queue.size : place
      return { available: free > ahead, message: waitMessage(max, lostConfigs(now).size) }
    },
    checkLimitReached() {
      return latest.rolloutJobs('check').length + reservedFor('check') >= limits.maxChecks
    },
    reserve: (key, kind) => void reserved.set(key, kind),
    release: key => void reserved.delete(key),
    setWaiting(key, waiting) {
      if (waiting) queue.add(key)
      else queue.delete(key)
    },
    keysToWake(now) {
      if (!queue.size) return []
      const isStopped = whyStopped(now) !== undefined
      const changed = isStopped !== wasStopped
      wasStopped = isStopped
      if (changed) return [...queue]
      if (isStopped) return []
      return [...queue].slice(0, Math.max(0, slots(now).free))
    },
    waiting: () => queue.size,
    failed: now => failures(now).failed,
    stopped: now => whyStopped(now) !== undefined,
  }
}

/** Of the config that the Job changes. */
function configKeyOf({ metadata }: JobObject): string {
  return keyText({ ...metadata, name: metadata.annotations?.[jobAnnotations.config] ?? '' })
}

function waitMessage(max: number, lost: number): string {
  const limit = `other nodes are changing, at most ${max} at a time`
  return lost === 0 ? limit : `${limit}; ${lost} of them became unreachable in their change and count until they return`
}

/** A percentage is rounded down and never below `min`; a count is used as it is. */
export function amountOf(amount: Amount, total: number, min: number): number {
  return 'count' in amount ? amount.count : Math.max(min, Math.floor((total * amount.percent) / 100))
}
