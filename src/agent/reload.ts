/**
 * `NETWORK_RELOAD=apply` on a host with Netplan: its own service on the host's bus is asked to apply, as `netplan apply` does.
 *
 * NetworkManager needs none of it: it reads its profiles again whenever we change one.
 */
import { messageOf } from '../runtime/errors.ts'
import { openBus } from './dbus.ts'
import type { Host } from './host.ts'
import type { Paths } from './paths.ts'

const service = 'io.netplan.Netplan'
/** It generates, restarts networkd and waits for it. */
const within = 60_000

/** Why it was not done; undefined when it was. */
export async function applyNetplan(host: Host, paths: Paths): Promise<string | undefined> {
  try {
    const stream = await host.connect(paths.bus)
    if (!stream) return `nobody listens on ${paths.bus}`
    const bus = await openBus(stream)
    try {
      const ask = { destination: service, path: '/io/netplan/Netplan', interface: service, member: 'Apply' }
      const [applied] = await bus.call({ ...ask, starts: true, within })
      return applied === true ? undefined : 'netplan refused'
    } finally {
      bus.close()
    }
  } catch (error) {
    return messageOf(error)
  }
}
