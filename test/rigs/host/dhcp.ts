/**
 * What an ordinary cloud network has: a DHCP server for one NIC of a rig node, and a host that keeps a TCP connection open.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, openSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { terminate } from './dbus.ts'
import type { RigNic, RigNode } from './node.ts'

const script = `
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
chown -R systemd-network:systemd-network /run/systemd/netif
mount -t sysfs sysfs /sys
mount -o remount,ro /sys
echo "$1" > /run/systemd/network/10-dhcp.network
exec /lib/systemd/systemd-networkd
`

/**
 * networkd's server: gives the NIC this address and a default route, if the client identifies itself by the MAC address.
 * `lease` is in seconds; clients renew it after the half. `prefix`: it also advertises itself and this IPv6 prefix.
 */
export function startDhcp(
  node: RigNode,
  nic: RigNic,
  { address = nic.address, lease = 600, router = true, prefix = '' } = {},
): { stop(): Promise<void> } {
  const sections = [
    ['[Match]', `Name=${bridgeOf(node, nic)}`],
    ['[Network]', `Address=${nic.gateway}/24`, `Address=${nic.gateway6}/64`, 'DHCPServer=yes'],
    [
      '[DHCPServer]',
      'EmitDNS=no',
      `EmitRouter=${router ? 'yes' : 'no'}`,
      `DefaultLeaseTimeSec=${lease}`,
      `MaxLeaseTimeSec=${lease}`,
    ],
    ...(prefix
      ? [
          ['[Network]', 'IPv6SendRA=yes'],
          ['[IPv6SendRA]', 'RouterLifetimeSec=300'],
          ['[IPv6Prefix]', `Prefix=${prefix}`],
        ]
      : []),
    ['[DHCPServerStaticLease]', `MACAddress=${nic.macAddress}`, `Address=${address}`],
  ]
  const file = sections.map(lines => `${lines.join('\n')}\n`).join('\n')
  const shell = ['-m', '--propagation', 'private', 'sh', '-ec', script, '_', file]
  const server = inside(node, node.fabric, 'unshare', shell)
  return { stop: () => terminate(server) }
}

export const hasUdhcpc = existsSync('/usr/bin/busybox') || existsSync('/bin/busybox')

/** A client that asks again and again, and changes nothing. */
export function startUdhcpc(node: RigNode, device: string): { stop(): Promise<void> } {
  const client = inside(node, node.namespace, 'busybox', ['udhcpc', '-f', '-i', device, '-s', '/bin/true'])
  return { stop: () => terminate(client) }
}

export interface Connection {
  /** Sends a line over the connection and returns what comes back; fails when nothing comes back within a minute. */
  echo(line: string): Promise<string>
  stop(): Promise<void>
}

const server = `require('net').createServer(s => s.pipe(s)).listen(7007, () => console.log('ready'))`
const client = `const s = require('net').connect({ host: process.argv[1], localAddress: process.argv[2], port: 7007 }, () => console.log('ready'))
s.on('error', error => console.log(error.message)); process.stdin.pipe(s); s.pipe(process.stdout)`

/** A connection from the NIC's address to its gateway. */
export async function openConnection(node: RigNode, nic: RigNic, address = nic.address): Promise<Connection> {
  const listening = lines(inside(node, node.fabric, process.execPath, ['-e', server], 'pipe'))
  await listening.next()
  const connected = lines(inside(node, node.namespace, process.execPath, ['-e', client, nic.gateway, address], 'pipe'))
  const stop = async () => {
    for (const { child } of [connected, listening]) await terminate(child)
  }
  const first = await connected.next()
  if (first !== 'ready') await stop()
  assert.equal(first, 'ready')
  return {
    echo(line) {
      connected.child.stdin?.write(`${line}\n`)
      return connected.next()
    },
    stop,
  }
}

/** Everything that happened to addresses and routes of the node since the start. */
export function startMonitor(node: RigNode): { log(): string; stop(): Promise<void> } {
  const child = inside(node, node.namespace, 'ip', ['monitor', 'address', 'route'], 'pipe')
  let text = ''
  child.stdout?.on('data', chunk => (text += chunk))
  return { log: () => text, stop: () => terminate(child) }
}

function bridgeOf(node: RigNode, nic: RigNic): string {
  return `br${node.nics.indexOf(nic) + 1}`
}

function lines(child: ChildProcess): { child: ChildProcess; next(): Promise<string> } {
  const reader = child.stdout && createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async () => String((await reader?.next())?.value)
  const silence = async (signal: AbortSignal) => {
    await sleep(60_000, undefined, { signal })
    throw new Error(`no line within 60 s from: ${child.spawnargs.join(' ')}`)
  }
  return {
    child,
    async next() {
      const read = new AbortController()
      return Promise.race([next(), silence(read.signal)]).finally(() => read.abort())
    },
  }
}

function inside(
  node: RigNode,
  namespace: string,
  command: string,
  args: readonly string[],
  output: 'pipe' | number = openSync(node.path('network.log'), 'a'),
): ChildProcess {
  const stdin = output === 'pipe' ? 'pipe' : 'ignore'
  return spawn('nsenter', [`--net=/run/netns/${namespace}`, command, ...args], { stdio: [stdin, output, output] })
}
