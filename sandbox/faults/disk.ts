/**
 * A full disk and a read-only disk. Both are mounts over the directories of the node: its files stay readable, nothing is
 * copied or lost, and a container that already runs keeps the directory below the mount.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../exec.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import type { SandboxNode } from '../nodes/node.ts'

const persistent = ['etc', 'var/lib']

/**
 * An overlay whose upper layer has no free space and no free inodes. Removing a file needs an inode for its whiteout, so
 * removals fail too.
 */
export async function fillDisk(state: StateDir, node: SandboxNode): Promise<() => Promise<void>> {
  const upper = state.path('full-disk', node.name)
  const mounted: string[] = []
  const stop = async () => {
    for (const point of mounted.splice(0).reverse()) await run('umount', ['--lazy', point])
  }
  try {
    await mkdir(upper, { recursive: true })
    await run('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', upper])
    mounted.push(upper)
    for (const name of persistent) {
      const lower = join(node.root, name)
      const [changes, work] = [join(upper, name, 'changes'), join(upper, name, 'work')]
      for (const dir of [changes, work]) await mkdir(dir, { recursive: true })
      const layers = `lowerdir=${lower},upperdir=${changes},workdir=${work}`
      await run('mount', ['-t', 'overlay', '-o', layers, 'overlay', lower])
      mounted.push(lower)
    }
    const used = (await run('df', ['--output=iused', upper])).trim().split('\n').at(-1)?.trim()
    // Name device and directory: otherwise mount repeats options from mountinfo that a user namespace may not set.
    await run('mount', ['-o', `remount,size=4k,nr_inodes=${used}`, 'tmpfs', upper])
  } catch (error) {
    await stop()
    throw error
  }
  return stop
}

/** Read-only before it is mounted over the directory: mount namespaces that follow would not see a later change. */
export async function makeReadOnly(state: StateDir, node: SandboxNode): Promise<() => Promise<void>> {
  const etc = join(node.root, 'etc')
  const prepared = state.path('read-only-etc', node.name)
  await mkdir(prepared, { recursive: true })
  await run('mount', ['--bind', etc, prepared])
  try {
    await run('mount', ['--make-private', prepared])
    await run('mount', ['-o', 'remount,ro,bind', prepared])
    await run('mount', ['--bind', prepared, etc])
  } finally {
    await run('umount', ['--lazy', prepared])
  }
  return async () => {
    await run('umount', ['--lazy', etc])
  }
}
