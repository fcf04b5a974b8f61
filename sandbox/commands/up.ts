/**
 * `sandbox up`: runs the sandbox as a background process. Prints its progress and finishes when every attached port is a
 * configured NIC.
 */
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { environment } from '../../src/runtime/env.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { createLog, type Level } from '../../src/telemetry/log.ts'
import { connectControl } from '../control/client.ts'
import { nextSteps, type SandboxStatus, statusTree } from '../control/status.ts'
import { ensureBundles } from '../lifecycle/bundles.ts'
import { assertVirtualMachines, detectNamespaceSupport, type NamespaceSupport } from '../lifecycle/capabilities.ts'
import { programCommand } from '../lifecycle/components.ts'
import { inNewUserNamespace } from '../lifecycle/rootless.ts'
import {
  findOwner,
  makeStateDir,
  processMarker,
  removeLeftovers,
  type StateDir,
  stopAndRemove,
  writeOwner,
} from '../lifecycle/state-dir.ts'
import type { AttachTarget, Sandbox, SandboxOptions } from '../sandbox.ts'

export interface UpOptions {
  state: StateDir
  nodes: number
  nicDelayMs: number
  rabbitmq?: string | undefined
  real?: SandboxOptions['real']
  simulated?: boolean | undefined
  vm?: boolean | undefined
  /** Path of the program, for the printed examples. */
  program: string
  print: (line: string) => void
}

/** Passes `--rabbitmq` to the background process. */
export const rabbitmqVariable = 'MULTINIC_SANDBOX_RABBITMQ'

/** An emulated machine configures a NIC in a minute or more. */
const readyWithinMs = (sandbox: Sandbox) =>
  (sandbox.host === 'virtual machines' ? 900_000 : 90_000) + sandbox.nodes.size * 500

/** From the background process to the command. */
type UpMessage = { progress: string } | { up: SandboxStatus } | { failed: string }

/** Resolves when the sandbox is up; its process keeps running. */
export async function up(options: UpOptions): Promise<void> {
  const { state, print, nodes, nicDelayMs, rabbitmq } = options
  if (await showRunning(options)) return
  const namespaces = await chooseHost(options)
  await prepare(options)
  const logFile = state.path('sandbox.log')
  const output = openSync(logFile, 'a')
  const flags = ['--dir', state.dir, '--nodes', `${nodes}`, '--nic-delay', `${nicDelayMs}ms`]
  for (const [name, real] of Object.entries(options.real ?? {})) if (real) flags.push(`--${name}`, 'real')
  if (namespaces === 'none') flags.push('--simulated')
  if (options.vm) flags.push('--vm')
  const { program } = await ensureBundles(print)
  const { command, env } = programCommand(program, 'sandbox', 'up', '--background', ...flags)
  const [file = '', ...args] = namespaces === 'user' ? inNewUserNamespace(command) : command
  const child = spawn(file, args, {
    stdio: ['ignore', output, output, 'ipc'],
    detached: true,
    // The URL contains a password: as a flag it would be visible in the process list.
    env: { ...environment(), ...env, [processMarker]: state.dir, ...(rabbitmq && { [rabbitmqVariable]: rabbitmq }) },
  })
  closeSync(output)
  const ended = new Promise<string>(resolve => child.once('exit', (code, signal) => resolve(signal ?? `exit ${code}`)))
  const interrupt = () => child.kill('SIGTERM')
  process.once('SIGINT', interrupt)
  try {
    const status = await new Promise<SandboxStatus>((resolve, reject) => {
      child.on('message', (message: UpMessage) => {
        if ('progress' in message) print(message.progress)
        else if ('up' in message) resolve(message.up)
        else reject(new Error(message.failed))
      })
      ended.then(how => reject(new Error(`the sandbox process ended (${how}); see ${logFile}`)))
    })
    child.disconnect()
    child.unref()
    showUp(status, options)
    if (!status.ready)
      throw new Error(`not all NICs were configured in time; the sandbox keeps running, see ${logFile}`)
  } catch (error) {
    if (child.connected) {
      await stopAndRemove(state)
      await ended
    }
    throw error
  } finally {
    process.removeListener('SIGINT', interrupt)
  }
}

function showUp(status: SandboxStatus, { print, program }: UpOptions): void {
  for (const text of ['', statusTree(status), '', nextSteps(status, program)]) print(text)
}

/** The background process: reports to the command that started it. Resolves after a signal has stopped the sandbox. */
export async function runSandbox(options: UpOptions): Promise<void> {
  const { state } = options
  const report = (message: UpMessage) => void process.send?.(message)
  const progress = (line: string) => report({ progress: line })
  await writeOwner(state)
  const level = (environment()['LOG_LEVEL'] as Level | undefined) ?? 'info'
  const log = createLog({ component: 'sandbox' }, { level })
  const stop = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop.abort())
  process.on('disconnect', () => {})
  let close = async () => {}
  try {
    // Load these only in the process that runs the sandbox: the command itself must start fast.
    const [{ startSandbox }, { serveControl }] = await Promise.all([
      import('../sandbox.ts'),
      import('../control/server.ts'),
    ])
    let attaching: Promise<void> | undefined
    const onNodes = (target: AttachTarget) => {
      attaching = attachFirstPorts(target, progress)
      // Awaited below; until then a rejection must not end the process.
      attaching.catch(() => {})
    }
    const sandbox = await startSandbox({ ...options, log, progress, onNodes })
    close = sandbox.stop
    const closeControl = await serveControl(sandbox, log)
    close = async () => {
      await closeControl()
      await sandbox.stop()
    }
    await attaching
    const status = await waitUntilReady(sandbox, stop.signal)
    if (status) report({ up: status })
    await untilAborted(stop.signal)
  } catch (error) {
    report({ failed: messageOf(error) })
    throw error
  } finally {
    await close().catch(error => log.error('cannot stop sandbox cleanly', { error }))
    await removeLeftovers(state)
  }
}

async function showRunning(options: UpOptions): Promise<boolean> {
  const { state, print } = options
  const pid = await findOwner(state)
  if (!pid) return false
  const control = connectControl(state)
  try {
    print(`a sandbox is already running (process ${pid}, ${state.dir})`)
    showUp(await control.status(), options)
  } finally {
    await control.close()
  }
  return true
}

/** Prints the reason when the nodes are not namespaces of root. */
async function chooseHost({ simulated, vm, print }: UpOptions): Promise<NamespaceSupport['owner']> {
  if (vm) await assertVirtualMachines()
  if (simulated) {
    print('nodes are simulated in memory (--simulated)')
    return 'none'
  }
  const support = await detectNamespaceSupport()
  if (support.owner === 'none') print(`nodes are simulated in memory: ${support.reason}`)
  if (support.owner === 'user') print('running without root: nodes are network namespaces in your own user namespace')
  return support.owner
}

async function prepare({ state, print }: UpOptions): Promise<void> {
  if (existsSync(state.dir)) {
    print('cleaning up after a sandbox that crashed')
    await stopAndRemove(state)
  }
  await makeStateDir(state)
}

/** Two ports on the first node and one on each of the others, spread over both subnets. */
async function attachFirstPorts({ nodes, attach }: AttachTarget, print: (line: string) => void): Promise<void> {
  const [first, ...others] = nodes
  const inputs = [
    ...(first ? ['storage', 'backup'].map(subnet => ({ vm: first, subnet })) : []),
    ...others.map((vm, index) => ({ vm, subnet: index % 2 === 0 ? 'storage' : 'backup' })),
  ]
  await Promise.all(inputs.map(attach))
  print(`attached ${inputs.length} ports; waiting for their NICs`)
}

/** The status once all NICs are configured, or at the timeout. */
async function waitUntilReady(sandbox: Sandbox, signal: AbortSignal): Promise<SandboxStatus | undefined> {
  const until = performance.now() + readyWithinMs(sandbox)
  while (!signal.aborted) {
    const status = await sandbox.status()
    if (status.ready || performance.now() > until) return status
    await sleep(40, undefined, { signal }).catch(() => {})
  }
  return undefined
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  // The open servers keep the process alive; a signal listener alone would not.
  await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
}
