/**
 * A memory cgroup with the limit of a container: the kernel ends a process that needs more. Version 1 or 2.
 */
import { existsSync } from 'node:fs'
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../support/eventually.ts'
import { createCgroup } from './cgroup.ts'

export interface MemoryLimit extends AsyncDisposable {
  /** Starts a command inside the group. */
  command(command: readonly string[]): string[]
  /** How often the kernel ended a process of the group. */
  kills(): Promise<number>
}

const root = '/sys/fs/cgroup'

/** With the name of an isolation, the group is in that of the isolation and is removed with it, also if this process is killed. */
export async function limitMemory(name: string, mebibytes: number, isolation?: string): Promise<MemoryLimit> {
  const isVersion2 = existsSync(join(root, 'cgroup.controllers'))
  const path = isolation ? join(isolation, name) : `multinic-${name}-${process.pid}`
  const dir = join(root, isVersion2 ? '' : 'memory', path)
  if (isolation) await createCgroup(path)
  else await mkdir(dir)
  const limit = String(mebibytes * 1024 * 1024)
  await writeFile(join(dir, isVersion2 ? 'memory.max' : 'memory.limit_in_bytes'), limit)
  // Swap would hide what a container without swap dies of.
  const swap = join(dir, isVersion2 ? 'memory.swap.max' : 'memory.memsw.limit_in_bytes')
  if (existsSync(swap)) await writeFile(swap, isVersion2 ? '0' : limit)
  const events = join(dir, isVersion2 ? 'memory.events' : 'memory.oom_control')
  return {
    command: command => ['/bin/sh', '-c', 'echo $$ > "$0/cgroup.procs" && exec "$@"', dir, ...command],
    kills: async () => Number(/^oom_kill (\d+)$/m.exec(await readFile(events, 'utf8'))?.[1] ?? 0),
    // The group stays busy for a moment after its last process ended.
    [Symbol.asyncDispose]: () => eventually(() => rmdir(dir)),
  }
}
