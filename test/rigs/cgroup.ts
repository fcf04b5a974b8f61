/**
 * The cgroup of an isolation: version 2, or version 1 with one hierarchy per controller.
 */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const root = '/sys/fs/cgroup'

async function hierarchies(): Promise<string[]> {
  if (existsSync(join(root, 'cgroup.controllers'))) return [root]
  const found = await readdir(root, { withFileTypes: true }).catch(() => [])
  return found.filter(entry => entry.isDirectory()).map(entry => join(root, entry.name))
}

/** Creates the group in every hierarchy and returns its directories. */
export async function createCgroup(path: string): Promise<string[]> {
  const created: string[] = []
  for (const hierarchy of await hierarchies()) {
    // On a hybrid system, version 2 has no controllers: runc creates its groups there, and removeCgroup removes them.
    if (hierarchy !== root && existsSync(join(hierarchy, 'cgroup.controllers'))) continue
    let dir = hierarchy
    for (const part of path.split('/')) {
      await delegate(dir)
      const parent = dir
      dir = join(dir, part)
      await mkdir(dir, { recursive: true })
      await inheritCpuset(parent, dir)
    }
    created.push(dir)
  }
  if (created.length === 0) throw new Error(`no cgroups under ${root}: a kubelet cannot run here`)
  return created
}

/** Removes the group and its children. A group stays busy for a moment after its last process ended. */
export async function removeCgroup(path: string): Promise<void> {
  for (const hierarchy of await hierarchies()) {
    const dir = join(hierarchy, path)
    for (let attempt = 0; existsSync(dir) && attempt < 50; attempt += 1) {
      if (attempt > 0) await sleep(100)
      await removeTree(dir)
    }
  }
}

async function removeTree(dir: string): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => [])
  for (const entry of entries) if (entry.isDirectory()) await removeTree(join(dir, entry.name))
  await rmdir(dir).catch(() => {})
}

/** Version 2: the children of a group have only the controllers that it delegates. */
async function delegate(dir: string): Promise<void> {
  const controllers = await readFile(join(dir, 'cgroup.controllers'), 'utf8').catch(() => '')
  const names = controllers.split(/\s+/).filter(name => name !== '')
  if (names.length > 0) await writeFile(join(dir, 'cgroup.subtree_control'), names.map(name => `+${name}`).join(' '))
}

/** Version 1: a new group has no CPUs and memory nodes, and refuses every process. */
async function inheritCpuset(parent: string, dir: string): Promise<void> {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    const own = await readFile(join(dir, file), 'utf8').catch(() => undefined)
    if (own?.trim() === '' && !existsSync(join(dir, 'cgroup.controllers')))
      await writeFile(join(dir, file), await readFile(join(parent, file), 'utf8'))
  }
}
