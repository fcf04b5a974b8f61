/**
 * Other programs as the rigs use them: run to the end, or kept in the background and stopped by pid.
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
  /** False: a failure is an answer, not an error. */
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
    child.stdin.on('error', () => {}) // it may end before it has read all
    child.stdin.end(input)
    child.once('error', reject)
    child.once('close', code => {
      const ran = { code: code ?? 1, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() }
      if (check && ran.code !== 0)
        reject(new Error(`${command} ${args.join(' ')}: exit ${ran.code}: ${(ran.stderr || ran.stdout).trim()}`))
      else resolve(ran)
    })
  })
}

export interface RunWithinOptions {
  /** It is killed after this time. */
  within: number
  env?: Record<string, string>
  /** What it writes; ours when absent. */
  output?: (chunk: Buffer) => void
}

export interface ExitStatus {
  code: number
  timedOut: boolean
}

/** Runs a command to its end, or until its time is over. */
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
      // What it has written is still on its way; what it has started may keep the pipe for ever.
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
  /** The last lines that it wrote. */
  tail(): Promise<string>
  stop(signal?: NodeJS.Signals): Promise<void>
}

export interface DaemonOptions {
  /** Where its output goes; appended to. */
  log: string
  cwd?: string
  env?: Record<string, string>
  /** It starts processes of its own, and a signal is for all of them. */
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
  const signalled = (signal: NodeJS.Signals) => {
    if (group && child.pid !== undefined) process.kill(-child.pid, signal)
    else child.kill(signal)
  }
  const gone = async (within: number) =>
    eventually(
      () => {
        if (alive()) throw new Error(`${command} (pid ${child.pid}) does not end`)
      },
      { within },
    )
  return {
    pid: child.pid ?? 0,
    alive,
    tail: async () => (await readFile(log, 'utf8')).split('\n').slice(-20).join('\n'),
    stop: async (signal = 'SIGTERM') => {
      if (!alive()) return
      signalled(signal)
      try {
        await gone(10_000)
      } catch {
        signalled('SIGKILL')
        await gone(5_000)
      }
    },
  }
}

/** Waits until a daemon answers; says what it wrote when it dies or stays silent. */
export async function waitForAnswer<T>(
  name: string,
  daemon: Daemon,
  ask: () => Promise<T>,
  within = 60_000,
): Promise<T> {
  const until = Date.now() + within
  let last = 'it was never asked'
  while (daemon.alive() && Date.now() < until) {
    try {
      return await ask()
    } catch (error) {
      last = messageOf(error)
    }
    await sleep(50)
  }
  throw new Error(`${name} ${daemon.alive() ? 'does not answer' : 'has ended'}: ${last}\n${await daemon.tail()}`)
}
