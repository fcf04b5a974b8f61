/**
 * The Pod of the node, and the rules of Services: simulated here by a bridge and our own nft rules.
 */
import type { Layout } from './addresses.ts'
import { batch, feed } from './namespaces.ts'
import { serviceRules } from './ports.ts'

/** Gives the Pod's namespace its interface. */
export type Workloads = (place: { node: string; pod: string; layout: Layout }) => Promise<void> | void

export const simulatedWorkloads: Workloads = ({ node, pod, layout }) => {
  batch(node, [
    'link add cni0 type bridge',
    'address add 10.244.0.1/24 dev cni0',
    'address add fd00:244::1/64 dev cni0 nodad',
    'link set cni0 up',
  ])
  connectHost(node, pod, 'pod', {
    bridge: 'cni0',
    addresses: ['10.244.0.5/24', 'fd00:244::5/64', '10.244.0.6/24', 'fd00:244::6/64'],
    gateways: ['10.244.0.1', 'fd00:244::1'],
  })
  feed(node, serviceRules(layout), 'nft', '-f', '-')
}

export interface HostOptions {
  bridge: string
  addresses: readonly string[]
  gateways: readonly string[]
}

/** Connects a host to a bridge of the namespace `on`. */
export function connectHost(
  on: string,
  namespace: string,
  name: string,
  { bridge, addresses, gateways }: HostOptions,
): void {
  // The client's bridge comes with the first NIC.
  const master = bridge === 'br1' ? [] : [`link set v-${name} master ${bridge}`]
  batch(on, [`link add v-${name} type veth peer name eth0 netns ${namespace}`, ...master, `link set v-${name} up`])
  batch(namespace, [
    'link set lo up',
    'link set eth0 up',
    // Only the first address of a family is the source of new connections.
    ...addresses.map((address, index) => `address add ${address} dev eth0${flagsOf(address, index > 1)}`),
    ...gateways.map(gateway => `route add default via ${gateway} dev eth0`),
  ])
}

function flagsOf(address: string, deprecated: boolean): string {
  return address.includes(':') ? ` nodad${deprecated ? ' preferred_lft 0' : ''}` : ''
}
