/**
 * A D-Bus daemon for one rig node, at the path of the host's system bus.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { eventually } from '../../support/eventually.ts'
import type { RigNode } from './node.ts'

export const hasBus = existsSync('/usr/bin/dbus-daemon')

export interface RigBus {
  env: Record<string, string>
  stop(): Promise<void>
}

const allowAll = ['own', 'send_destination', 'receive_sender', 'user']
  .map(what => `<allow ${what}="*"/>`)
  .concat(
    ['method_call', 'signal', 'method_return', 'error'].flatMap(type => [
      `<allow send_type="${type}"/>`,
      `<allow receive_type="${type}"/>`,
    ]),
  )
  .join('')

/** `services`: programs that the bus starts on demand, by name; they get `env`. `denied`: a call that the bus refuses. */
export async function startBus(
  { root }: RigNode,
  {
    services = {},
    env: more = {},
    denied,
  }: { services?: Record<string, string>; env?: Record<string, string>; denied?: string } = {},
): Promise<RigBus> {
  const socket = join(root, 'run/dbus/system_bus_socket')
  for (const directory of ['run/dbus', 'bus/services']) mkdirSync(join(root, directory), { recursive: true })
  for (const [name, exec] of Object.entries(services))
    writeFileSync(join(root, `bus/services/${name}.service`), `[D-BUS Service]\nName=${name}\nExec=${exec}\n`)
  writeFileSync(
    join(root, 'bus/bus.conf'),
    `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd"><busconfig><type>session</type><listen>unix:path=${socket}</listen><servicedir>${join(root, 'bus/services')}</servicedir><auth>EXTERNAL</auth><policy context="default">${allowAll}${denied ? `<deny send_interface="org.freedesktop.DBus" send_member="${denied}"/>` : ''}</policy></busconfig>`,
  )
  const log = openSync(join(root, 'bus/log'), 'a')
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${socket}`, ...more }
  const args = [`--config-file=${join(root, 'bus/bus.conf')}`, '--nofork', '--nopidfile']
  rmSync(socket, { force: true })
  const bus = spawn('dbus-daemon', args, { env, stdio: ['ignore', log, log] })
  await eventually(
    async () => {
      const client = connect(socket)
      await once(client, 'connect')
      client.destroy()
    },
    { within: 60_000 },
  )
  return { env, stop: () => terminate(bus) }
}

/** Milliseconds. */
const endTimeout = 60_000

/** Returns when the process has ended, also if it ended before. */
export async function terminate(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`${child.spawnargs.join(' ')}: did not end within ${endTimeout / 1000} s of SIGTERM`))
    }, endTimeout)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
  })
  child.kill('SIGTERM')
  await gone
}
