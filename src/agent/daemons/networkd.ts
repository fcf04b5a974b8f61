/**
 * The part of systemd-networkd's D-Bus API that the agent needs: which file networkd applies to a NIC, and a reload.
 *
 * A reload makes networkd apply every file that changed since it read its files, for all links. So the agent reloads only
 * when no file of others has changed since then.
 */
import type { Log } from '../../telemetry/log.ts'
import { networkdDirectories } from '../backends/boot-order.ts'
import { ownFiles } from '../backends/owned.ts'
import { type Bus, BusError, NoReplyError, openBus } from '../host/dbus.ts'
import { type Host, tryList } from '../host/host.ts'
import type { Paths } from '../paths.ts'
import { isOurNetworkFile } from '../state/ownership.ts'

export interface NetworkdLink {
  /** The .network file that networkd applies to the link, as a path of the host; absent when it does not manage the link. */
  file?: string
  /** `configured`, or a state on the way to it. */
  state: string
  name: string
  /** networkd counts an IPv4 address as its DHCP client's. */
  leased: boolean
}

export interface Networkd {
  /** By ifindex. */
  links(): Promise<ReadonlyMap<number, NetworkdLink>>
  /** What a reload would apply besides our files; undefined when that is nothing. */
  changedSinceLoad(): Promise<string | undefined>
  /**
   * Reads all files again, and configures the links whose file has changed. `ifindexes`: these also if networkd has given up
   * on them, which a reload does not change.
   */
  reload(ifindexes: readonly number[]): Promise<void>
  close(): void
}

interface Description {
  Interfaces?: {
    Index: number
    Name: string
    NetworkFile?: string | null
    AdministrativeState?: string
    Addresses?: { ConfigSource?: string }[]
  }[]
}

const service = 'org.freedesktop.network1'
const manager = { destination: service, path: '/org/freedesktop/network1', interface: `${service}.Manager` }
const unit = {
  destination: 'org.freedesktop.systemd1',
  path: '/org/freedesktop/systemd1/unit/systemd_2dnetworkd_2eservice',
}

/**
 * Undefined on a host without D-Bus or without networkd, or whose networkd cannot describe its links (before 250). Also if its
 * reply does not come, as with a policy of SELinux that drops it: its DHCP clients are then known by their sockets only.
 */
export async function connectNetworkd(host: Host, paths: Paths, log: Log): Promise<Networkd | undefined> {
  const stream = await host.connect(paths.bus)
  if (!stream) return undefined
  const bus = await openBus(stream)
  const networkd = createClient(bus, host, paths)
  try {
    await networkd.links()
    return networkd
  } catch (error) {
    bus.close()
    if (error instanceof NoReplyError) log.warn('systemd-networkd does not reply, going on without it', { error })
    else if (!(error instanceof BusError)) throw error
    return undefined
  }
}

function createClient(bus: Bus, host: Host, paths: Paths): Networkd {
  const describe = async () => {
    const [json] = await bus.call({ ...manager, member: 'Describe' })
    const { Interfaces: links = [] } = JSON.parse(String(json)) as Description
    return new Map(
      links.map(({ Index: ifindex, Name: name, NetworkFile: file, AdministrativeState: state = '', Addresses }) => {
        const leased = Addresses?.some(address => address.ConfigSource === 'DHCPv4') ?? false
        const managed = file && state !== 'unmanaged' ? { file } : {}
        return [ifindex, { ...managed, state, name, leased }] as const
      }),
    )
  }
  return {
    links: describe,
    async changedSinceLoad() {
      const startedAt = await startTime(bus, host)
      if (startedAt === undefined) return 'the unit systemd-networkd.service, whose start time is not known'
      const found = filesOfOthers(host, paths)
      const names = new Set(found.map(nameOf))
      const loaded = [...(await describe()).values()].flatMap(({ file }) => file ?? [])
      const gone = loaded.find(file => !isOurNetworkFile(file) && !names.has(nameOf(file)))
      return gone ?? found.find(path => (host.changedAt(path) ?? 0) > startedAt)
    },
    async reload(ifindexes) {
      await bus.call({ ...manager, member: 'Reload' })
      const links = await describe()
      for (const ifindex of ifindexes)
        if (links.get(ifindex)?.state === 'failed')
          await bus.call({ ...manager, member: 'ReconfigureLink', signature: 'i', body: [ifindex] })
    },
    close: () => bus.close(),
  }
}

/**
 * When networkd read its files, in milliseconds since 1970. The clock may have been set since: the earlier of both
 * calculations can only make a file look newer than it is.
 */
async function startTime(bus: Bus, host: Host): Promise<number | undefined> {
  const property = async (name: string) => {
    const body = [`${unit.destination}.Service`, name]
    const get = { ...unit, interface: 'org.freedesktop.DBus.Properties', member: 'Get', signature: 'ss', body }
    return Number((await bus.call(get))[0]) / 1000
  }
  try {
    const [realtime, monotonic] = await Promise.all([
      property('ExecMainStartTimestamp'),
      property('ExecMainStartTimestampMonotonic'),
    ])
    if (!realtime || !monotonic) return undefined
    return Math.min(realtime, host.now() - (host.monotonic() - monotonic))
  } catch (error) {
    if (error instanceof BusError) return undefined
    throw error
  }
}

/** Files and drop-in directories of networkd that are not ours. */
function filesOfOthers(host: Host, paths: Paths): string[] {
  const ours = ownFiles(paths)
  return networkdDirectories(paths).flatMap(directory =>
    (tryList(host, directory) ?? []).flatMap(name => {
      const path = `${directory}/${name}`
      if (!/\.(network|netdev)(\.d)?$/.test(name) || ours.has(path)) return []
      const dropIns = name.endsWith('.d') ? (tryList(host, path) ?? []).map(file => `${path}/${file}`) : []
      return [path, ...dropIns]
    }),
  )
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
