/**
 * A cloud around a rig node: port security as in Neutron, other hosts and Pods, and pings between all of them.
 */
import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { primaryMac } from '../../../src/agent/test/agent.fixture.ts'
import { hostPart } from '../../../src/contract/address.ts'
import type { AgentInput } from '../../../src/contract/agent-input.ts'
import { eventually } from '../../support/eventually.ts'
import { portSecurity } from '../port-security.ts'
import type { RigNode } from './node.ts'

export interface Peer {
  namespace: string
  /** Reports whether a host replies to one ping. */
  reaches(address: string): Promise<boolean>
  remove(): void
}

/** Filters all ports of the node: the primary one, and those of the requested interfaces. Call it again after a reboot. */
export function securePorts(node: RigNode, primary: readonly string[], interfaces: AgentInput['interfaces']): void {
  const ports = [
    { device: 'p0', macAddress: primaryMac, addresses: primary },
    ...interfaces.map(nic => ({
      device: `p${node.nics.findIndex(({ macAddress }) => macAddress === nic.macAddress) + 1}`,
      macAddress: nic.macAddress,
      addresses: [...(nic.address ? [nic.address] : []), ...(nic.addresses ?? []).map(hostPart)],
    })),
  ]
  inNamespace(node.fabric, ['nft', '-f', '-'], portSecurity(ports))
}

/** The fabric routes between its networks. */
export function forward(namespace: string): void {
  inNamespace(namespace, [
    'sh',
    '-c',
    'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding',
  ])
}

/** Another host on a bridge of a namespace: with these addresses (CIDR), and with these addresses as gateways. */
export function addPeer(
  name: string,
  { on, bridge, addresses, gateways }: { on: string; bridge: string; addresses: string[]; gateways: string[] },
): Peer {
  const namespace = `${on}${name}`
  execFileSync('ip', ['netns', 'add', namespace])
  execFileSync('ip', ['-n', on, 'link', 'add', `v-${name}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace])
  execFileSync('ip', ['-n', on, 'link', 'set', `v-${name}`, 'master', bridge, 'up'])
  const lines = [
    'link set lo up',
    'link set eth0 up',
    ...addresses.map(address => `address add ${address} dev eth0${address.includes(':') ? ' nodad' : ''}`),
    ...gateways.map(gateway => `route add default via ${gateway} dev eth0`),
  ]
  execFileSync('ip', ['-n', namespace, '-batch', '-'], { input: `${lines.join('\n')}\n` })
  return {
    namespace,
    reaches: address => reaches(namespace, address),
    remove: () => void execFileSync('ip', ['netns', 'del', namespace]),
  }
}

/** One ping; with a source, from a socket that is bound to it. */
export async function reaches(namespace: string, address: string, source?: string): Promise<boolean> {
  const ping = ['ping', '-n', '-c1', '-W3', ...(source === undefined ? [] : ['-I', source]), address]
  try {
    await promisify(execFile)('nsenter', [`--net=/run/netns/${namespace}`, ...ping])
    return true
  } catch {
    return false
  }
}

export interface PingStream {
  /** Ends the stream; returns the numbers of the packets that were lost since the first reply. */
  stop(): Promise<number[]>
}

/** One packet every 10 ms until `stop`. Resolves after the first reply. */
export async function pingStream(namespace: string, address: string, source?: string): Promise<PingStream> {
  const ping = ['ping', '-n', '-i0.01', ...(source === undefined ? [] : ['-I', source]), address]
  const child = spawn('nsenter', [`--net=/run/netns/${namespace}`, ...ping], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', chunk => (output += chunk))
  const replies = () => new Set([...output.matchAll(/icmp_seq=(\d+)/g)].map(([, number]) => Number(number)))
  await eventually(() => assert.ok(replies().size > 0, output), { within: 20_000, every: 20 })
  // A link that has just come up may lose the packets before.
  const first = Math.min(...replies())
  return {
    async stop() {
      const [seen, closed] = [Math.max(...replies()), once(child, 'close')]
      // Packets that are sent from now on show that the earlier ones are lost, not late.
      await eventually(() => assert.ok(Math.max(...replies()) > seen + 20, output.slice(-500)), { within: 20_000 })
      child.kill('SIGINT')
      await closed
      const received = replies()
      return Array.from({ length: seen - first }, (_, index) => first + index).filter(number => !received.has(number))
    },
  }
}

function inNamespace(namespace: string, command: readonly string[], input = ''): void {
  execFileSync('nsenter', [`--net=/run/netns/${namespace}`, ...command], {
    input,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
}
