/**
 * Workers that take keys from a queue and reconcile them.
 *
 * A reconcile ends in one of four ways: done (returns nothing), requeue later (returns `{ after }`), failed (throws: retried
 * with backoff), failed permanently (throws `TerminalError`: not retried until an event wakes the key).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { TerminalError } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import { isConflict, kubeErrorIn } from './errors.ts'
import { createQueue, type Priority, type Queue, type Work } from './queue.ts'

export interface ReconcileContext {
  log: Log
  signal: AbortSignal
  /** How long the key waited for a worker, in ms. */
  waited: number
}

export interface Requeue {
  /** In milliseconds. */
  after: number
}

// biome-ignore lint/suspicious/noConfusingVoidType: a reconcile that is done returns nothing
export type Reconcile = (key: string, context: ReconcileContext) => Promise<Requeue | void>

export interface ControllerOptions {
  name: string
  workers: number
  reconcile: Reconcile
  log: Log
  /** Stops the controller. Running reconciles get it too and have time to finish. */
  signal: AbortSignal
  queue?: Queue
  /** How long to wait for running reconciles at the end. */
  drainMs?: number
}

export interface Controller {
  wake(key: string, priority?: Priority): void
  wakeAfter(key: string, ms: number): void
  /** Resolves when all workers have stopped, at most `drainMs` after the signal. Never rejects. */
  stopped: Promise<void>
  /** Keys that a worker reconciles. */
  active(): number
  /** Keys that wait for a worker. */
  depth(): number
  /** How long the oldest of them waits, in ms. */
  oldest(): number
}

export function runController(options: ControllerOptions): Controller {
  const { name, workers, reconcile, signal, queue = createQueue(), drainMs = 10_000 } = options
  const log = options.log.with({ controller: name })

  async function settle({ key, waited }: Work): Promise<void> {
    const own = log.with({ key })
    try {
      const requeue = await reconcile(key, { log: own, signal, waited })
      queue.forget(key)
      if (requeue) queue.addAfter(key, requeue.after, { priority: 'recheck' })
    } catch (error) {
      if (signal.aborted) {
        own.debug('reconcile interrupted', { error })
      } else if (error instanceof TerminalError) {
        queue.forget(key)
        own.error('reconcile failed, not retrying', { reason: error.reason, error })
      } else {
        retryLater(key, error, own)
      }
    }
  }

  function retryLater(key: string, error: unknown, own: Log): void {
    const retryAfterMs = (kubeErrorIn(error)?.retryAfter ?? 0) * 1_000
    const delay = queue.retry(key, { retryAfterMs })
    // Conflicts are normal: the next reconcile reads the new version.
    const report = isConflict(error) ? own.debug : own.warn
    report('reconcile failed, retrying', { error, retryAfterMs: Math.round(delay) })
  }

  async function work(): Promise<void> {
    for (let item = await queue.next(); item; item = await queue.next()) {
      // The queue may hand out a key just before the stop.
      if (!signal.aborted) await settle(item)
      item.done()
    }
  }

  async function drain(all: Promise<unknown>): Promise<void> {
    const done = new AbortController()
    const timeout = sleep(drainMs, true, { signal: done.signal }).catch(() => false)
    if (await Promise.race([all.then(() => false), timeout])) {
      log.error('reconciles did not stop in time', { active: queue.active(), drainMs })
    }
    done.abort()
  }

  const all = Promise.all(Array.from({ length: workers }, work))
  const ended = new Promise<void>(resolve => {
    const end = () => {
      queue.shutdown()
      resolve()
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })

  return {
    wake: (key, priority = 'new') => queue.add(key, { priority }),
    wakeAfter: (key, ms) => queue.addAfter(key, ms),
    stopped: ended.then(() => drain(all)),
    active: () => queue.active(),
    depth: () => queue.depth(),
    oldest: () => queue.oldest(),
  }
}
