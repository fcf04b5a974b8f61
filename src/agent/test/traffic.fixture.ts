/**
 * Traffic of a node with several NICs, as tables of pings: for tests of the agent, before and after a reboot.
 */
import { addPeer, forward, type Peer, reaches, securePorts } from '../../../test/rigs/host/cloud.ts'
import { type NodeOptions, type RigNode, requestedInterface } from '../../../test/rigs/host/node.ts'
import type { AgentInput } from '../../contract/agent-input.ts'

type Requested = AgentInput['interfaces'][number]

export interface TrafficCase {
  options: NodeOptions
  /** Connects the ports of the node; again after a reboot. */
  wire?(node: RigNode): void
  /** Prepares fabric and node, and returns the request and the other hosts by name. */
  prepare(node: RigNode): { interfaces: Requested[]; peers?: Record<string, Peer> }
  /** `from > to`: the node, bound to an address; `* > to`: the node, without a source; `name > to`: another host. */
  pings: string[]
}

export const primaryAddresses = ['10.0.0.10', 'fd00:ff::10']
const default6 = (gateway: string) => ({ destination: '::/0', nexthop: gateway })
/** With a gateway of each family. */
const requestAll = (node: RigNode, more: (index: number) => Partial<Requested> = () => ({})) =>
  node.nics.map((nic, index) =>
    requestedInterface(nic, index, { addresses: [nic.address6], routes: [default6(nic.gateway6)], ...more(index) }),
  )

/** On the network of the first NIC, with the router of the fabric as gateway. */
const neighbour = (node: RigNode, name = 'peer', host = '77') =>
  addPeer(name, {
    on: node.fabric,
    bridge: 'br1',
    addresses: [`10.100.0.${host}/24`, `fd00::${host}/64`],
    gateways: ['10.100.0.1', 'fd00::1'],
  })

export const trafficCases: Record<string, TrafficCase> = {
  'three NICs in one subnet, dual stack': {
    options: { nics: 3, oneSubnet: true },
    prepare: node => ({ interfaces: requestAll(node), peers: { peer: neighbour(node) } }),
    pings: [
      ...['10.100.0.10', '10.100.0.11', '10.100.0.12'].flatMap(own => [
        `${own} > 10.100.0.1`,
        `${own} > 10.100.0.77`,
        `peer > ${own}`,
        `${own} > 10.0.0.1`,
      ]),
      ...['fd00::10', 'fd00::11', 'fd00::12'].flatMap(own => [
        `${own} > fd00::1`,
        `${own} > fd00::77`,
        `peer > ${own}`,
        `${own} > fd00:ff::1`,
      ]),
      ...['* > 10.100.0.77', '* > fd00::77', '* > 10.0.0.1', '* > fd00:ff::1'],
      // A host in the subnet of the NICs that talks to the primary address through a router.
      ...['peer > 10.0.0.10', 'peer > fd00:ff::10', '10.0.0.10 > 10.100.0.77', 'fd00:ff::10 > fd00::77'],
    ],
  },
  'different subnets, and traffic between their networks': {
    options: { nics: 2 },
    prepare: node => ({ interfaces: requestAll(node), peers: { peer: neighbour(node) } }),
    pings: [
      ...['10.101.0.10 > 10.100.0.77', '10.101.0.10 > 10.101.0.1', 'peer > 10.101.0.10', 'peer > 10.100.0.10'],
      ...['fd00:1::10 > fd00::77', 'fd00:1::10 > fd00:1::1', 'peer > fd00:1::10', 'peer > fd00::10'],
      ...['* > 10.101.0.1', '* > 10.100.0.77', '* > fd00:1::1', '* > fd00::77'],
    ],
  },
  'hosts behind the gateway': {
    options: { nics: 2 },
    prepare: node => {
      for (const line of [
        'link add br9 type bridge',
        'address add 172.20.0.1/24 dev br9',
        'address add fd00:20::1/64 dev br9 nodad',
        'link set br9 up',
      ])
        node.fabricIp(...line.split(' '))
      const [on, bridge] = [node.fabric, 'br9']
      const addresses = ['172.20.0.5/24', 'fd00:20::5/64']
      const far = addPeer('far', { on, bridge, addresses, gateways: ['172.20.0.1', 'fd00:20::1'] })
      return { interfaces: requestAll(node), peers: { far } }
    },
    pings: [
      ...['10.100.0.10 > 172.20.0.5', '10.101.0.10 > 172.20.0.5', '10.0.0.10 > 172.20.0.5', '* > 172.20.0.5'],
      ...['fd00::10 > fd00:20::5', 'fd00:1::10 > fd00:20::5', 'fd00:ff::10 > fd00:20::5', '* > fd00:20::5'],
      ...['far > 10.100.0.10', 'far > 10.101.0.10', 'far > 10.0.0.10'],
      ...['far > fd00::10', 'far > fd00:1::10', 'far > fd00:ff::10'],
    ],
  },
  '/16 beside /24 on other wires': {
    options: { nics: 2 },
    prepare: node => {
      node.fabricIp('address', 'add', '10.50.0.1/16', 'dev', 'br1')
      node.fabricIp('address', 'add', '10.50.7.1/24', 'dev', 'br2')
      const cidrs = [
        { address: '10.50.0.10', cidr: '10.50.0.0/16', gateway: '10.50.0.1' },
        { address: '10.50.7.10', cidr: '10.50.7.0/24', gateway: '10.50.7.1' },
      ]
      return { interfaces: requestAll(node, index => cidrs[index] ?? {}) }
    },
    pings: [
      '10.50.0.10 > 10.50.0.1',
      '10.50.7.10 > 10.50.7.1',
      '10.50.7.10 > 10.50.0.1',
      '* > 10.50.7.1',
      '* > 10.50.0.1',
    ],
  },
  "NICs in the primary NIC's subnet": {
    options: { nics: 2 },
    wire: node => {
      for (const port of ['p1', 'p2']) node.fabricIp('link', 'set', port, 'master', 'br0')
    },
    prepare: node => {
      const more = (index: number) => ({
        address: `10.0.0.${20 + index}`,
        cidr: '10.0.0.0/24',
        gateway: '10.0.0.1',
        addresses: [`fd00:ff::${20 + index}/64`],
        routes: [default6('fd00:ff::1')],
      })
      const addresses = ['10.0.0.77/24', 'fd00:ff::77/64']
      const peer = addPeer('peer', { on: node.fabric, bridge: 'br0', addresses, gateways: ['10.0.0.1', 'fd00:ff::1'] })
      return { interfaces: requestAll(node, more), peers: { peer } }
    },
    pings: [
      ...['10.0.0.10', '10.0.0.20', '10.0.0.21', 'fd00:ff::10', 'fd00:ff::20', 'fd00:ff::21'].flatMap(own => [
        `${own} > ${own.includes(':') ? 'fd00:ff::77' : '10.0.0.77'}`,
        `peer > ${own}`,
      ]),
      ...['* > 10.0.0.77', '* > fd00:ff::77'],
    ],
  },
  'IPv6 only': {
    options: { nics: 2, oneSubnet: true },
    prepare: node => ({
      interfaces: node.nics.map((nic, index) => {
        const { gateway: _, address: __, ...rest } = requestedInterface(nic, index)
        return { ...rest, address: `fd00::${10 + index}`, cidr: 'fd00::/64', gateway: nic.gateway6 }
      }),
      peers: { peer: neighbour(node) },
    }),
    pings: [
      ...['fd00::10 > fd00::77', 'fd00::11 > fd00::77', 'fd00::11 > fd00:ff::1', '* > fd00::77', '* > fd00:ff::1'],
      ...['peer > fd00::10', 'peer > fd00::11', 'peer > fd00:ff::10'],
    ],
  },
  'remote networks by host routes': {
    options: { nics: 2, oneSubnet: true },
    prepare: node => {
      const router = neighbour(node, 'router', '2')
      for (const address of ['172.20.0.5/32', 'fd00:20::5/128'])
        node.exec('ip', '-n', router.namespace, 'address', 'add', address, 'dev', 'lo')
      node.exec('ip', '-n', router.namespace, 'address', 'add', 'fe80::2/64', 'dev', 'eth0', 'nodad')
      const routes = [
        { destination: '172.20.0.0/16', nexthop: '10.100.0.2' },
        { destination: 'fd00:20::/64', nexthop: 'fe80::2' },
      ]
      return { interfaces: requestAll(node, () => ({ routes })), peers: { router } }
    },
    pings: ['10.100.0.10', '10.100.0.11', 'fd00::10', 'fd00::11', '*'].flatMap(own =>
      ['172.20.0.5', 'fd00:20::5'].flatMap(to =>
        own === '*' || own.includes(':') === to.includes(':') ? `${own} > ${to}` : [],
      ),
    ),
  },
  'a remote network by a router with a global IPv6 address': {
    options: { nics: 2 },
    prepare: node => {
      const router = neighbour(node, 'router', '2')
      node.exec('ip', '-n', router.namespace, 'address', 'add', 'fd00:21::5/128', 'dev', 'lo')
      const routes = [{ destination: 'fd00:21::/64', nexthop: 'fd00::2' }]
      return { interfaces: requestAll(node, index => (index === 0 ? { routes } : {})), peers: { router } }
    },
    pings: ['fd00::10 > fd00:21::5', '* > fd00:21::5', 'router > fd00::10', 'router > fd00:1::10'],
  },
  'a Pod calls the address of a NIC of its node': {
    options: { nics: 2 },
    prepare: node => {
      // The second bridge is inside the primary NIC's subnet.
      const bridges = { cni0: ['10.244.0.1/24', 'fd00:244::1/64'], cni1: ['10.0.0.193/26'] }
      for (const [bridge, addresses] of Object.entries(bridges)) {
        node.ip('link', 'add', bridge, 'type', 'bridge')
        node.ip('link', 'set', bridge, 'up')
        for (const address of addresses)
          node.ip('address', 'add', address, 'dev', bridge, ...(address.includes(':') ? ['nodad'] : []))
      }
      forward(node.namespace)
      const on = node.namespace
      const addresses = ['10.244.0.5/24', 'fd00:244::5/64']
      const pod = addPeer('pod', { on, bridge: 'cni0', addresses, gateways: ['10.244.0.1', 'fd00:244::1'] })
      const inside = addPeer('in', { on, bridge: 'cni1', addresses: ['10.0.0.194/26'], gateways: ['10.0.0.193'] })
      return { interfaces: requestAll(node), peers: { pod, inside } }
    },
    pings: [
      ...['pod > 10.100.0.10', 'pod > 10.101.0.10', 'pod > 10.0.0.10', 'pod > fd00::10', 'pod > fd00:1::10'],
      ...['inside > 10.100.0.10', '10.100.0.10 > 10.244.0.5', 'fd00::10 > fd00:244::5', '* > 10.244.0.5'],
    ],
  },
}

/** The fabric routes and filters; the primary NIC has addresses of both families. */
export function prepareTraffic({ prepare, wire }: TrafficCase, node: RigNode): ReturnType<TrafficCase['prepare']> {
  forward(node.fabric)
  node.fabricIp('address', 'add', 'fd00:ff::1/64', 'dev', 'br0', 'nodad')
  addPrimary6(node)
  wire?.(node)
  const prepared = prepare(node)
  securePorts(node, primaryAddresses, prepared.interfaces)
  return prepared
}

export function addPrimary6(node: RigNode): void {
  node.ip('address', 'add', 'fd00:ff::10/64', 'dev', 'ens3', 'nodad')
  node.ip('route', 'add', 'default', 'via', 'fd00:ff::1', 'dev', 'ens3')
}

/** The pings without a reply. */
export async function lostPings(
  node: RigNode,
  pings: readonly string[],
  peers: Readonly<Record<string, Peer>>,
): Promise<string[]> {
  const replies = await Promise.all(
    pings.map(async ping => {
      const [from = '', to = ''] = ping.split(' > ')
      const peer = peers[from]
      return peer ? peer.reaches(to) : reaches(node.namespace, to, from === '*' ? undefined : from)
    }),
  )
  return pings.filter((_, index) => !replies[index])
}
