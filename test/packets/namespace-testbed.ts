/**
 * A testbed of network namespaces around the rig's node: bridges and a router as the fabric, a client on link of the first NIC, a
 * far client behind all gateways, a second node with a Pod in the primary's subnet, and a Pod of the node on a bridge.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { primaryMac } from '../../src/agent/test/agent.fixture.ts'
import { forward } from '../rigs/host/cloud.ts'
import { createNode, type RigNode } from '../rigs/host/node.ts'
import { eventually } from '../support/eventually.ts'
import {
  addressIn,
  addressOf,
  deviceOf,
  type Family,
  families,
  type Layout,
  layouts,
  type Name,
  nameOf,
  nicOf,
  subnetOf,
} from './addresses.ts'
import { type FabricPort, filterRules, seenPackets, watchRules } from './filters.ts'
import { batch, feed, inside } from './namespaces.ts'
import { ports } from './ports.ts'
import type { FlowState, ProbeReply } from './station-protocol.ts'
import { type Station, startStation } from './stations.ts'
import type { Host, LongFlow, Probe, Testbed } from './testbed.ts'
import { tunnel, type Vpn, vpns } from './vpns.ts'
import { connectHost, simulatedWorkloads, type Workloads } from './workloads.ts'

export interface NamespaceTestbed extends Testbed {
  node: RigNode
  /** The primary's first, then those of the NICs by index. */
  fabricPorts: readonly (FabricPort & { bridge: string })[]
  /** After the NICs have their addresses: virtual addresses, and what the cloud says about them. */
  finish(): Promise<void>
}

const hostLength = (family: Family) => (family === 4 ? 32 : 128)

/** The hosts in the fabric. */
const hosts = {
  peer: {
    bridge: 'br0',
    addresses: ['10.0.0.11/24', 'fd00:a::11/64'],
    gateways: ['10.0.0.1', 'fd00:a::1'],
  },
  client: {
    bridge: 'br1',
    addresses: ['10.100.0.50/24', 'fd00::50/64', '10.100.0.70/24', 'fd00::4001/64'],
    gateways: ['10.100.0.1', 'fd00::1'],
  },
  far: {
    bridge: 'brf',
    addresses: ['10.9.0.2/24', 'fd00:f9::2/64'],
    gateways: ['10.9.0.1', 'fd00:f9::1'],
  },
} as const

/** The NICs are attached, and nobody has configured them. */
export async function createTestbed(
  layout: Layout,
  workloads: Workloads = simulatedWorkloads,
): Promise<NamespaceTestbed> {
  const node = await createNode({ nics: 0 })
  const { namespace, fabric } = node
  const stations = new Map<Host, Station>()
  const namespaces: string[] = []
  const remove = async () => {
    await Promise.all([...stations.values()].map(station => station.stop()))
    for (const name of namespaces) execFileSync('ip', ['netns', 'del', name])
    node.remove()
  }
  try {
    buildFabric(node)
    preparePrimary(node)
    for (const name of ['pod', ...Object.keys(hosts)] as Host[]) {
      const own = `${namespace}${name}`
      execFileSync('ip', ['netns', 'add', own])
      namespaces.push(own)
      stations.set(name, startStation(own))
    }
    for (const [name, host] of Object.entries(hosts)) connectHost(fabric, `${namespace}${name}`, name, host)
    batch(`${namespace}peer`, ['address add 10.244.1.5/32 dev lo', 'address add fd00:244:1::5/128 dev lo nodad'])
    stations.set('node', startStation(namespace))
    plugAll(node, layout)
    await workloads({ node: namespace, pod: `${namespace}pod`, layout })
    await Promise.all([...stations].map(([host, station]) => station.request({ do: 'listen', ...listening(host) })))
    return testbedOf(node, layout, stations, remove)
  } catch (error) {
    await remove()
    throw error
  }
}

function listening(host: Host): { tcp: number[]; udp: { port: number; address: string }[] } {
  const both = (name: Name, port: number) =>
    families.map(family => ({ port, address: addressOf(name, 'one NIC', family) ?? '' }))
  switch (host) {
    case 'node':
      return { tcp: [ports.host], udp: both('P', ports.host) }
    case 'pod':
      return { tcp: [ports.pod], udp: both('pod', ports.pod) }
    case 'peer':
      return { tcp: [ports.pod, ports.server], udp: both('remote pod', ports.pod) }
    default:
      return { tcp: [ports.server], udp: both(host, ports.server) }
  }
}

function buildFabric(node: RigNode): void {
  const { fabric } = node
  forward(fabric)
  // In a new namespace, IPv6 addresses without DAD are usable at once.
  batch(fabric, [
    'address add fd00:a::1/64 dev br0 nodad',
    'link add brf type bridge',
    'address add 10.9.0.1/24 dev brf',
    'address add fd00:f9::1/64 dev brf nodad',
    'link set brf up',
    `link add tunnel type veth peer name ${tunnel} netns ${node.namespace}`,
    'link set tunnel arp off up',
  ])
}

/**
 * Before the NICs are attached, so that they get the default of the reverse path filter. It is strict, and reads the mark, as
 * wg-quick leaves it behind.
 */
function preparePrimary(node: RigNode): void {
  const settings = ['all', 'default', 'ens3'].map(name => `net.ipv4.conf.${name}.rp_filter=1`)
  const all = ['net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1', 'net.ipv4.conf.all.src_valid_mark=1']
  node.exec('sysctl', '-qw', ...all, ...settings)
  batch(node.namespace, [
    `address add ${addressIn('primary', 10, 6)}/64 dev ens3 nodad`,
    // With a metric, as DHCP and router advertisements set it.
    '-4 route add default via 10.0.0.1 dev ens3 proto dhcp metric 100',
    '-4 route del default via 10.0.0.1 dev ens3 metric 0',
    '-6 route add default via fd00:a::1 dev ens3 proto ra metric 100',
    'route add 10.244.1.0/24 via 10.0.0.11',
    '-6 route add fd00:244:1::/64 via fd00:a::11',
    `link set ${tunnel} arp off up`,
  ])
}

const bridgeOf = (net: number | 'primary') => (net === 'primary' ? 'br0' : `br${net + 1}`)

function plugAll(node: RigNode, layout: Layout): void {
  for (const [index, { net, host }] of layouts[layout].entries()) {
    const nic = node.plug(index)
    node.nics[index] = {
      ...nic,
      address: addressIn(net, host, 4),
      cidr: subnetOf(net, 4),
      gateway: addressIn(net, 1, 4),
      address6: `${addressIn(net, host, 6)}/64`,
      gateway6: addressIn(net, 1, 6),
    }
    node.fabricIp('link', 'set', `p${index + 1}`, 'master', bridgeOf(net))
  }
  node.fabricIp('link', 'set', 'v-client', 'master', 'br1')
}

function testbedOf(
  node: RigNode,
  layout: Layout,
  stations: ReadonlyMap<Host, Station>,
  remove: () => Promise<void>,
): NamespaceTestbed {
  const { namespace, fabric } = node
  const fabricPorts = [
    { device: 'p0', macAddress: primaryMac, bridge: 'br0' },
    ...layouts[layout].map(({ net }, index) => ({
      device: `p${index + 1}`,
      macAddress: node.nics[index]?.macAddress ?? '',
      bridge: bridgeOf(net),
    })),
  ]
  const watch = watchRules([...fabricPorts.map(({ device }) => device), 'tunnel'])
  let vpn: Vpn = 'none'
  let nextPort = 31_000
  const stationOf = (host: Host) => stations.get(host) ?? assert.fail(`no station ${host}`)
  const address = (name: Name, family: Family) =>
    addressOf(name, layout, family) ?? assert.fail(`the layout "${layout}" has no address ${name}`)
  const command = ({ bind, to, port, udp = false, family }: Probe | LongFlow) => ({
    udp,
    to: address(to, family),
    port: ports[port],
    ...(bind === undefined ? {} : { source: address(bind, family) }),
    localPort: nextPort++,
  })

  return {
    node,
    layout,
    fabricPorts,
    setFilter: filter =>
      void feed(
        fabric,
        `${filterRules(filter, layout, fabricPorts, nicOf('VIP-D', layout) ?? 0)}${watch}`,
        'nft',
        '-f',
        '-',
      ),
    setVpn(next) {
      for (const lines of [vpns[vpn].down, vpns[next].up]) batch(namespace, lines)
      vpn = next
    },
    async send(probes) {
      feed(fabric, 'flush set netdev watch seen4\nflush set netdev watch seen6\n', 'nft', '-f', '-')
      const sent = await Promise.all(
        probes.map(async probe => {
          const asked = { do: 'probe' as const, ...command(probe), within: probe.within }
          return { probe, asked, reply: await stationOf(probe.from).request<ProbeReply>(asked) }
        }),
      )
      const packets = seenPackets(inside(fabric, 'nft', '--json', 'list', 'table', 'netdev', 'watch'))
      return sent.map(({ probe, asked: { localPort }, reply }) => {
        const outward = probe.from === 'node' || probe.from === 'pod'
        // kube-proxy masquerades to another port.
        const own = packets.filter(({ sourcePort, destinationPort }) =>
          outward ? [localPort, reply.seenPort].includes(sourcePort) : destinationPort === localPort,
        )
        return {
          delivered: reply.seen !== undefined,
          ...(reply.seen === undefined ? {} : { source: nameOf(reply.seen, layout, probe.family) }),
          devices: [...new Set(own.map(({ device }) => nodeDevice(device)))].sort(),
          ...(reply.error === undefined ? {} : { error: reply.error }),
        }
      })
    },
    lookup(family, from, to, mark) {
      const source = from === undefined ? [] : ['from', address(from, family)]
      const marked = mark === 0 ? [] : ['mark', `${mark}`]
      const json = node.ip('-N', `-${family}`, '-j', 'route', 'get', address(to, family), ...source, ...marked)
      const [route] = JSON.parse(json) as { table?: string | number; dev: string }[]
      return `${route?.table ?? 254} ${route?.dev}`
    },
    async open(flow) {
      const name = `flow-${nextPort}`
      const station = stationOf(flow.from)
      const { error } = await station.request({ do: 'open', name, every: 15, ...command(flow) })
      return {
        ...(error === undefined ? {} : { error }),
        state: options => station.request<FlowState>({ do: 'flow', name, ...options }),
      }
    },
    onNode: (program, ...args) => inside(namespace, program, ...args),
    feedNode: (input, program, ...args) => feed(namespace, input, program, ...args),
    finish: () => finish(node, layout),
    remove,
  }
}

/** A daemon such as keepalived adds virtual addresses, and a cloud such as OVN replies to ARP and neighbor solicitations. */
async function finish(node: RigNode, layout: Layout): Promise<void> {
  const address = (name: Name, family: Family) => addressOf(name, layout, family) ?? ''
  batch(
    node.namespace,
    families.flatMap(family => {
      const more = family === 4 ? '' : ' nodad preferred_lft 0'
      return [
        `address add ${address('VIP', family)}/${hostLength(family)} dev ${deviceOf('VIP', layout)}${more}`,
        `address add ${address('VIP-P', family)}/${hostLength(family)} dev ens3${more}`,
      ]
    }),
  )
  const macOf = (name: Name) => node.nics[nicOf(name, layout) ?? 0]?.macAddress
  const neighbour = (name: Name, device: string) =>
    families.flatMap(family =>
      addressOf(name, layout, family) === undefined
        ? []
        : [`-${family} neigh replace ${address(name, family)} lladdr ${macOf(name)} dev ${device}`],
    )
  const behindNic = families.flatMap(family =>
    (['external IP', 'routed pod'] as const).map(
      name => `-${family} route add ${address(name, family)}/${hostLength(family)} via ${address('A', family)}`,
    ),
  )
  batch(node.fabric, [...neighbour('VIP-D', 'br1'), ...neighbour('AP', 'br0'), ...behindNic])
  batch(`${node.namespace}client`, [...neighbour('VIP-D', 'eth0'), ...behindNic])
  batch(`${node.namespace}peer`, neighbour('AP', 'eth0'))
  await eventually(() => assert.doesNotMatch(node.ip('-6', 'address'), /tentative/))
}

/** The device of the node at the other end of a port of the fabric. */
function nodeDevice(port: string): string {
  if (port === 'tunnel') return tunnel
  return port === 'p0' ? 'ens3' : `multinic${Number(port.slice(1)) - 1}`
}
