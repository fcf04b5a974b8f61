/**
 * Boots a node: applies its network files to its unconfigured NICs, without controller or agent.
 *
 * Replaces udev, the Netplan generator, systemd-networkd, systemd-sysctl and our units, which do not run in a namespace.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Log } from '../../src/telemetry/log.ts'
import { type Files, type Link, readBoot } from './boot-files.ts'
import type { Machine } from './machine.ts'

export interface BootOptions {
  machine: Machine
  namespace: string
  root: string
  log: Log
}

export async function boot({ machine, namespace, root, log }: BootOptions): Promise<void> {
  const links = await machine.ipJson<Link>(namespace, ['link', 'show'])
  const plan = readBoot(await filesOf(root), links)
  for (const what of plan.unknown) log.warn('unsupported key in network file ignored', { key: what })
  await machine.ip(namespace, plan.ip.filter(isRename))
  await machine.writeSettings(namespace, plan.sysctls)
  await machine.ip(
    namespace,
    plan.ip.filter(line => !isRename(line)),
  )
  await machine.nft(namespace, plan.nft)
  await machine.ip(namespace, plan.shared, 'tolerant')
  log.info('booted', { changes: plan.ip.length + plan.sysctls.length })
}

/** Renames come first: sysctl paths contain the new names. */
function isRename(line: string): boolean {
  return /^link set dev \S+ name /.test(line)
}

async function filesOf(root: string): Promise<Files> {
  const files = new Map<string, string>()
  for (const directory of ['etc/multinic', 'etc/netplan', 'etc/systemd', 'etc/sysctl.d']) {
    const entries = await readdir(join(root, directory), { recursive: true, withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      if (!entry.isFile()) continue
      const path = join(entry.parentPath, entry.name)
      files.set(relative(root, path), await readFile(path, 'utf8'))
    }
  }
  return files
}
