/**
 * Other programs as the rigs use them: run to the end, or kept in the background and stopped by pid.
 */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { environment } from '../../src/env.ts'
import { messageOf } from '../../src/errors.ts'
import { eventually } from '../eventually.ts'

export interface Ran {
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

export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
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
}

export function startDaemon(command: string, args: readonly string[], { log, cwd, env = {} }: DaemonOptions): Daemon {
  const output = openSync(log, 'a')
  const child = spawn(command, args, { cwd, env: { ...environment(), ...env }, stdio: ['ignore', output, output] })
  closeSync(output)
  const alive = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null
  child.once('error', () => {}) // seen by alive()
  child.unref()
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
      child.kill(signal)
      try {
        await gone(10_000)
      } catch {
        child.kill('SIGKILL')
        await gone(5_000)
      }
    },
  }
}

/** Waits until a daemon answers; says what it wrote when it dies or stays silent. */
export async function answers<T>(name: string, daemon: Daemon, ask: () => Promise<T>, within = 60_000): Promise<T> {
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
