/**
 * The agent's host on a node that is a kernel in memory and a directory: the same record of functions as on a real one. Paths
 * are those of the agent's container, led to the node by the mounts of its Pod.
 */
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Host } from '../../../src/agent/host.ts'
import type { FileState } from '../../../src/agent/observed.ts'
import { parseIp } from '../../../src/contract/address.ts'
import type { Mount } from '../container.ts'
import { type Namespaces, runIp } from './ip.ts'
import { arrives, type Namespace } from './network.ts'

export interface SimulatedHostOptions {
  all: Namespaces
  namespace: Namespace
  /** Of the Pod; whatever is not below one of them is not there. */
  mounts: readonly Mount[]
  /** Namespaces on which an agent works right now. */
  busy: Set<Namespace>
}

/** A setting of a device: `/proc/sys/net/ipv4/conf/ens4/rp_filter`. */
const settings = /\/proc\/sys\/net\/(ipv[46])\/conf(?:\/([^/]+)(?:\/([^/]+))?)?$/

export function simulatedHost({ all, namespace, mounts, busy }: SimulatedHostOptions): Host {
  /** Where a path of the container is; one that is nowhere does not exist. */
  function placeOf(path: string): string {
    const mount = mounts.find(({ target }) => path === target || path.startsWith(`${target}/`))
    return mount ? join(mount.source, path.slice(mount.target.length)) : join('/nonexistent', path)
  }

  function setting(path: string): { values: Map<string, string>; key: string } | undefined {
    const [, family, name, key] = settings.exec(placeOf(path)) ?? []
    const device = namespace.devices.find(each => each.name === name)
    return device && key !== undefined ? { values: device.settings, key: `${family}.${key}` } : undefined
  }

  function readFile(path: string): FileState | undefined {
    const at = placeOf(path)
    const found = fs.lstatSync(at, { throwIfNoEntry: false })
    if (!found?.isFile()) return undefined
    // Whoever runs the sandbox stands for root of the node.
    return { text: fs.readFileSync(at, 'utf8'), mode: found.mode & 0o7777, uid: 0, gid: 0 }
  }

  return {
    ip: async (args, lines = []) => runIp(all, namespace, args, lines),
    readFile,
    readValue(path) {
      const known = setting(path)
      return known ? known.values.get(known.key) : readFile(path)?.text.trim()
    },
    list(directory) {
      if (settings.test(placeOf(directory))) return ['all', 'default', ...namespace.devices.map(({ name }) => name)]
      const at = placeOf(directory)
      return fs.statSync(at, { throwIfNoEntry: false })?.isDirectory() ? fs.readdirSync(at).sort() : undefined
    },
    writeFile(path, { text, mode }) {
      fs.writeFileSync(placeOf(path), text, { mode })
      fs.chmodSync(placeOf(path), mode)
    },
    rename: (from, to) => fs.renameSync(placeOf(from), placeOf(to)),
    removeFile: path => fs.rmSync(placeOf(path), { force: true }),
    makeDirectory: path => void fs.mkdirSync(placeOf(path), { recursive: true, mode: 0o755 }),
    removeDirectory(path) {
      const at = placeOf(path)
      if (fs.existsSync(at) && fs.readdirSync(at).length === 0) fs.rmdirSync(at)
    },
    writeValue(path, value) {
      const known = setting(path)
      if (!known) throw new Error(`ENOENT: no such file or directory, open '${path}'`)
      known.values.set(known.key, value.trim())
    },
    writeReport(path, text) {
      fs.mkdirSync(dirname(placeOf(path)), { recursive: true })
      fs.writeFileSync(placeOf(path), text)
    },
    connect: async () => undefined,
    resolve: async () => undefined,
    async reach(address) {
      const ip = parseIp(address)
      return ip !== undefined && arrives(namespace, ip)
    },
    async lock() {
      if (busy.has(namespace)) return undefined
      busy.add(namespace)
      return () => void busy.delete(namespace)
    },
    now: () => Date.now(),
    sleep: ms => sleep(ms),
  }
}
