/**
 * One active replica: whoever holds the Lease.
 *
 * Another candidate counts a lease from the moment it saw the record change, by its own clock, so clocks of machines need
 * not agree. The holder counts from the moment it sent its last good renewal, which is earlier, and gives up at two
 * thirds of the lease: it has stopped before anybody may start.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import type { Kube } from './api.ts'
import { isAlreadyExists, isConflict, isNotFound } from './errors.ts'
import { leases } from './resources.ts'
import type { LeaseObject } from './types.ts'

export interface LeaderOptions {
  kube: Pick<Kube, 'get' | 'create' | 'replace'>
  namespace: string
  name: string
  /** Different for each process that may run at the same time. */
  identity: string
  leaseMs?: number
  renewMs?: number
  log: Log
  signal: AbortSignal
  /** The work of the leader. Its signal is aborted when the lease is lost or the process stops. */
  onLeading: (signal: AbortSignal) => Promise<void>
}

/**
 * Campaigns, leads, and campaigns again after a loss, until the signal. Resolves when the signal came or `onLeading`
 * ended by itself; rejects with what `onLeading` threw. In each case the lease was given back first.
 */
export async function runLeaderElection(options: LeaderOptions): Promise<void> {
  const { leaseMs = 15_000, renewMs = 5_000, signal, onLeading } = options
  const log = options.log.with({ lease: `${options.namespace}/${options.name}`, identity: options.identity })
  const lease = leaseOf(options, leaseMs)

  while (!signal.aborted) {
    const since = await campaign()
    if (since === undefined) return
    log.info('leading')
    const reign = new AbortController()
    const stop = () => reign.abort(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    // It may have come while the lease was taken, and is not told again.
    if (signal.aborted) stop()
    // An async function of our own, so that a synchronous throw is a failure of the reign and not of the election.
    const work = (async () => onLeading(reign.signal))()
    const over = new AbortController()
    const keeping = keep(since, reign, over.signal)
    try {
      await work
      if (!reign.signal.aborted) return
    } catch (error) {
      if (!reign.signal.aborted) throw error
      log.debug('the work of the leader was interrupted', { error })
    } finally {
      over.abort()
      signal.removeEventListener('abort', stop)
      if (await keeping) await giveBack()
    }
  }

  /** Resolves with the moment from which the lease counts, undefined when the signal came first. */
  async function campaign(): Promise<number | undefined> {
    while (!signal.aborted) {
      const sent = performance.now()
      try {
        if (await bounded(lease.take())) return sent
      } catch (error) {
        log.warn('the lease could not be asked for', { error })
      }
      await pause(Math.min(renewMs, 2_000) * (0.8 + Math.random() * 0.4), signal)
    }
    return undefined
  }

  /** Renews until told that it is over (true: the lease is still ours) or until it is lost (false). */
  async function keep(since: number, reign: AbortController, over: AbortSignal): Promise<boolean> {
    const lose = (why: string) => {
      if (reign.signal.aborted) return
      log.error('the lease is lost', { why })
      reign.abort(new Error(`the lease is lost: ${why}`))
    }
    let held = true
    let giveUp = giveUpTimer(since)
    function giveUpTimer(from: number): NodeJS.Timeout {
      const left = from + (leaseMs * 2) / 3 - performance.now()
      return setTimeout(() => {
        held = false
        lose('it could not be renewed in time')
      }, left)
    }
    let next = renewMs
    while (!over.aborted && held) {
      await pause(next, over)
      if (over.aborted || !held) break
      const sent = performance.now()
      try {
        if (!(await bounded(lease.take()))) {
          held = false
          lose('another holds it')
        } else if (held) {
          clearTimeout(giveUp)
          giveUp = giveUpTimer(sent)
          next = renewMs
        }
      } catch (error) {
        next = Math.min(renewMs / 2, 1_000)
        log.warn('the lease was not renewed', { error })
      }
    }
    clearTimeout(giveUp)
    return held
  }

  async function giveBack(): Promise<void> {
    try {
      await bounded(lease.release())
      log.info('gave the lease back')
    } catch (error) {
      log.warn('the lease was not given back: it runs out by itself', { error: messageOf(error) })
    }
  }

  /** A request that hangs must leave time for another one before the lease is given up. */
  async function bounded<T>(answer: Promise<T>): Promise<T> {
    const done = new AbortController()
    const late = sleep(renewMs / 2, undefined, { signal: done.signal }).then(
      () => Promise.reject(new Error(`no answer within ${renewMs / 2} ms`)),
      () => answer,
    )
    try {
      return await Promise.race([answer, late])
    } finally {
      done.abort()
    }
  }
}

/** The Lease object as one candidate sees it. */
function leaseOf({ kube, namespace, name, identity }: LeaderOptions, leaseMs: number) {
  let seen: { version: string; at: number } | undefined
  let held: LeaseObject | undefined

  const isFree = (lease: LeaseObject): boolean => {
    const { holderIdentity, leaseDurationSeconds } = lease.spec ?? {}
    if (!holderIdentity || holderIdentity === identity) return true
    const version = lease.metadata.resourceVersion ?? ''
    if (seen?.version !== version) seen = { version, at: performance.now() }
    return performance.now() - seen.at >= (leaseDurationSeconds ? leaseDurationSeconds * 1_000 : leaseMs)
  }

  /** The resourceVersion makes it safe: of two that write over the same state one gets 409. */
  const write = async (over: LeaseObject): Promise<true> => {
    const before = over.spec ?? {}
    const renewal = before.holderIdentity === identity
    const now = microTime(new Date())
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseMs / 1_000),
      acquireTime: (renewal && before.acquireTime) || now,
      renewTime: now,
      leaseTransitions: (before.leaseTransitions ?? 0) + (renewal || !over.metadata.resourceVersion ? 0 : 1),
    }
    held = await (over.metadata.resourceVersion ? kube.replace : kube.create)(leases, { ...over, spec })
    return true
  }

  const read = () => kube.get(leases, { namespace, name })

  return {
    /** Takes or renews it: whether it is ours now. */
    async take(): Promise<boolean> {
      if (held) {
        try {
          return await write(held)
        } catch (error) {
          if (!isConflict(error) && !isNotFound(error)) throw error
          held = undefined
        }
      }
      const found = await read()
      if (found && !isFree(found)) return false
      try {
        const none = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace, name } }
        return await write(found ?? none)
      } catch (error) {
        if (!isConflict(error) && !isAlreadyExists(error)) throw error
        return (await read())?.spec?.holderIdentity === identity
      }
    },

    async release(): Promise<void> {
      const found = await read()
      if (found?.spec?.holderIdentity !== identity) return
      const now = microTime(new Date())
      const spec = { ...found.spec, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now }
      await kube.replace(leases, { ...found, spec })
    },
  }
}

/** Kubernetes' MicroTime: six digits, always. */
export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z')
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
