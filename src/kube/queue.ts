/**
 * A queue of keys to reconcile. It holds keys, never events.
 *
 * A key waits once, however often it is added, and only one worker has it at a time. If it is added while it runs, it runs
 * again afterwards. New work goes before rechecks. A recheck that has waited long gets every fourth turn, so that neither
 * starves.
 */
import { type Backoff, backoffMs } from '../runtime/retry.ts'
import { type Clock, monotonic } from './clock.ts'

export type Priority = 'new' | 'recheck'

export interface Work {
  key: string
  priority: Priority
  /** Milliseconds since it was added. */
  waited: number
  /** Call it when the work has ended, with or without success. */
  done(): void
}

export interface Queue {
  add(key: string, options?: { priority?: Priority }): void
  /** Adds the key later. If it is scheduled already, the earlier time counts. */
  addAfter(key: string, ms: number, options?: { priority?: Priority }): void
  /** Adds the key after a delay that grows until `forget`. Returns the delay in ms. */
  retry(key: string, options?: { priority?: Priority; retryAfterMs?: number }): number
  /** After a success: the next `retry` starts with the first delay. */
  forget(key: string): void
  /** The next key that no worker has; undefined after `shutdown`. */
  next(): Promise<Work | undefined>
  /** Waiting workers get undefined, and the queue hands out no more keys. */
  shutdown(): void
  /** Keys that wait for a worker. */
  depth(): number
  /** Milliseconds since the oldest waiting key was added; 0 if none waits. */
  oldest(): number
  /** Keys that a worker has. */
  active(): number
}

export interface QueueOptions {
  clock?: Clock
  random?: () => number
  /** Delays of `retry`. */
  backoff?: Backoff
  /** A recheck that waited this long gets its share of turns. */
  ageMs?: number
}

/** One of this many turns goes to an aged recheck while there is new work. */
const turnsPerRecheck = 4

export function createQueue(options: QueueOptions = {}): Queue {
  const { clock = monotonic, random = Math.random, ageMs = 5_000 } = options
  const { backoff = { firstMs: 200, maxMs: 300_000 } } = options
  const lanes: Record<Priority, Map<string, number>> = { new: new Map(), recheck: new Map() }
  const running = new Set<string>()
  const readded = new Map<string, Priority>()
  const timers = new Map<string, { at: number; cancel: () => void }>()
  const failures = new Map<string, number>()
  const waiting: ((work: Work | undefined) => void)[] = []
  let sinceRecheck = 0
  let closed = false

  function add(key: string, { priority = 'new' }: { priority?: Priority } = {}): void {
    if (closed) return
    if (running.has(key)) {
      if (readded.get(key) !== 'new') readded.set(key, priority)
      return
    }
    if (lanes.new.has(key)) return
    if (priority === 'recheck') {
      if (!lanes.recheck.has(key)) lanes.recheck.set(key, clock.now())
    } else {
      lanes.recheck.delete(key)
      lanes.new.set(key, clock.now())
    }
    serve()
  }

  function addAfter(key: string, ms: number, options: { priority?: Priority } = {}): void {
    if (closed) return
    if (ms <= 0) {
      add(key, options)
      return
    }
    const at = clock.now() + ms
    const pending = timers.get(key)
    if (pending && pending.at <= at) return
    pending?.cancel()
    const cancel = clock.after(ms, () => {
      timers.delete(key)
      add(key, options)
    })
    timers.set(key, { at, cancel })
  }

  function chooseLane(): Priority | undefined {
    const [oldest] = lanes.recheck.values()
    if (oldest === undefined) return lanes.new.size ? 'new' : undefined
    if (!lanes.new.size) return 'recheck'
    return sinceRecheck >= turnsPerRecheck - 1 && clock.now() - oldest >= ageMs ? 'recheck' : 'new'
  }

  function take(): Work | undefined {
    const priority = chooseLane()
    if (!priority) return undefined
    const [first] = lanes[priority]
    if (!first) return undefined
    const [key, since] = first
    lanes[priority].delete(key)
    sinceRecheck = priority === 'recheck' ? 0 : sinceRecheck + 1
    running.add(key)
    return { key, priority, waited: clock.now() - since, done: once(() => finish(key)) }
  }

  function finish(key: string): void {
    running.delete(key)
    const priority = readded.get(key)
    readded.delete(key)
    if (priority) add(key, { priority })
  }

  function serve(): void {
    while (waiting.length) {
      const work = take()
      if (!work) return
      waiting.shift()?.(work)
    }
  }

  return {
    add,
    addAfter,
    retry(key, { priority = 'recheck', retryAfterMs } = {}) {
      const count = (failures.get(key) ?? 0) + 1
      failures.set(key, count)
      const delay = backoffMs(count, backoff, { retryAfterMs, random })
      addAfter(key, delay, { priority })
      return delay
    },
    forget: key => void failures.delete(key),
    async next() {
      if (closed) return undefined
      return take() ?? new Promise(resolve => waiting.push(resolve))
    },
    shutdown() {
      closed = true
      for (const { cancel } of timers.values()) cancel()
      timers.clear()
      for (const lane of Object.values(lanes)) lane.clear()
      readded.clear()
      for (const resolve of waiting.splice(0)) resolve(undefined)
    },
    depth: () => lanes.new.size + lanes.recheck.size,
    oldest() {
      // Each lane is in the order of its additions.
      const [[added = Number.POSITIVE_INFINITY], [rechecked = Number.POSITIVE_INFINITY]] = [
        lanes.new.values(),
        lanes.recheck.values(),
      ]
      return Math.max(0, clock.now() - Math.min(added, rechecked))
    },
    active: () => running.size,
  }
}

function once(call: () => void): () => void {
  let called = false
  return () => {
    if (called) return
    called = true
    call()
  }
}
