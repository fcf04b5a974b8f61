/**
 * Real services for the sandbox: a program of the checkout (test/rigs/serve.ts) starts them, and this process calls it over IPC.
 *
 * The program is started, never imported: the bundle of the sandbox must not contain the rigs. Why:
 * docs/decisions/0023-real-software-in-sandbox.md
 */
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { environment } from '../../src/runtime/env.ts'
import { checkout } from '../checkout.ts'
import { processMarker, type StateDir } from '../lifecycle/state-dir.ts'

export interface Rig<T> {
  /** URLs and credentials of the running services. */
  readonly info: T
  call(method: string, ...args: unknown[]): Promise<unknown>
  stop(): Promise<void>
}

type RigMessage = { up: unknown } | { failed: string } | { id: number; result?: unknown; error?: string }

const stopTimeoutMs = 10_000

/** What each rig is called in messages. */
const titles = { kubernetes: 'real Kubernetes', openstack: 'real OpenStack', vm: 'virtual machines' }

/** With `namespace`, the rig runs in this network namespace. */
export async function startRig<T>(name: keyof typeof titles, state: StateDir, namespace?: string): Promise<Rig<T>> {
  const title = titles[name]
  const program = join(checkout, 'test/rigs/serve.ts')
  if (!existsSync(program)) throw new Error(`${title}: require a checkout of the project: ${program} not found`)
  const dir = state.path(`real-${name}`)
  await mkdir(dir, { recursive: true })
  const logFile = state.path(`real-${name}.log`)
  const output = openSync(logFile, 'a')
  const enter = namespace === undefined ? [] : ['nsenter', `--net=/run/netns/${namespace}`]
  const command = [...enter, process.execPath, '--disable-warning=ExperimentalWarning', program, name, dir]
  const [file = '', ...args] = command
  const child = spawn(file, args, {
    stdio: ['ignore', output, output, 'ipc'],
    env: { ...environment(), [processMarker]: state.dir },
    detached: true,
  })
  closeSync(output)
  const exited = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const pending = new Map<number, (reply: { result?: unknown; error?: string }) => void>()
  let calls = 0

  const info = await new Promise<T>((resolve, reject) => {
    child.on('message', (message: RigMessage) => {
      if ('up' in message) resolve(message.up as T)
      else if ('failed' in message) reject(new Error(`cannot start ${title}: ${message.failed}`))
      else pending.get(message.id)?.(message)
    })
    child.once('error', reject)
    exited.then(async () => {
      const lastLines = (await readFile(logFile, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-5).join('\n')
      reject(new Error(`${title} exited; ${logFile} ends with:\n${lastLines}`))
      for (const settle of pending.values()) settle({ error: `${title} exited` })
    })
  })

  return {
    info,
    call: (method, ...args) =>
      new Promise((resolve, reject) => {
        const id = ++calls
        pending.set(id, ({ result, error }) => {
          pending.delete(id)
          if (error === undefined) resolve(result)
          else reject(new Error(error))
        })
        child.send({ id, method, args }, error => error && reject(error))
      }),
    async stop() {
      child.kill('SIGTERM')
      const timeout = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
      await exited
      clearTimeout(timeout)
    },
  }
}
