/**
 * The Host interface of the agent on a simulated node: a kernel in memory and a directory. Paths are those in the container of
 * the agent, translated by the mounts of its Pod.
 */
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Host } from '../../../src/agent/host/host.ts'
import type { FileState } from '../../../src/agent/state/observed.ts'
import { parseIp } from '../../../src/contract/address.ts'
import type { Mount } from '../container.ts'
import { type Namespaces, runIp } from './ip.ts'
import { isReachable, type Namespace, routeTo } from './network.ts'
import { runNft } from './nft.ts'

export interface SimulatedHostOptions {
  all: Namespaces
  namespace: Namespace
  /** Mounts of the Pod; paths outside of them do not exist. */
  mounts: readonly Mount[]
  /** Paths of the sockets on which an agent listens. */
  listening: Set<string>
}

/** Setting of a device, such as `/proc/sys/net/ipv4/conf/ens4/rp_filter`. */
const settings = /\/proc\/sys\/net\/(ipv[46])\/conf(?:\/([^/]+)(?:\/([^/]+))?)?$/

export function simulatedHost({ all, namespace, mounts, listening }: SimulatedHostOptions): Host {
  /** Path on this machine of a path in the container. */
  function hostPathOf(path: string): string {
    const mount = mounts.find(({ target }) => path === target || path.startsWith(`${target}/`))
    return mount ? join(mount.source, path.slice(mount.target.length)) : join('/nonexistent', path)
  }

  function setting(path: string): { values: Map<string, string>; key: string } | undefined {
    const [, family, name, key] = settings.exec(hostPathOf(path)) ?? []
    const device = namespace.devices.find(each => each.name === name)
    return device && key !== undefined ? { values: device.settings, key: `${family}.${key}` } : undefined
  }

  function readFile(path: string): FileState | undefined {
    const hostPath = hostPathOf(path)
    const stat = fs.lstatSync(hostPath, { throwIfNoEntry: false })
    if (!stat?.isFile()) return undefined
    // The user who runs the sandbox acts as root of the node.
    return { text: fs.readFileSync(hostPath, 'utf8'), mode: stat.mode & 0o7777, uid: 0, gid: 0 }
  }

  return {
    ip: async (args, lines = []) => runIp(all, namespace, args, lines),
    nft: async script => runNft(namespace, script),
    readFile,
    readValue(path) {
      // A simulated node has no sockets.
      if (path.startsWith('/proc/self/net/')) return ''
      const [, , device, name] = settings.exec(hostPathOf(path)) ?? []
      if (name === 'forwarding' && (device === 'all' || namespace.devices.some(each => each.name === device)))
        return '0'
      const known = setting(path)
      return known ? known.values.get(known.key) : readFile(path)?.text.trim()
    },
    list(directory) {
      if (settings.test(hostPathOf(directory))) return ['all', 'default', ...namespace.devices.map(({ name }) => name)]
      const path = hostPathOf(directory)
      return fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() ? fs.readdirSync(path).sort() : undefined
    },
    writeFile(path, { text, mode }) {
      fs.writeFileSync(hostPathOf(path), text, { mode })
      fs.chmodSync(hostPathOf(path), mode)
    },
    rename: (from, to) => fs.renameSync(hostPathOf(from), hostPathOf(to)),
    removeFile: path => fs.rmSync(hostPathOf(path), { force: true }),
    makeDirectory: path => void fs.mkdirSync(hostPathOf(path), { recursive: true, mode: 0o755 }),
    removeDirectory(path) {
      const hostPath = hostPathOf(path)
      if (fs.existsSync(hostPath) && fs.readdirSync(hostPath).length === 0) fs.rmdirSync(hostPath)
    },
    writeValue(path, value) {
      const known = setting(path)
      if (!known) throw new Error(`ENOENT: no such file or directory, open '${path}'`)
      known.values.set(known.key, value.trim())
    },
    writeReport(path, text) {
      fs.mkdirSync(dirname(hostPathOf(path)), { recursive: true })
      fs.writeFileSync(hostPathOf(path), text)
    },
    changedAt: () => undefined,
    async connect(path) {
      const hostPath = hostPathOf(path)
      if (listening.has(hostPath)) return new PassThrough()
      if (!fs.existsSync(hostPath)) return undefined
      throw Object.assign(new Error(`connect ECONNREFUSED ${path}`), { code: 'ECONNREFUSED' })
    },
    resolve: async () => undefined,
    async send(from, to) {
      const ip = parseIp(to)
      return ip && routeTo(namespace, ip, parseIp(from)) ? undefined : 'send ENETUNREACH'
    },
    async canConnect(address) {
      const ip = parseIp(address)
      return ip !== undefined && isReachable(namespace, ip)
    },
    async listen(path) {
      const hostPath = hostPathOf(path)
      fs.writeFileSync(hostPath, '')
      listening.add(hostPath)
      return () => {
        listening.delete(hostPath)
        fs.rmSync(hostPath, { force: true })
      }
    },
    now: () => Date.now(),
    monotonic: () => Math.floor(performance.now()),
    sleep: ms => sleep(ms),
  }
}
