/**
 * Workers that take keys from a queue and reconcile them.
 *
 * Four endings of a reconcile: settled (nothing returned), look again later (`{ after }`), failed for now (thrown: tried
 * again with backoff), failed for good (`TerminalError`: left alone until something wakes the key).
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

/** Look at the key again after so many ms. */
export interface Requeue {
  after: number
}

// biome-ignore lint/suspicious/noConfusingVoidType: a reconcile that settles returns nothing at all
export type Reconcile = (key: string, context: ReconcileContext) => Promise<Requeue | void>

export interface ControllerOptions {
  name: string
  workers: number
  reconcile: Reconcile
  log: Log
  /** Ends the controller. Running reconciles see it too, and are waited for. */
  signal: AbortSignal
  queue?: Queue
  /** How long running reconciles are waited for at the end. */
  drainMs?: number
}

export interface Controller {
  wake(key: string, priority?: Priority): void
  wakeAfter(key: string, ms: number): void
  /** Resolves when no worker works any more (or `drainMs` after the signal). Never rejects. */
  stopped: Promise<void>
  /** Keys in work now. */
  active(): number
  /** Keys that wait for a worker. */
  depth(): number
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
        own.debug('stopped on the way', { error })
      } else if (error instanceof TerminalError) {
        queue.forget(key)
        own.error('failed for good', { reason: error.reason, error })
      } else {
        tryAgain(key, error, own)
      }
    }
  }

  function tryAgain(key: string, error: unknown, own: Log): void {
    const retryAfterMs = (kubeErrorIn(error)?.retryAfter ?? 0) * 1_000
    const delay = queue.retry(key, { retryAfterMs })
    // A stale read is everyday life: the next look sees the new state.
    const say = isConflict(error) ? own.debug : own.warn
    say('failed, will be tried again', { error, afterMs: Math.round(delay) })
  }

  async function work(): Promise<void> {
    for (let item = await queue.next(); item; item = await queue.next()) {
      // Handed out just before the end: it is not begun any more.
      if (!signal.aborted) await settle(item)
      item.done()
    }
  }

  async function drain(all: Promise<unknown>): Promise<void> {
    const enough = new AbortController()
    const late = sleep(drainMs, true, { signal: enough.signal }).catch(() => false)
    if (await Promise.race([all.then(() => false), late])) {
      log.error('reconciles did not end in time', { active: queue.active(), drainMs })
    }
    enough.abort()
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
  }
}
