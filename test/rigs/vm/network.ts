/**
 * The networks of the cloud: bridges in the network namespace of the test, with a router and, if wanted, a DHCP server on each,
 * and one tap device for each port of a guest.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { currentIsolation } from '../isolation.ts'
import { type Daemon, run, startDaemon } from '../process.ts'

export interface NetworkOptions {
  /** Name of the bridge. */
  name: string
  /** Addresses of the router, with prefix length. */
  addresses: readonly string[]
  mtu?: number
  /** First and last address that the DHCP server leases. It also announces the router. */
  dhcp?: readonly [string, string]
  /** IPv6 prefix of 64 bits, such as `fd00:10::`. The router has its first address, and the DHCP server advertises both. */
  prefix?: string
}

export interface Network {
  name: string
  /** Lines of the DHCP server's log about a MAC address, such as `DHCPACK(net-a) 192.168.10.50 fa:16:3e:00:00:0a node-1`. */
  dhcpLog(macAddress: string): string[]
  close(): Promise<void>
}

export interface Nic {
  /** ID of the device in QEMU, and name of its tap device. */
  name: string
  macAddress: string
  /** Name of the bridge. */
  network: string
  /** PCI slot, from 1. */
  slot: number
  mtu?: number
}

export async function createNetwork(dir: string, options: NetworkOptions): Promise<Network> {
  currentIsolation()
  const { name, addresses, mtu = 1500, dhcp, prefix } = options
  await ip('link', 'add', name, 'mtu', `${mtu}`, 'type', 'bridge', 'forward_delay', '0')
  for (const address of [...addresses, ...(prefix ? [`${prefix}1/64`] : [])])
    await ip('address', 'add', address, 'dev', name, ...(address.includes(':') ? ['nodad'] : []))
  await ip('link', 'set', name, 'up')
  const log = join(dir, `dhcp-${name}.log`)
  appendFileSync(log, '')
  const server = dhcp && startDhcpServer({ name, log, dir, dhcp, prefix })
  return {
    name,
    dhcpLog: macAddress =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter(line => line.includes(macAddress)),
    async close() {
      await server?.stop()
      await ip('link', 'delete', name)
    },
  }
}

/** Without DNS. --no-ping: it would wait three seconds before each offer. Leases have the shortest time that dnsmasq allows. */
function startDhcpServer(server: {
  name: string
  log: string
  dir: string
  dhcp: readonly [string, string]
  prefix: string | undefined
}): Daemon {
  const { name, log, dir, dhcp, prefix } = server
  const options = ['--keep-in-foreground', '--conf-file=/dev/null', '--user=root', '--port=0', '--log-facility=-']
  const leases = ['--dhcp-authoritative', '--no-ping', `--dhcp-leasefile=${join(dir, `leases-${name}`)}`]
  const interfaces = [`--interface=${name}`, '--except-interface=lo', '--bind-interfaces', '--pid-file']
  const ranges = [`--dhcp-range=${dhcp.join()},2m`, ...(prefix ? [`--dhcp-range=${prefix},ra-only,64,10m`] : [])]
  const advertisements = prefix ? ['--enable-ra', `--ra-param=${name},10,60`] : []
  return startDaemon('dnsmasq', [...options, ...leases, ...interfaces, ...ranges, ...advertisements], { log })
}

/** Tap devices stay when QEMU exits, so that a reboot finds them. */
export async function createTap({ name, network, mtu = 1500 }: Nic): Promise<void> {
  await ip('tuntap', 'add', 'dev', name, 'mode', 'tap')
  await ip('link', 'set', name, 'mtu', `${mtu}`, 'master', network, 'up')
}

export async function removeTap({ name }: Nic): Promise<void> {
  await ip('link', 'delete', name)
}

async function ip(...args: string[]): Promise<void> {
  await run('ip', args)
}
