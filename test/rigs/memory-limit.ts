/**
 * A memory cgroup with the limit of a container: the kernel ends a process that needs more. Version 1 or 2.
 */
import { existsSync } from 'node:fs'
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../support/eventually.ts'

export interface MemoryLimit extends AsyncDisposable {
  /** Starts a command inside the group. */
  command(command: readonly string[]): string[]
  /** How often the kernel ended a process of the group. */
  kills(): Promise<number>
}

const root = '/sys/fs/cgroup'

export async function limitMemory(name: string, mebibytes: number): Promise<MemoryLimit> {
  const isVersion2 = existsSync(join(root, 'cgroup.controllers'))
  const dir = join(root, isVersion2 ? '' : 'memory', `multinic-${name}-${process.pid}`)
  await mkdir(dir)
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
