/**
 * How many nodes may change at once, and who is next. Order is the order in which configs began to wait.
 *
 * A first configuration takes no slot, so a new node never waits behind a wave. A Job whose agent does not start gives
 * its slot back, and so does a node that nobody hears from.
 */

import { keyText } from '../kube/keys.ts'
import type { JobObject } from '../kube/types.ts'
import { type Caches, nodeOf } from './caches.ts'
import type { Amount } from './config.ts'
import { jobAnnotations } from './job.ts'
import type { Memory } from './latest-state.ts'
import { factsOf } from './machine.ts'
import { progressOf } from './observe.ts'
import { isTaken, startWithinMs } from './plan/work.ts'

export interface Rollout {
  look(key: string, now: number): { room: boolean; because: string; stopped?: boolean }
  /** As many check Jobs as may be are under way. */
  checksFull(): boolean
  /** Between the decision and the Job. */
  reserve(key: string, what: 'change' | 'check'): void
  free(key: string): void
  /** A config that waits keeps its place. */
  queue(key: string, waits: boolean): void
  /** Configs to look at: those that may start now; all that wait when the wave stops or goes on. */
  next(now: number): string[]
  waiting(): number
  /** The failure budget is spent: nobody who has something to lose goes on. */
  stopped(): boolean
}

export interface RolloutLimits {
  maxUnavailable: Amount
  failureBudget: Amount
  maxChecks: number
}

export function createRollout(caches: Caches, memory: Memory, limits: RolloutLimits): Rollout {
  const reserved = new Map<string, 'change' | 'check'>()
  const queue = new Set<string>()
  let wasHalted = false

  function changing(now: number): number {
    const counted = memory.counted('change').filter(job => {
      const { phase, createdAt } = progressOf(job, caches, now)
      // An ended one keeps its slot until its result is told: it may be the failure that stops the wave.
      if (phase === 'ended') return !isToldOf(job)
      if (phase === 'waiting' && now - createdAt >= startWithinMs) return false
      const node = caches.nodes.get(nodeOf(job))
      return node !== undefined && factsOf(node).heard
    })
    return counted.length + reservedFor('change')
  }

  const reservedFor = (what: 'change' | 'check') => [...reserved.values()].filter(other => other === what).length

  function isToldOf({ metadata }: JobObject): boolean {
    const name = metadata.annotations?.[jobAnnotations.config] ?? ''
    const config = memory.config(keyText({ ...metadata, name }))
    return (
      !config ||
      isTaken(config, metadata.name) ||
      `${config.metadata.generation}` !== metadata.annotations?.[jobAnnotations.generation]
    )
  }

  function whyStopped(): string | undefined {
    const failed = memory.failedChanges()
    const budget = amountOf(limits.failureBudget, caches.nodes.list().length, 3)
    if (failed < budget) return undefined
    return `${failed} nodes failed with their new spec, and ${budget} are enough to stop`
  }

  function slots(now: number): { window: number; free: number } {
    const window = amountOf(limits.maxUnavailable, caches.nodes.list().length, 1)
    return { window, free: window - changing(now) }
  }

  return {
    look(key, now) {
      const halt = whyStopped()
      if (halt) return { room: false, because: halt, stopped: true }
      const { window, free } = slots(now)
      const place = [...queue].indexOf(key)
      const ahead = place < 0 ? queue.size : place
      return { room: free > ahead, because: `${window} other nodes may change at once, and they are changing` }
    },
    checksFull() {
      return memory.counted('check').length + reservedFor('check') >= limits.maxChecks
    },
    reserve: (key, what) => void reserved.set(key, what),
    free: key => void reserved.delete(key),
    queue(key, waits) {
      if (waits) queue.add(key)
      else queue.delete(key)
    },
    next(now) {
      if (!queue.size) return []
      const halted = whyStopped() !== undefined
      const turned = halted !== wasHalted
      wasHalted = halted
      if (turned) return [...queue]
      if (halted) return []
      return [...queue].slice(0, Math.max(0, slots(now).free))
    },
    waiting: () => queue.size,
    stopped: () => whyStopped() !== undefined,
  }
}

/** A share is rounded down and never less than the floor; a number is taken as it is. */
export function amountOf(amount: Amount, total: number, floor: number): number {
  return 'count' in amount ? amount.count : Math.max(floor, Math.floor((total * amount.percent) / 100))
}
