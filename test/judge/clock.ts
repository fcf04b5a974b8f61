/**
 * Preloaded (`--import`) into both processes of a judged side: time stands still until the judge moves it, and random numbers
 * for jitter are constant. The same operations then meet the same times in every run, on a machine of any speed.
 */
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import { promisify } from 'node:util'
import { environment } from '../../src/runtime/env.ts'

interface Due {
  at: number
  order: number
  call: () => void
}

export const realTimeout = globalThis.setTimeout
const realImmediate = globalThis.setImmediate
const RealDate = Date
const startedAt = Number(environment()['JUDGE_NOW'] ?? Date.UTC(2030, 0, 1))
/** What `performance.now` shows in a process that has just started. */
const startupMs = 1_000

let [now, orders] = [startedAt, 0]
const pending = new Set<Due>()

class Timer {
  readonly #call: () => void
  readonly #ms: number
  readonly #repeat: boolean
  #due: Due | undefined

  constructor(call: () => void, ms: number | undefined, repeat: boolean) {
    this.#call = call
    this.#ms = Math.max(1, Math.min(Number(ms) || 1, 2 ** 31 - 1))
    this.#repeat = repeat
    this.refresh()
  }
  refresh(): this {
    this.close()
    this.#due = {
      ...{ at: now + this.#ms, order: orders++ },
      call: () => {
        this.#due = undefined
        if (this.#repeat) this.refresh()
        this.#call()
      },
    }
    pending.add(this.#due)
    return this
  }
  close(): this {
    if (this.#due) pending.delete(this.#due)
    this.#due = undefined
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  hasRef(): boolean {
    return false
  }
  [Symbol.dispose](): void {
    this.close()
  }
}

type Callback = (...args: unknown[]) => void
const startTimer =
  (repeat: boolean) =>
  (call: Callback, ms?: number, ...args: unknown[]) =>
    new Timer(() => call(...args), ms, repeat)
const stopTimer = (timer: unknown) => void (timer instanceof Timer && timer.close())

function sleep<T>(ms?: number, value?: T, { signal }: { signal?: AbortSignal } = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      timer.close()
      const aborted = new Error('The operation was aborted', { cause: signal?.reason })
      reject(Object.assign(aborted, { name: 'AbortError', code: 'ABORT_ERR' }))
    }
    const timer = new Timer(
      () => {
        signal?.removeEventListener('abort', abort)
        resolve(value as T)
      },
      ms,
      false,
    )
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

const replaced = {
  setTimeout: Object.assign(startTimer(false), { [promisify.custom]: sleep }),
  setInterval: startTimer(true),
  clearTimeout: stopTimer,
  clearInterval: stopTimer,
}
Object.assign(globalThis, replaced)
Object.assign(timers, replaced)
Object.assign(timersPromises, { setTimeout: sleep })
syncBuiltinESMExports()
Object.assign(AbortSignal, {
  timeout(ms: number): AbortSignal {
    const controller = new AbortController()
    const expire = () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
    new Timer(expire, ms, false)
    return controller.signal
  },
})
// With Nagle's algorithm the client of the message bus would wait for an acknowledgement, and that for a clock of the kernel.
const { setNoDelay } = Socket.prototype
Socket.prototype.setNoDelay = function () {
  return setNoDelay.call(this, true)
}
performance.now = () => now - startedAt + startupMs
Math.random = () => 0.5
globalThis.Date = new Proxy(RealDate, {
  construct: (date, args, self) => Reflect.construct(date, args.length === 0 ? [now] : args, self),
  apply: () => new RealDate(now).toString(),
  get: (date, key) => (key === 'now' ? () => now : Reflect.get(date, key)),
})

export const turn = () => new Promise<void>(resolve => realImmediate(resolve))

/** When the next timer is due. */
export function nextDue(): number {
  let next = Number.POSITIVE_INFINITY
  for (const { at } of pending) next = Math.min(next, at)
  return next
}

/** Moves the time, and calls the timers that are due in their order. */
export async function advance(to: number): Promise<void> {
  for (;;) {
    const [due] = [...pending].filter(({ at }) => at <= to).sort((a, b) => a.at - b.at || a.order - b.order)
    if (!due) break
    pending.delete(due)
    now = Math.max(now, due.at)
    due.call()
    await turn()
  }
  now = Math.max(now, to)
}

/** Whether the process waits for its own threads or for a write, for which there is no request to wait for. */
export function isBusy(): boolean {
  return process.getActiveResourcesInfo().some(name => /Req|ConnectWrap|WriteWrap|Job|Zlib|Immediate/.test(name))
}

export interface Pong {
  busy: boolean
  next: number
}

process.on('message', async ({ to }: { to?: number }) => {
  if (to !== undefined) await advance(to)
  await turn()
  const pong: Pong = { busy: isBusy(), next: nextDue() }
  process.send?.(pong)
})
process.channel?.unref()
