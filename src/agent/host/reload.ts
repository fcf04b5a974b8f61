/**
 * `NETWORK_RELOAD=apply` on a host with Netplan: calls Netplan's D-Bus service, which runs `netplan apply`.
 *
 * NetworkManager does not need it: the agent makes it reload its profiles after every change.
 */
import { messageOf } from '../../runtime/errors.ts'
import type { HostContext } from '../context.ts'
import type { Paths } from '../paths.ts'
import { openBus } from './dbus.ts'
import type { Host } from './host.ts'

const service = 'io.netplan.Netplan'
/** Milliseconds. Netplan generates its files, restarts networkd and waits for it. */
const timeout = 60_000

/** Kernel and files agree already, so a reload that fails is logged and fails no NIC. */
export async function reloadNetplan({ host, paths, log }: HostContext): Promise<void> {
  const error = await applyNetplan(host, paths)
  if (error) log.warn('netplan apply failed', { error })
  else log.info('netplan apply done')
}

/** Returns the error; undefined when it succeeded. */
async function applyNetplan(host: Host, paths: Paths): Promise<string | undefined> {
  try {
    const stream = await host.connect(paths.bus)
    if (!stream) return `cannot connect to ${paths.bus}`
    const bus = await openBus(stream)
    try {
      const apply = { destination: service, path: '/io/netplan/Netplan', interface: service, member: 'Apply' }
      const [applied] = await bus.call({ ...apply, autoStart: true, timeout })
      return applied === true ? undefined : 'Netplan returned false'
    } finally {
      bus.close()
    }
  } catch (error) {
    return messageOf(error)
  }
}
