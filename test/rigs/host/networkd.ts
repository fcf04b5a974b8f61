/**
 * A real systemd-networkd in a rig node, on the node's D-Bus and with the node's files. It keeps running, unlike the one
 * that boots a node. On a real node systemd knows when networkd started; here a small service says it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { eventually } from '../../support/eventually.ts'
import { shareUdev, units } from './boot.ts'
import { startBus, terminate } from './dbus.ts'
import type { RigNode } from './node.ts'

export interface RigNetworkd {
  /** `configured`, `failed`, … */
  state(device: string): string | undefined
  log(): string
  stop(): Promise<void>
}

interface StartOptions {
  /** The node's udevd runs already. */
  liveUdev?: boolean
  /** The node boots: our units run too. */
  boots?: boolean
}

const script = ({ liveUdev, boots }: StartOptions) => `
mkdir -p "$1/host/run/systemd/netif/links" "$1/host/run/systemd/netif/leases" "$1/host/run/systemd/netif/lldp"
chown -R systemd-network:systemd-network "$1/host/run/systemd/netif"
mkdir -p "$1/host/run/udev" "$1/host/run/dbus"
mount --bind "$1/run/dbus" "$1/host/run/dbus"
mount -t sysfs sysfs /sys
${liveUdev ? '' : 'mount -o remount,ro /sys'}
mount --bind "$1/etc/systemd/network" /etc/systemd/network
mount --rbind "$1/host/run" /run
${liveUdev ? shareUdev : ''}
${boots ? units : ''}
exec /lib/systemd/systemd-networkd
`

/** `files`: of /run/systemd/network, as Netplan generates them. */
export async function startLiveNetworkd(
  node: RigNode,
  files: Record<string, string>,
  options: StartOptions = {},
): Promise<RigNetworkd> {
  const { root, namespace } = node
  const directory = join(root, 'host/run/systemd/network')
  mkdirSync(directory, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text, { mode: 0o644 })
  rmSync(join(root, 'host/run/systemd/netif'), { recursive: true, force: true })
  const bus = await startBus(node)
  const path = join(root, 'networkd.log')
  const log = openSync(path, 'a')
  const env = { ...bus.env, DBUS_SYSTEM_BUS_ADDRESS: 'unix:path=/run/dbus/system_bus_socket' }
  const args = ['unshare', '-m', '--propagation', 'private', 'sh', '-ec', script(options), '_', root]
  const networkd: ChildProcess = spawn('nsenter', [`--net=/run/netns/${namespace}`, ...args], {
    env,
    stdio: ['ignore', log, log],
  })
  const systemd = connect(join(root, 'run/dbus/system_bus_socket'))
  const stop = async () => {
    systemd.destroy()
    await terminate(networkd)
    await bus.stop()
  }
  try {
    await announceStart(systemd)
    await eventually(() => readFileSync(join(root, 'host/run/systemd/netif/state')), { within: 60_000 })
  } catch (error) {
    await stop()
    throw error
  }
  const state = (device: string) => {
    const [link] = JSON.parse(node.ip('-j', 'link', 'show', device)) as { ifindex: number }[]
    const file = readFileSync(join(root, `host/run/systemd/netif/links/${link?.ifindex}`), 'utf8')
    return /^ADMIN_STATE=(.*)/m.exec(file)?.[1]
  }
  return { state, log: () => readFileSync(path, 'utf8'), stop }
}

/** Owns the name of systemd and answers every call with a time: those of networkd's start. */
async function announceStart(socket: Socket): Promise<void> {
  const realtime = BigInt(Date.now()) * 1000n
  const monotonic = process.hrtime.bigint() / 1000n
  let buffer = Buffer.alloc(0)
  let serial = 2
  const ready = new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    let authenticated = false
    socket.on('data', chunk => {
      if (!authenticated) {
        authenticated = true
        const dbus = { path: '/org/freedesktop/DBus', interface: 'org.freedesktop.DBus', to: 'org.freedesktop.DBus' }
        socket.write('BEGIN\r\n')
        socket.write(message(1, 1, [field(1, 'o', dbus.path), ...calls(dbus, 'Hello')]))
        const name = Buffer.concat([text('org.freedesktop.systemd1'), Buffer.alloc(4 - ((4 + 25) % 4)), u32(0)])
        const request = [field(1, 'o', dbus.path), ...calls(dbus, 'RequestName'), field(8, 'g', 'su')]
        socket.write(message(1, 2, request, name))
        return
      }
      buffer = Buffer.concat([buffer, chunk])
      while (buffer.length >= 16) {
        const fields = Math.ceil((16 + buffer.readUInt32LE(12)) / 8) * 8
        const size = fields + buffer.readUInt32LE(4)
        if (buffer.length < size) return
        const [head, body] = [buffer.subarray(0, fields), buffer.subarray(fields, size)]
        buffer = buffer.subarray(size)
        if (head[1] === 2) resolve()
        if (head[1] !== 1) continue
        const sender = /:\d+\.\d+/.exec(head.toString('latin1'))?.[0] ?? ''
        const value = Buffer.alloc(8)
        value.writeBigUInt64LE(body.includes('Monotonic') ? monotonic : realtime)
        const reply = [field(5, 'u', head.readUInt32LE(8)), field(6, 's', sender), field(8, 'g', 'v')]
        socket.write(message(2, ++serial, reply, Buffer.concat([Buffer.from('\x01t\0\0\0\0\0\0'), value])))
      }
    })
  })
  socket.write(`\0AUTH EXTERNAL ${Buffer.from('0').toString('hex')}\r\n`)
  await ready
}

function calls(to: { interface: string; to: string }, member: string): Buffer[] {
  return [field(2, 's', to.interface), field(3, 's', member), field(6, 's', to.to)]
}

function message(type: number, serial: number, fields: readonly Buffer[], body: Buffer = Buffer.alloc(0)): Buffer {
  const all = fields.reduce((done, next) => Buffer.concat([align(done), next]), Buffer.alloc(0))
  const head = Buffer.concat([Buffer.from([0x6c, type, 0, 1]), u32(body.length), u32(serial), u32(all.length)])
  return Buffer.concat([align(Buffer.concat([head, all])), body])
}

function field(code: number, type: 'o' | 's' | 'g' | 'u', value: string | number): Buffer {
  const content =
    type === 'u'
      ? u32(Number(value))
      : type === 'g'
        ? Buffer.from(`${String.fromCharCode(String(value).length)}${value}\0`)
        : text(String(value))
  return Buffer.concat([Buffer.from([code, 1, type.charCodeAt(0), 0]), content])
}

function text(value: string): Buffer {
  return Buffer.concat([u32(Buffer.byteLength(value)), Buffer.from(`${value}\0`)])
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function align(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)])
}
