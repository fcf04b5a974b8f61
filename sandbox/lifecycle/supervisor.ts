/**
 * Keeps our parts running as processes of the real program: one that dies is started again, as Kubernetes would.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../src/telemetry/log.ts'
import { systemPath } from '../exec.ts'

export interface Part {
  name: string
  command: string[]
  env: Record<string, string>
}

export interface Supervisor {
  pidOf(name: string): number | undefined
  /** How often a part was started again. */
  restartsOf(name: string): number
  /** Kills a part and does not start it again until it is let go. */
  hold(name: string): void
  letGo(name: string): void
  stop(): Promise<void>
}

export interface SupervisorOptions {
  /** Where each part's output goes: DIR/NAME.log. */
  logs: string
  log: Log
  /** Told of every process at once. */
  onStart?: (pid: number) => void
}

const firstPauseMs = 100
const longestPauseMs = 5_000
/** After so long a part counts as healthy again. */
const healthyMs = 10_000

export function supervise(parts: Part[], { logs, log, onStart }: SupervisorOptions): Supervisor {
  const life = new AbortController()
  const running = new Map<string, ChildProcess>()
  const restarts = new Map<string, number>()
  const held = new Map<string, AbortController>()

  async function keep(part: Part): Promise<void> {
    let pause = firstPauseMs
    while (!life.signal.aborted) {
      const started = performance.now()
      const child = start(part, join(logs, `${part.name}.log`))
      running.set(part.name, child)
      if (child.pid !== undefined) onStart?.(child.pid)
      const how = await endOf(child)
      running.delete(part.name)
      if (life.signal.aborted) return
      pause = performance.now() - started > healthyMs ? firstPauseMs : pause
      log.warn('a part ended and is started again', { part: part.name, how, pauseMs: pause })
      restarts.set(part.name, (restarts.get(part.name) ?? 0) + 1)
      await sleep(pause, undefined, { signal: life.signal }).catch(() => {})
      await freed(part.name)
      pause = Math.min(pause * 2, longestPauseMs)
    }
  }

  async function freed(name: string): Promise<void> {
    const holding = held.get(name)
    if (!holding || life.signal.aborted) return
    const either = AbortSignal.any([holding.signal, life.signal])
    await new Promise<void>(resolve => either.addEventListener('abort', () => resolve(), { once: true }))
  }

  const kept = parts.map(part => keep(part).catch(error => log.error('a part cannot be kept', { error })))
  return {
    pidOf: name => running.get(name)?.pid,
    restartsOf: name => restarts.get(name) ?? 0,
    hold(name) {
      if (!held.has(name)) held.set(name, new AbortController())
      running.get(name)?.kill('SIGKILL')
    },
    letGo(name) {
      held.get(name)?.abort()
      held.delete(name)
    },
    async stop() {
      life.abort()
      const left = [...running.values()]
      // One that was made to stand still hears nothing else before.
      for (const child of left) child.kill('SIGCONT')
      for (const child of left) child.kill('SIGTERM')
      const patience = setTimeout(() => {
        for (const child of left) child.kill('SIGKILL')
      }, 3_000)
      await Promise.all(kept)
      clearTimeout(patience)
    },
  }
}

function start({ command: [program = '', ...args], env }: Part, logFile: string): ChildProcess {
  const output = openSync(logFile, 'a')
  try {
    // Own process group: a Ctrl-C in the terminal is for the sandbox, which then ends its parts in order.
    return spawn(program, args, {
      stdio: ['ignore', output, output],
      env: { PATH: systemPath, ...env },
      detached: true,
    })
  } finally {
    closeSync(output)
  }
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise(resolve => {
    child.once('error', error => resolve(error.message))
    child.once('exit', (code, signal) => resolve(signal ?? `exit ${code}`))
  })
}
