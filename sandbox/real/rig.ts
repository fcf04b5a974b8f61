/**
 * Real parts beside the sandbox: a program of the checkout starts them, and this process speaks to it over a channel.
 *
 * It is started, never imported: the program that is shipped must not carry what only tests and sandboxes need. Why:
 * docs/decisions/0023-real-software-in-sandbox.md
 */
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { environment } from '../../src/runtime/env.ts'
import { checkout } from '../checkout.ts'
import { partMark, type StateDir } from '../lifecycle/state-dir.ts'

export interface Rig<T> {
  /** What it said when all was up. */
  readonly told: T
  call(method: string, ...args: unknown[]): Promise<unknown>
  stop(): Promise<void>
}

type Said = { up: unknown } | { failed: string } | { id: number; result?: unknown; error?: string }

const patienceMs = 10_000

export async function startRig<T>(what: 'kubernetes' | 'openstack', state: StateDir): Promise<Rig<T>> {
  const program = join(checkout, 'test/rigs/serve.ts')
  if (!existsSync(program)) throw new Error(`real ${what} is started from a checkout of the project, and this is none`)
  const dir = state.path(`real-${what}`)
  await mkdir(dir, { recursive: true })
  const logFile = state.path(`real-${what}.log`)
  const output = openSync(logFile, 'a')
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, what, dir], {
    stdio: ['ignore', output, output, 'ipc'],
    env: { ...environment(), [partMark]: state.dir },
    detached: true,
  })
  closeSync(output)
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const waiting = new Map<number, (said: { result?: unknown; error?: string }) => void>()
  let asked = 0

  const told = await new Promise<T>((resolve, reject) => {
    child.on('message', (said: Said) => {
      if ('up' in said) resolve(said.up as T)
      else if ('failed' in said) reject(new Error(`real ${what} does not start: ${said.failed}`))
      else waiting.get(said.id)?.(said)
    })
    child.once('error', reject)
    ended.then(async () => {
      const last = (await readFile(logFile, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-5).join('\n')
      reject(new Error(`real ${what} has ended; ${logFile} ends with:\n${last}`))
      for (const answer of waiting.values()) answer({ error: `real ${what} has ended` })
    })
  })

  return {
    told,
    call: (method, ...args) =>
      new Promise((resolve, reject) => {
        const id = ++asked
        waiting.set(id, ({ result, error }) => {
          waiting.delete(id)
          if (error === undefined) resolve(result)
          else reject(new Error(error))
        })
        child.send({ id, method, args }, error => error && reject(error))
      }),
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), patienceMs)
      await ended
      clearTimeout(late)
    },
  }
}
