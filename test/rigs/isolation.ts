/**
 * Isolation for tests: own network, mount and PID namespaces, a directory and a cgroup.
 *
 * Tests with real servers run in it. When the command ends, or its starter is killed, the kernel ends all processes, mounts and
 * network namespaces. This module, or its next run, removes the directory and the cgroups.
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { environment } from '../../src/runtime/env.ts'
import { removeCgroup } from './cgroup.ts'
import { type ExitStatus, type RunWithinOptions, run, runWithin } from './process.ts'

const prefix = 'multinic-isolated'
const init = join(import.meta.dirname, 'isolation.sh')
/** Each process is killed with its parent: this one, unshare, and PID 1 inside. */
const namespaces = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
let count = 0

export interface IsolationOptions extends RunWithinOptions {
  env?: Record<string, string>
}

/** Why this machine cannot isolate tests, or undefined. */
export async function isolationUnavailable(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'root is required for network, mount and PID namespaces'
  const tried = await run('unshare', ['--net', '--mount', '--pid', '--fork', 'true'], { check: false })
  return tried.code === 0 ? undefined : `this system does not allow namespaces: ${tried.stderr.trim()}`
}

/** Runs a command in an isolation of its own. The time limit ends everything in it. */
export async function runIsolated(
  command: readonly string[],
  { env = {}, ...bounds }: IsolationOptions,
): Promise<ExitStatus> {
  const number = ++count
  const name = `${prefix}-${process.pid}-${await startTime(process.pid)}-${number}`
  const dir = join(tmpdir(), name)
  await mkdir(dir, { mode: 0o700 })
  try {
    const start = ['setpriv', '--pdeathsig', 'KILL', 'unshare', ...namespaces, init, ...command]
    return await runWithin(start, { ...bounds, env: { ...env, MULTINIC_ISOLATION: name, TMPDIR: dir } })
  } finally {
    await remove(name)
  }
}

/** The isolation that this process runs in. */
export function currentIsolation(): string {
  const name = environment()['MULTINIC_ISOLATION']
  if (!name) throw new Error('this test starts real servers and must run isolated: make e2e ONLY=<word of its path>')
  return name
}

/** Removes directories and cgroups of isolations whose starter was killed. */
export async function removeStaleIsolations(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const [, pid, started] = new RegExp(`^${prefix}-(\\d+)-(\\d+)-\\d+$`).exec(name) ?? []
    if (pid && (await startTime(Number(pid))) !== started) await remove(name)
  }
}

async function remove(name: string): Promise<void> {
  await removeCgroup(name)
  await rm(join(tmpdir(), name), { recursive: true, force: true, maxRetries: 5 })
}

/** Clock ticks since boot: together with the PID it identifies a process. Undefined if there is no such process. */
async function startTime(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The second field is the program's name in parentheses and may contain blanks.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
}
