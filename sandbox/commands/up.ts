/**
 * `sandbox up`: in the foreground, or as a process of its own that outlives the command. Either way its progress is shown, and
 * it is up when every attached port is a configured NIC.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { environment } from '../../src/runtime/env.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { createLog, type Level, type Log } from '../../src/telemetry/log.ts'
import { connectControl } from '../control/client.ts'
import { nextSteps, type SandboxStatus, treeOf } from '../control/status.ts'
import { builtParts } from '../lifecycle/bundles.ts'
import { type Namespaces, possibleNamespaces } from '../lifecycle/capabilities.ts'
import { ownProgram } from '../lifecycle/components.ts'
import { asRootOfItsOwn, isUsersOwn } from '../lifecycle/rootless.ts'
import { claim, clean, isKept, makeStateDir, ownerOf, partMark, type StateDir, sweep } from '../lifecycle/state-dir.ts'
import type { Attachable, Sandbox, SandboxOptions } from '../sandbox.ts'

export interface UpOptions {
  state: StateDir
  nodes: number
  nicDelayMs: number
  rabbitmq?: string | undefined
  real?: SandboxOptions['real']
  simulated?: boolean | undefined
  keep?: boolean | undefined
  /** How the program is called, for what to try next. */
  program: string
  say: (line: string) => void
}

/** `--rabbitmq` for the process behind the command. */
export const rabbitmqVariable = 'MULTINIC_SANDBOX_RABBITMQ'

/** However many nodes there are. */
const readyWithinMs = (nodes: number) => 90_000 + nodes * 500

/** What the process behind the command tells it. */
type Told = { progress: string } | { up: SandboxStatus } | { failed: string }

/** Resolves once the sandbox is up; its process goes on. */
export async function upDetached(wanted: UpOptions): Promise<void> {
  const { state, say, nodes, nicDelayMs, rabbitmq } = wanted
  if (await showRunning(wanted)) return
  const of = await whereItRuns(wanted)
  await prepare(wanted)
  const logFile = state.path('sandbox.log')
  const output = openSync(logFile, 'a')
  const options = ['--dir', state.dir, '--nodes', `${nodes}`, '--nic-delay', `${nicDelayMs}ms`]
  for (const [part, real] of Object.entries(wanted.real ?? {})) if (real) options.push(`--${part}`, 'real')
  if (of === 'none') options.push('--simulated')
  if (wanted.keep) options.push('--keep')
  const { program } = await builtParts(say)
  const { command, env } = ownProgram(program, 'sandbox', 'up', '--foreground', ...options)
  const [file = '', ...args] = of === 'user' ? asRootOfItsOwn(command) : command
  const child = spawn(file, args, {
    stdio: ['ignore', output, output, 'ipc'],
    detached: true,
    // An address with a password is not for the list of processes.
    env: { ...environment(), ...env, [partMark]: state.dir, ...(rabbitmq && { [rabbitmqVariable]: rabbitmq }) },
  })
  closeSync(output)
  const ended = new Promise<string>(resolve => child.once('exit', (code, signal) => resolve(signal ?? `exit ${code}`)))
  const interrupt = () => child.kill('SIGTERM')
  process.once('SIGINT', interrupt)
  try {
    const status = await new Promise<SandboxStatus>((resolve, reject) => {
      child.on('message', (told: Told) => {
        if ('progress' in told) say(told.progress)
        else if ('up' in told) resolve(told.up)
        else reject(new Error(told.failed))
      })
      ended.then(how => reject(new Error(`the sandbox ended (${how})`)))
    })
    child.disconnect()
    child.unref()
    showUp(status, wanted)
    if (!status.ready) throw new Error(`not everything was configured in time; it keeps running, ${logFile} tells more`)
  } catch (error) {
    if (child.connected) {
      await clean(state)
      await ended
    }
    throw error
  } finally {
    process.removeListener('SIGINT', interrupt)
  }
}

function showUp(status: SandboxStatus, { say, program }: UpOptions): void {
  for (const text of ['', treeOf(status), '', nextSteps(status, program)]) say(text)
}

/** Resolves when a signal has ended it and all is gone. */
export async function upForeground(options: UpOptions): Promise<void> {
  const { state } = options
  let simulated = options.simulated
  const tell = process.send ? (told: Told) => void process.send?.(told) : undefined
  if (!tell) {
    if (await showRunning(options)) return
    const of = await whereItRuns(options)
    if (of === 'user' && !isUsersOwn()) return sameAsRootOfItsOwn(state)
    simulated = of === 'none'
    await prepare(options)
  }
  await claim(state)
  const say = tell ? (line: string) => tell({ progress: line }) : options.say
  const log = createLog(
    { part: 'sandbox' },
    { level: (environment()['LOG_LEVEL'] as Level | undefined) ?? (tell ? 'info' : 'error') },
  )
  const stop = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop.abort())
  process.on('disconnect', () => {})
  let close = async () => {}
  try {
    // Loaded only here: the command that stays in front of it needs nothing of the world.
    const [{ startSandbox }, { serveControl }] = await Promise.all([
      import('../sandbox.ts'),
      import('../control/server.ts'),
    ])
    const progress = (line: string) => say(`starting ${line}`)
    let attaching: Promise<void> | undefined
    const onNodes = (it: Attachable) => {
      attaching = attachSome(it, say)
      // Told below; until then it must not end the process.
      attaching.catch(() => {})
    }
    const sandbox = await startSandbox({ ...options, simulated, log, progress, onNodes })
    close = sandbox.stop
    const closeControl = await serveControl(sandbox, log)
    close = async () => {
      await closeControl()
      await sandbox.stop()
    }
    await attaching
    const status = await whenReady(sandbox, stop.signal)
    if (tell && status) tell({ up: status })
    else if (status) showUp(status, options)
    await untilAborted(stop.signal)
  } catch (error) {
    tell?.({ failed: messageOf(error) })
    throw error
  } finally {
    await finish(close, state, log)
  }
}

/** This very command once more, in the same terminal. */
async function sameAsRootOfItsOwn(state: StateDir): Promise<void> {
  const [file = '', ...args] = asRootOfItsOwn([process.execPath, ...process.execArgv, ...process.argv.slice(1)])
  // It has the signals of the terminal too, and ends by them.
  process.on('SIGINT', () => {})
  const child = spawn(file, args, { stdio: 'inherit', env: { ...environment(), [partMark]: state.dir } })
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  const [code] = await once(child, 'exit')
  process.exitCode = Number(code ?? 1)
}

async function finish(close: () => Promise<void>, state: StateDir, log: Log): Promise<void> {
  await close().catch(error => log.error('the sandbox did not end well', { error }))
  await sweep(state)
}

async function showRunning(options: UpOptions): Promise<boolean> {
  const { state, say } = options
  const pid = await ownerOf(state)
  if (!pid) return false
  const control = connectControl(state)
  try {
    say(`a sandbox runs already (process ${pid}, ${state.dir})`)
    showUp(await control.status(), options)
  } finally {
    await control.close()
  }
  return true
}

/** Said in one line, with the reason, where it is not in namespaces of root. */
async function whereItRuns({ simulated, say }: UpOptions): Promise<Namespaces['of']> {
  if (simulated) {
    say('simulated, as asked: nodes are in memory')
    return 'none'
  }
  const possible = await possibleNamespaces()
  if (possible.of === 'none') say(`simulated, nodes are in memory: ${possible.why}`)
  if (possible.of === 'user') say('without root: nodes are network namespaces in a user namespace of yours')
  return possible.of
}

async function prepare({ state, say, keep, real }: UpOptions): Promise<void> {
  if (keep && (real?.kubernetes || real?.openstack)) throw new Error('--keep keeps simulated parts only, not real ones')
  if (existsSync(state.path('owner.json')) || (existsSync(state.dir) && !isKept(state))) {
    say('cleaning up after a sandbox that did not end well')
    await clean(state)
  }
  if (isKept(state)) {
    if (!keep)
      throw new Error(
        `${state.dir} holds a sandbox that is kept; go on with it: up --keep, or remove it: down --forget`,
      )
    say('going on with the sandbox that was kept')
  }
  await makeStateDir(state)
}

/** A first picture: two ports on the first node, one on each of the others, on both subnets. */
async function attachSome({ nodes, attach }: Attachable, say: (line: string) => void): Promise<void> {
  const [first, ...others] = nodes
  const wanted = [
    ...(first ? ['storage', 'backup'].map(subnet => ({ vm: first, subnet })) : []),
    ...others.map((vm, index) => ({ vm, subnet: index % 2 === 0 ? 'storage' : 'backup' })),
  ]
  await Promise.all(wanted.map(attach))
  say(`attached ${wanted.length} ports; waiting for their NICs`)
}

/** The status when all is configured, or as it is when that takes too long. */
async function whenReady(sandbox: Sandbox, signal: AbortSignal): Promise<SandboxStatus | undefined> {
  const until = performance.now() + readyWithinMs(sandbox.nodes.size)
  while (!signal.aborted) {
    const status = await sandbox.status()
    if (status.ready || performance.now() > until) return status
    await sleep(40, undefined, { signal }).catch(() => {})
  }
  return undefined
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  // A signal listener alone keeps no process alive; the servers do.
  await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
}
