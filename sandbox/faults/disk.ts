/**
 * A disk that is full, and one that is read-only. Both are mounts over the node's own directories: what is there can be read,
 * nothing is copied or lost, and a container that started before goes on with the directory below.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from '../exec.ts'
import type { StateDir } from '../lifecycle/state-dir.ts'
import type { SandboxNode } from '../nodes/node.ts'

const kept = ['etc', 'var/lib']

/**
 * Every change would go to an upper layer that has room for nothing. Its inodes are counted too: a removal needs one for its
 * mark, so that not even that succeeds.
 */
export async function fillDisk(state: StateDir, node: SandboxNode): Promise<() => Promise<void>> {
  const upper = state.path('full-disk', node.name)
  const undo: string[] = []
  const end = async () => {
    for (const point of undo.splice(0).reverse()) await run('umount', ['--lazy', point])
  }
  try {
    await mkdir(upper, { recursive: true })
    await run('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', upper])
    undo.push(upper)
    for (const name of kept) {
      const lower = join(node.root, name)
      const [changes, work] = [join(upper, name, 'changes'), join(upper, name, 'work')]
      for (const dir of [changes, work]) await mkdir(dir, { recursive: true })
      const layers = `lowerdir=${lower},upperdir=${changes},workdir=${work}`
      await run('mount', ['-t', 'overlay', '-o', layers, 'overlay', lower])
      undo.push(lower)
    }
    const used = (await run('df', ['--output=iused', upper])).trim().split('\n').at(-1)?.trim()
    // Named in full: it would otherwise repeat options that a user namespace may not set again.
    await run('mount', ['-o', `remount,size=4k,nr_inodes=${used}`, 'tmpfs', upper])
  } catch (error) {
    await end()
    throw error
  }
  return end
}

export async function makeReadOnly(node: SandboxNode): Promise<() => Promise<void>> {
  const etc = join(node.root, 'etc')
  await run('mount', ['--bind', etc, etc])
  const end = async () => {
    await run('umount', ['--lazy', etc])
  }
  try {
    await run('mount', ['-o', 'remount,ro,bind', etc])
  } catch (error) {
    await end()
    throw error
  }
  return end
}
