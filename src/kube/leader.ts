/**
 * Leader election: the replica that holds the Lease is active.
 *
 * A candidate measures the lease from when it saw the Lease change, by its own clock, so the clocks of machines need not
 * agree. The holder measures from when it sent its last successful renewal, which is earlier, and gives up after two thirds
 * of the lease: it stops before another replica may start.
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
  /** Unique among all replicas. */
  identity: string
  leaseMs?: number
  renewMs?: number
  log: Log
  signal: AbortSignal
  /** The work of the leader. Its signal aborts when the lease is lost or the process stops. */
  onLeading: (signal: AbortSignal) => Promise<void>
}

/**
 * Acquires the lease, leads, and starts again after a loss, until the signal. Resolves after the signal or when `onLeading`
 * returns; rejects with the error of `onLeading`. It releases the lease first.
 */
export async function runLeaderElection(options: LeaderOptions): Promise<void> {
  const { leaseMs = 15_000, renewMs = 5_000, signal, onLeading } = options
  const log = options.log.with({ lease: `${options.namespace}/${options.name}`, identity: options.identity })
  const lease = leaseOf(options, leaseMs)

  while (!signal.aborted) {
    const since = await acquire()
    if (since === undefined) return
    log.info('became leader')
    const leading = new AbortController()
    const stop = () => leading.abort(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    // The signal may have come while the lease was acquired; the listener does not see that.
    if (signal.aborted) stop()
    // The async function turns a synchronous throw into a rejection.
    const work = (async () => onLeading(leading.signal))()
    const done = new AbortController()
    const renewing = keepRenewing(since, leading, done.signal)
    try {
      await work
      if (!leading.signal.aborted) return
    } catch (error) {
      if (!leading.signal.aborted) throw error
      log.debug('leader work interrupted', { error })
    } finally {
      done.abort()
      signal.removeEventListener('abort', stop)
      if (await renewing) await release()
    }
  }

  /** Resolves to the time from which the lease counts, or undefined if the signal came first. */
  async function acquire(): Promise<number | undefined> {
    while (!signal.aborted) {
      const sent = performance.now()
      try {
        if (await bounded(lease.acquire())) return sent
      } catch (error) {
        log.warn('cannot acquire lease', { error })
      }
      await pause(Math.min(renewMs, 2_000) * (0.8 + Math.random() * 0.4), signal)
    }
    return undefined
  }

  /** Renews until `done`. Resolves to whether the lease is still ours. */
  async function keepRenewing(since: number, leading: AbortController, done: AbortSignal): Promise<boolean> {
    const lose = (why: string) => {
      if (leading.signal.aborted) return
      log.error('lease lost', { why })
      leading.abort(new Error(`lease lost: ${why}`))
    }
    let isHolder = true
    let giveUp = giveUpTimer(since)
    function giveUpTimer(from: number): NodeJS.Timeout {
      const left = from + (leaseMs * 2) / 3 - performance.now()
      return setTimeout(() => {
        isHolder = false
        lose('not renewed in time')
      }, left)
    }
    let next = renewMs
    while (!done.aborted && isHolder) {
      await pause(next, done)
      if (done.aborted || !isHolder) break
      const sent = performance.now()
      try {
        if (!(await bounded(lease.acquire()))) {
          isHolder = false
          lose('another replica holds it')
        } else if (isHolder) {
          clearTimeout(giveUp)
          giveUp = giveUpTimer(sent)
          next = renewMs
        }
      } catch (error) {
        next = Math.min(renewMs / 2, 1_000)
        log.warn('cannot renew lease, retrying', { error })
      }
    }
    clearTimeout(giveUp)
    return isHolder
  }

  async function release(): Promise<void> {
    try {
      await bounded(lease.release())
      log.info('lease released')
    } catch (error) {
      log.warn('cannot release lease, it will expire', { error: messageOf(error) })
    }
  }

  /** A request that hangs must leave time for another one before the lease expires. */
  async function bounded<T>(request: Promise<T>): Promise<T> {
    const finished = new AbortController()
    const timeout = sleep(renewMs / 2, undefined, { signal: finished.signal }).then(
      () => Promise.reject(new Error(`no response within ${renewMs / 2} ms`)),
      () => request,
    )
    try {
      return await Promise.race([request, timeout])
    } finally {
      finished.abort()
    }
  }
}

/** The Lease object as one candidate sees it. */
function leaseOf({ kube, namespace, name, identity }: LeaderOptions, leaseMs: number) {
  let observed: { version: string; at: number } | undefined
  let lastWritten: LeaseObject | undefined

  const isFree = (lease: LeaseObject): boolean => {
    const { holderIdentity, leaseDurationSeconds } = lease.spec ?? {}
    if (!holderIdentity || holderIdentity === identity) return true
    const version = lease.metadata.resourceVersion ?? ''
    if (observed?.version !== version) observed = { version, at: performance.now() }
    return performance.now() - observed.at >= (leaseDurationSeconds ? leaseDurationSeconds * 1_000 : leaseMs)
  }

  /** Safe because of the resourceVersion: of two concurrent writers one gets 409. */
  const write = async (current: LeaseObject): Promise<true> => {
    const before = current.spec ?? {}
    const renewal = before.holderIdentity === identity
    const now = microTime(new Date())
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseMs / 1_000),
      acquireTime: (renewal && before.acquireTime) || now,
      renewTime: now,
      leaseTransitions: (before.leaseTransitions ?? 0) + (renewal || !current.metadata.resourceVersion ? 0 : 1),
    }
    lastWritten = await (current.metadata.resourceVersion ? kube.replace : kube.create)(leases, { ...current, spec })
    return true
  }

  const read = () => kube.get(leases, { namespace, name })

  return {
    /** Acquires or renews the lease. Resolves to whether it is ours. */
    async acquire(): Promise<boolean> {
      if (lastWritten) {
        try {
          return await write(lastWritten)
        } catch (error) {
          if (!isConflict(error) && !isNotFound(error)) throw error
          lastWritten = undefined
        }
      }
      const found = await read()
      if (found && !isFree(found)) return false
      try {
        const fresh = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace, name } }
        return await write(found ?? fresh)
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

/** MicroTime of Kubernetes: always six digits. */
export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z')
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
