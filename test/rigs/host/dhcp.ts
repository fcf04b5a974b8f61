/**
 * What an ordinary cloud network has: a DHCP server for one NIC of a rig node, and a host that keeps a TCP connection open.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, openSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { terminate } from './dbus.ts'
import type { RigNic, RigNode } from './node.ts'

export const hasDhcpServer = existsSync('/usr/sbin/dnsmasq')

/** Gives the NIC this address and a default route, for a lease of two minutes, the shortest that dnsmasq knows. */
export function startDhcp(node: RigNode, nic: RigNic, { address = nic.address } = {}): { stop(): Promise<void> } {
  const args = [
    ...['--keep-in-foreground', '--conf-file=/dev/null', '--user=root', '--port=0', '--no-ping', '--pid-file'],
    ...[`--interface=${bridgeOf(node, nic)}`, '--bind-interfaces', `--dhcp-leasefile=${node.path('leases')}`],
    `--dhcp-range=${address},${address},255.255.255.0,120`,
    `--dhcp-host=${nic.macAddress},${address}`,
    `--dhcp-option=option:router,${nic.gateway}`,
  ]
  const server = inside(node, node.fabric, 'dnsmasq', args)
  return { stop: () => terminate(server) }
}

export interface Connection {
  /** Sends a line over the connection and returns what comes back. */
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
  await connected.next()
  return {
    echo(line) {
      connected.child.stdin?.write(`${line}\n`)
      return connected.next()
    },
    async stop() {
      for (const { child } of [connected, listening]) await terminate(child)
    },
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
  return { child, next: async () => String((await reader?.next())?.value) }
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
