/**
 * Runs the components as processes of the program and restarts one that exits, as Kubernetes would.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../src/telemetry/log.ts'
import { systemPath } from '../exec.ts'

export interface Component {
  name: string
  command: string[]
  env: Record<string, string>
}

export interface Supervisor {
  pidOf(name: string): number | undefined
  restartsOf(name: string): number
  /** Kills a component and does not restart it before `resume`. */
  suspend(name: string): void
  resume(name: string): void
  stop(): Promise<void>
}

export interface SupervisorOptions {
  /** Directory for the output of the components: NAME.log. */
  logs: string
  log: Log
  /** Called for every process right after it started. */
  onStart?: (pid: number) => void
}

const firstPauseMs = 100
const maxPauseMs = 5_000
/** A component that ran this long restarts with the first pause again. */
const healthyMs = 10_000

export function supervise(components: Component[], { logs, log, onStart }: SupervisorOptions): Supervisor {
  const life = new AbortController()
  const running = new Map<string, ChildProcess>()
  const restarts = new Map<string, number>()
  const suspended = new Map<string, AbortController>()

  async function keepRunning({ name, ...component }: Component): Promise<void> {
    let pause = firstPauseMs
    while (!life.signal.aborted) {
      const started = performance.now()
      const child = start(component, join(logs, `${name}.log`))
      running.set(name, child)
      if (child.pid !== undefined) onStart?.(child.pid)
      const exit = await exitOf(child)
      running.delete(name)
      if (life.signal.aborted) return
      pause = performance.now() - started > healthyMs ? firstPauseMs : pause
      log.warn('component exited, restarting', { component: name, exit, pauseMs: pause })
      restarts.set(name, (restarts.get(name) ?? 0) + 1)
      await sleep(pause, undefined, { signal: life.signal }).catch(() => {})
      await resumed(name)
      pause = Math.min(pause * 2, maxPauseMs)
    }
  }

  async function resumed(name: string): Promise<void> {
    const suspension = suspended.get(name)
    if (!suspension || life.signal.aborted) return
    const either = AbortSignal.any([suspension.signal, life.signal])
    await new Promise<void>(resolve => either.addEventListener('abort', () => resolve(), { once: true }))
  }

  const loops = components.map(component =>
    keepRunning(component).catch(error => log.error('cannot run component', { component: component.name, error })),
  )
  return {
    pidOf: name => running.get(name)?.pid,
    restartsOf: name => restarts.get(name) ?? 0,
    suspend(name) {
      if (!suspended.has(name)) suspended.set(name, new AbortController())
      running.get(name)?.kill('SIGKILL')
    },
    resume(name) {
      suspended.get(name)?.abort()
      suspended.delete(name)
    },
    async stop() {
      life.abort()
      const left = [...running.values()]
      // A process stopped by SIGSTOP handles no other signal before SIGCONT.
      for (const child of left) child.kill('SIGCONT')
      for (const child of left) child.kill('SIGTERM')
      const timeout = setTimeout(() => {
        for (const child of left) child.kill('SIGKILL')
      }, 3_000)
      await Promise.all(loops)
      clearTimeout(timeout)
    },
  }
}

function start(
  { command: [program = '', ...args], env }: Pick<Component, 'command' | 'env'>,
  logFile: string,
): ChildProcess {
  const output = openSync(logFile, 'a')
  try {
    // Own process group: Ctrl-C in the terminal reaches only the sandbox, which stops its components in order.
    return spawn(program, args, {
      stdio: ['ignore', output, output],
      env: { PATH: systemPath, ...env },
      detached: true,
    })
  } finally {
    closeSync(output)
  }
}

function exitOf(child: ChildProcess): Promise<string> {
  return new Promise(resolve => {
    child.once('error', error => resolve(error.message))
    child.once('exit', (code, signal) => resolve(signal ?? `exit ${code}`))
  })
}
