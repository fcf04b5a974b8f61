/**
 * A queue of keys: what is to be looked at, never what happened to it.
 *
 * A key waits once however often it is added, and is with one worker at a time; added while it runs, it runs again
 * afterwards. New work goes before re-checks; a re-check that has waited long gets every fourth turn, so neither starves.
 */
import { type Backoff, backoffMs } from '../runtime/retry.ts'
import { type Clock, monotonic } from './clock.ts'

export type Priority = 'new' | 'recheck'

export interface Work {
  key: string
  priority: Priority
  /** Milliseconds from the add to now. */
  waited: number
  /** Must be called once, when the work ended in whatever way. */
  done(): void
}

export interface Queue {
  add(key: string, options?: { priority?: Priority }): void
  /** Adds the key later. Of two wake-ups of a key the earlier one stays. */
  addAfter(key: string, ms: number, options?: { priority?: Priority }): void
  /** Adds the key later, each time later than before until `forget`. Returns the delay in ms. */
  retry(key: string, options?: { priority?: Priority; retryAfterMs?: number }): number
  /** The key went well: its next `retry` starts from the shortest delay. */
  forget(key: string): void
  /** The next key that nobody works on; undefined after `shutdown`. */
  next(): Promise<Work | undefined>
  /** Waiting workers get undefined; nothing more is handed out. */
  shutdown(): void
  /** Keys that wait for a worker now. */
  depth(): number
  /** Keys that a worker has. */
  active(): number
}

export interface QueueOptions {
  clock?: Clock
  random?: () => number
  /** Delays of `retry`. */
  backoff?: Backoff
  /** A re-check that waited this long gets its share of turns. */
  ageMs?: number
}

/** Of so many turns one goes to a re-check that has aged, while there is new work. */
const turns = 4

export function createQueue(options: QueueOptions = {}): Queue {
  const { clock = monotonic, random = Math.random, ageMs = 5_000 } = options
  const { backoff = { firstMs: 200, maxMs: 300_000 } } = options
  const lanes: Record<Priority, Map<string, number>> = { new: new Map(), recheck: new Map() }
  const running = new Set<string>()
  const again = new Map<string, Priority>()
  const timers = new Map<string, { at: number; cancel: () => void }>()
  const failures = new Map<string, number>()
  const waiting: ((work: Work | undefined) => void)[] = []
  let sinceRecheck = 0
  let closed = false

  function add(key: string, { priority = 'new' }: { priority?: Priority } = {}): void {
    if (closed) return
    if (running.has(key)) {
      if (again.get(key) !== 'new') again.set(key, priority)
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
    return sinceRecheck >= turns - 1 && clock.now() - oldest >= ageMs ? 'recheck' : 'new'
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
    const priority = again.get(key)
    again.delete(key)
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
      again.clear()
      for (const resolve of waiting.splice(0)) resolve(undefined)
    },
    depth: () => lanes.new.size + lanes.recheck.size,
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
