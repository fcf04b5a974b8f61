/**
 * A world: network, mount and pid namespaces of their own, a directory and a place in the cgroup tree.
 *
 * All that a test starts on real parts lives in one. When the command in it ends, or whoever started it is killed, the kernel
 * ends every process, mount and network namespace of it; the directory and the cgroups are removed here, or by the next sweep.
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { environment } from '../../src/runtime/env.ts'
import { removeCgroup } from './cgroup.ts'
import { type BoundedOptions, bounded, type Ended, run } from './process.ts'

const prefix = 'multinic-world'
const init = join(import.meta.dirname, 'world.sh')
/** Each is killed with the one that started it: we, unshare, the first process of the world. */
const namespaces = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
let count = 0

export interface WorldOptions extends BoundedOptions {
  env?: Record<string, string>
}

/** Why there can be no world on this machine, or undefined. */
export async function worldRefused(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'this needs root: network, mount and pid namespaces'
  const tried = await run('unshare', ['--net', '--mount', '--pid', '--fork', 'true'], { check: false })
  return tried.code === 0 ? undefined : `this system does not allow namespaces: ${tried.stderr.trim()}`
}

/** Runs a command in a world of its own; after its time the whole world ends. */
export async function inWorld(command: readonly string[], { env = {}, ...bounds }: WorldOptions): Promise<Ended> {
  const number = ++count
  const name = `${prefix}-${process.pid}-${await startTime(process.pid)}-${number}`
  const dir = join(tmpdir(), name)
  await mkdir(dir, { mode: 0o700 })
  try {
    const start = ['setpriv', '--pdeathsig', 'KILL', 'unshare', ...namespaces, init, ...command]
    return await bounded(start, { ...bounds, env: { ...env, MULTINIC_WORLD: name, TMPDIR: dir } })
  } finally {
    await remove(name)
  }
}

/** The world that this process is in. */
export function thisWorld(): string {
  const name = environment()['MULTINIC_WORLD']
  if (!name)
    throw new Error('this test starts real parts and must run in a world of its own: make e2e ONLY=<part of its path>')
  return name
}

/** Removes what is left of worlds whose owner was killed before it could. */
export async function sweepWorlds(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const [, pid, started] = new RegExp(`^${prefix}-(\\d+)-(\\d+)-\\d+$`).exec(name) ?? []
    if (pid && (await startTime(Number(pid))) !== started) await remove(name)
  }
}

async function remove(name: string): Promise<void> {
  await removeCgroup(name)
  await rm(join(tmpdir(), name), { recursive: true, force: true, maxRetries: 5 })
}

/** In clock ticks after boot: with it a pid names one process for ever. Undefined when there is no such process. */
async function startTime(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The second field is the program's name in parentheses and may contain blanks.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
}
