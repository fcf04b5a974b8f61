/**
 * NetworkManager, as far as it concerns a NIC of ours: who has it, and taking it out of its hands or giving it back.
 *
 * NetworkManager gives a hot-plugged NIC to an automatic connection, which wipes what others configure within a second.
 */
import { type Bus, BusError, openBus } from './dbus.ts'
import type { Host } from './host.ts'
import type { Manager } from './observed.ts'
import { profileUuid } from './ownership.ts'
import type { Paths } from './paths.ts'

export interface NetworkManager {
  managerOf(device: string, mac: string): Promise<Manager>
  release(device: string): Promise<void>
  handBack(device: string): Promise<void>
  /** Reads the profiles on disk again. */
  reload(): Promise<void>
  close(): void
}

const service = 'org.freedesktop.NetworkManager'
const root = '/org/freedesktop/NetworkManager'
const stateUnmanaged = 10
/** Flag of an active connection that NetworkManager made up to show what somebody else configured. */
const flagExternal = 0x80
const settleWithin = 5_000

/** Undefined on a host where no bus can be reached or nobody answers to the name. */
export async function networkManager(host: Host, paths: Paths): Promise<NetworkManager | undefined> {
  const stream = await host.connect(paths.bus)
  if (!stream) return undefined
  const bus = await openBus(stream)
  const runs = await bus
    .call({
      destination: 'org.freedesktop.DBus',
      path: '/org/freedesktop/DBus',
      interface: 'org.freedesktop.DBus',
      member: 'NameHasOwner',
      signature: 's',
      body: [service],
    })
    .then(([owned]) => owned === true)
  if (runs) return overBus(bus, host)
  bus.close()
  return undefined
}

function overBus(bus: Bus, host: Host): NetworkManager {
  const property = async (path: string, of: string, name: string) => {
    const get = { interface: 'org.freedesktop.DBus.Properties', member: 'Get', signature: 'ss', body: [of, name] }
    return (await bus.call({ destination: service, path, ...get }))[0]
  }
  const deviceOf = async (name: string) => {
    const ask = { interface: service, member: 'GetDeviceByIpIface', signature: 's', body: [name] }
    const [path] = await bus.call({ destination: service, path: root, ...ask }).catch(error => {
      if (error instanceof BusError) return []
      throw error
    })
    return path === undefined ? undefined : String(path)
  }
  const stateOf = async (device: string) => Number(await property(device, `${service}.Device`, 'State'))
  const setManaged = async (device: string, managed: boolean) => {
    const value = [`${service}.Device`, 'Managed', ['b', managed]]
    const set = { interface: 'org.freedesktop.DBus.Properties', member: 'Set', signature: 'ssv', body: value }
    await bus.call({ destination: service, path: device, ...set })
  }
  return {
    async managerOf(name, mac) {
      const device = await deviceOf(name)
      if (!device || (await stateOf(device)) <= stateUnmanaged) return 'none'
      const active = String(await property(device, `${service}.Device`, 'ActiveConnection'))
      if (active === '/') return 'other'
      const of = `${service}.Connection.Active`
      const [uuid, flags] = await Promise.all([property(active, of, 'Uuid'), property(active, of, 'StateFlags')])
      if ((Number(flags) & flagExternal) !== 0) return 'none'
      return uuid === profileUuid(mac) ? 'ours' : 'other'
    },
    async release(name) {
      const device = await deviceOf(name)
      if (!device) return
      await setManaged(device, false)
      for (const until = host.now() + settleWithin; host.now() < until; await host.sleep(20))
        if ((await stateOf(device)) <= stateUnmanaged) return
      throw new Error(`NetworkManager does not let go of ${name}`)
    },
    async handBack(name) {
      const device = await deviceOf(name)
      if (device) await setManaged(device, true)
    },
    async reload() {
      const ask = { interface: `${service}.Settings`, member: 'ReloadConnections' }
      await bus.call({ destination: service, path: `${root}/Settings`, ...ask })
    },
    close: () => bus.close(),
  }
}
