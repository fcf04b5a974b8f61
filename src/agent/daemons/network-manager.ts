/**
 * The part of NetworkManager's D-Bus API that the agent needs: which profile manages a NIC, release it, manage it again.
 *
 * NetworkManager activates an automatic connection on a hot-plugged NIC, which removes foreign configuration within a second.
 */
import { type Bus, BusError, openBus } from '../host/dbus.ts'
import type { Host } from '../host/host.ts'
import type { Paths } from '../paths.ts'
import type { Manager } from '../state/observed.ts'
import { profileUuid } from '../state/ownership.ts'

export interface NetworkManager {
  managerOf(device: string, macAddress: string): Promise<Manager>
  /** Sets the device unmanaged and waits until it is. */
  release(device: string): Promise<void>
  /**
   * `ours`, the MAC address of a NIC with our profile: waits until NetworkManager has activated it.
   * `leased`: it had an address from DHCP, so it gets an automatic connection if there is no profile for it.
   */
  manage(device: string, connection: { ours?: string; leased?: boolean }): Promise<void>
  /** Reloads the profiles from disk. */
  reload(): Promise<void>
  close(): void
}

const service = 'org.freedesktop.NetworkManager'
const root = '/org/freedesktop/NetworkManager'
const unknownDevice = `${service}.UnknownDevice`
const stateUnmanaged = 10
const stateDisconnected = 30
const stateActivated = 100
/** Flag of an active connection that only mirrors what others configured; NetworkManager may replace it at any time. */
const flagExternal = 0x80
/** Milliseconds. */
const releaseTimeout = 5_000
const transitionTimeout = 1_000
const renameTimeout = 5_000
const activationTimeout = 5_000
const pollInterval = 20

/** Undefined on a host without D-Bus or without NetworkManager. */
export async function connectNetworkManager(host: Host, paths: Paths): Promise<NetworkManager | undefined> {
  const stream = await host.connect(paths.bus)
  if (!stream) return undefined
  const bus = await openBus(stream)
  const running = await bus
    .call({
      destination: 'org.freedesktop.DBus',
      path: '/org/freedesktop/DBus',
      interface: 'org.freedesktop.DBus',
      member: 'NameHasOwner',
      signature: 's',
      body: [service],
    })
    .then(([owned]) => owned === true)
  if (running) return createClient(bus, host)
  bus.close()
  return undefined
}

function createClient(bus: Bus, host: Host): NetworkManager {
  const property = async (path: string, of: string, name: string) => {
    const get = { interface: 'org.freedesktop.DBus.Properties', member: 'Get', signature: 'ss', body: [of, name] }
    return (await bus.call({ destination: service, path, ...get }))[0]
  }
  const deviceOf = async (name: string) => {
    const get = { interface: service, member: 'GetDeviceByIpIface', signature: 's', body: [name] }
    const [path] = await bus.call({ destination: service, path: root, ...get }).catch(error => {
      if (error instanceof BusError && error.errorName === unknownDevice) return []
      throw error
    })
    return path === undefined ? undefined : String(path)
  }
  const stateOf = async (device: string) => Number(await property(device, `${service}.Device`, 'State'))
  const isManaged = async (device: string) => (await property(device, `${service}.Device`, 'Managed')) === true
  const setManaged = async (device: string, managed: boolean) => {
    const value = [`${service}.Device`, 'Managed', ['b', managed]]
    const set = { interface: 'org.freedesktop.DBus.Properties', member: 'Set', signature: 'ssv', body: value }
    await bus.call({ destination: service, path: device, ...set })
  }
  const stateChanges = (device: string) => ({
    sender: service,
    path: device,
    interface: `${service}.Device`,
    member: 'StateChanged',
  })
  /** Waits until the device is activated. Without carrier it never is; the caller observes what is missing. */
  const activatedAfter = async (device: string, act: () => Promise<unknown>) => {
    const activated = await bus.expect(
      stateChanges(device),
      activationTimeout,
      ([state]) => Number(state) === stateActivated,
    )
    await act()
      .then(() => activated.received)
      .catch(() => {})
    activated.cancel()
  }
  const activateOurProfile = async (device: string, macAddress: string) => {
    const get = { interface: `${service}.Settings`, member: 'GetConnectionByUuid', signature: 's' }
    const [profile] = await bus.call({
      destination: service,
      path: `${root}/Settings`,
      ...get,
      body: [profileUuid(macAddress)],
    })
    const activate = {
      interface: service,
      member: 'ActivateConnection',
      signature: 'ooo',
      body: [profile, device, '/'],
    }
    await bus.call({ destination: service, path: root, ...activate })
  }
  /**
   * NetworkManager creates its automatic connection only when a device appears, and not if our profile was there then. This
   * one ends with the next boot, like the one that it replaces.
   */
  const activateAutomatic = async (device: string) => {
    const until = host.monotonic() + releaseTimeout
    const hasProfile = async () => {
      const profiles = await property(device, `${service}.Device`, 'AvailableConnections')
      return (profiles as unknown[]).length > 0
    }
    // Profiles are available only on a device that is.
    while ((await stateOf(device)) < stateDisconnected && host.monotonic() < until) await host.sleep(pollInterval)
    if ((await stateOf(device)) !== stateDisconnected || (await hasProfile())) return
    const options = [['persist', ['s', 'memory']]]
    const add = { member: 'AddAndActivateConnection2', signature: 'a{sa{sv}}ooa{sv}', body: [[], device, '/', options] }
    await bus.call({ destination: service, path: root, interface: service, ...add }).catch(error => {
      // NetworkManager before 1.16 does not know the call.
      if (!(error instanceof BusError)) throw error
    })
  }
  const client: NetworkManager = {
    async managerOf(name, macAddress) {
      const device = await deviceOf(name)
      if (!device) return 'none'
      // The state follows the property a little later.
      if ((await stateOf(device)) <= stateUnmanaged) return (await isManaged(device)) ? 'other' : 'none'
      const active = String(await property(device, `${service}.Device`, 'ActiveConnection'))
      if (active === '/') return 'other'
      const of = `${service}.Connection.Active`
      // An active connection may end at any time.
      const ended = (error: unknown) => {
        if (error instanceof BusError) return undefined
        throw error
      }
      const uuid = await property(active, of, 'Uuid').catch(ended)
      const flags = await property(active, of, 'StateFlags').catch(ended)
      return uuid === profileUuid(macAddress) && (Number(flags) & flagExternal) === 0 ? 'ours' : 'other'
    },
    async release(name) {
      const device = await deviceOf(name)
      if (!device) return
      const changes = stateChanges(device)
      const isUnmanaged = (state: unknown) => Number(state) <= stateUnmanaged
      // A transition that has begun ends first: it removes routes from the device.
      if (isUnmanaged(await stateOf(device)) && (await isManaged(device))) {
        const begun = await bus.expect(changes, transitionTimeout, ([state]) => !isUnmanaged(state))
        if (isUnmanaged(await stateOf(device))) await begun.received.catch(() => {})
        else begun.cancel()
      }
      const unmanaged = await bus.expect(changes, releaseTimeout, ([state]) => isUnmanaged(state))
      await setManaged(device, false)
      if (isUnmanaged(await stateOf(device))) return unmanaged.cancel()
      await unmanaged.received.catch(() => {
        throw new Error(`NetworkManager did not release ${name} within ${releaseTimeout / 1000} s`)
      })
    },
    async manage(name, { ours, leased }) {
      // NetworkManager learns of a rename a little later. It never learns of a NIC that is detached meanwhile.
      const until = host.monotonic() + renameTimeout
      let device = await deviceOf(name)
      while (!device && host.monotonic() < until) {
        await host.sleep(pollInterval)
        device = await deviceOf(name)
      }
      if (!device) return
      const path = device
      if (ours === undefined) {
        await setManaged(path, true)
        if (leased) await activateAutomatic(path)
        return
      }
      await activatedAfter(path, () => setManaged(path, true))
      // A device that has addresses may get an external connection instead.
      if ((await client.managerOf(name, ours)) === 'other')
        await activatedAfter(path, () => activateOurProfile(path, ours))
    },
    async reload() {
      const reload = { interface: `${service}.Settings`, member: 'ReloadConnections' }
      await bus.call({ destination: service, path: `${root}/Settings`, ...reload })
    },
    close: () => bus.close(),
  }
  return client
}
