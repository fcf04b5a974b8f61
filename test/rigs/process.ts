/**
 * Runs other programs for the rigs: to their end, or in the background until they are stopped by PID.
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { environment } from '../../src/runtime/env.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { eventually } from '../support/eventually.ts'

export interface RunResult {
  code: number
  stdout: string
  stderr: string
}

export interface RunOptions {
  env?: Record<string, string>
  input?: string
  /** False: return a failure instead of throwing. */
  check?: boolean
}

export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const { env = {}, input, check = true } = options
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'pipe', env: { ...environment(), ...env } })
    const out: Buffer[] = []
    const err: Buffer[] = []
    child.stdout.on('data', chunk => out.push(chunk))
    child.stderr.on('data', chunk => err.push(chunk))
    child.stdin.on('error', () => {}) // the program may exit before it reads all input
    child.stdin.end(input)
    child.once('error', reject)
    child.once('close', code => {
      const result = { code: code ?? 1, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() }
      if (check && result.code !== 0)
        reject(
          new Error(`${command} ${args.join(' ')}: exit ${result.code}: ${(result.stderr || result.stdout).trim()}`),
        )
      else resolve(result)
    })
  })
}

export interface RunWithinOptions {
  /** Time limit in milliseconds; then the program is killed. */
  within: number
  env?: Record<string, string>
  /** Receives the output. Default: the output of this process. */
  output?: (chunk: Buffer) => void
}

export interface ExitStatus {
  code: number
  timedOut: boolean
}

/** Runs a command to its end or to the time limit. */
export function runWithin([command = '', ...args]: readonly string[], options: RunWithinOptions): Promise<ExitStatus> {
  const { within, env = {}, output } = options
  return new Promise((resolve, reject) => {
    const out = output ? 'pipe' : 'inherit'
    const child = spawn(command, args, { stdio: ['ignore', out, out], env: { ...environment(), ...env } })
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => output?.(chunk))
    let timedOut = false
    const timer = setTimeout(() => {
      timedOut = true
      child.kill('SIGKILL')
    }, within)
    child.once('error', reject)
    child.once('exit', code => {
      clearTimeout(timer)
      const done = () => resolve({ code: code ?? 1, timedOut })
      // Wait for the rest of the output, but not forever: child processes may keep the pipe open.
      const late = setTimeout(done, 1_000)
      child.once('close', () => {
        clearTimeout(late)
        done()
      })
    })
  })
}

export interface Daemon {
  pid: number
  alive(): boolean
  /** The last lines of its output. */
  tail(): Promise<string>
  stop(signal?: NodeJS.Signals): Promise<void>
}

export interface DaemonOptions {
  /** File to which its output is appended. */
  log: string
  cwd?: string
  env?: Record<string, string>
  /** Send signals to the process group, because the program starts other processes. */
  group?: boolean
}

export function startDaemon(command: string, args: readonly string[], options: DaemonOptions): Daemon {
  const { log, cwd, env = {}, group = false } = options
  const output = openSync(log, 'a')
  const child = spawn(command, args, {
    cwd,
    env: { ...environment(), ...env },
    stdio: ['ignore', output, output],
    detached: group,
  })
  closeSync(output)
  const alive = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null
  child.once('error', () => {}) // seen by alive()
  child.unref()
  const sendSignal = (signal: NodeJS.Signals) => {
    if (group && child.pid !== undefined) process.kill(-child.pid, signal)
    else child.kill(signal)
  }
  const waitForExit = async (within: number) =>
    eventually(
      () => {
        if (alive()) throw new Error(`${command} (PID ${child.pid}) did not exit`)
      },
      { within },
    )
  return {
    pid: child.pid ?? 0,
    alive,
    tail: async () => (await readFile(log, 'utf8')).split('\n').slice(-20).join('\n'),
    stop: async (signal = 'SIGTERM') => {
      if (!alive()) return
      sendSignal(signal)
      try {
        await waitForExit(10_000)
      } catch {
        sendSignal('SIGKILL')
        await waitForExit(5_000)
      }
    },
  }
}

/** Waits until a daemon answers. The error contains the end of its log. */
export async function waitForAnswer<T>(
  name: string,
  daemon: Daemon,
  request: () => Promise<T>,
  within = 60_000,
): Promise<T> {
  const until = performance.now() + within
  let last = 'no request was sent'
  while (daemon.alive() && performance.now() < until) {
    try {
      return await request()
    } catch (error) {
      last = messageOf(error)
    }
    await sleep(50)
  }
  throw new Error(`${name} ${daemon.alive() ? 'does not answer' : 'exited'}: ${last}\n${await daemon.tail()}`)
}
