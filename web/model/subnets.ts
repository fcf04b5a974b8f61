/**
 * The subnets that the NICs of some nodes are attached to. Pure.
 */

import type { Nic, Node } from './nodes.ts'
import { compareNatural } from './order.ts'

export interface Subnet {
  key: string
  network: string
  subnetId: string
  subnetName: string
  networkId: string
  networkName: string
  mtu: number | undefined
  gateway: string
  attachments: { node: Node; nic: Nic }[]
}

export const subnetKey = ({ subnetId, network }: Pick<Nic, 'subnetId' | 'network'>) => subnetId || network

/** Sorted by network. */
export function subnetsOf(nodes: readonly Node[]): Subnet[] {
  const found = new Map<string, Subnet>()
  for (const node of nodes)
    for (const nic of node.nics) {
      const key = subnetKey(nic)
      const { network, subnetId, subnetName, networkId, networkName, mtu, gateway } = nic
      const names = { subnetId, subnetName, networkId, networkName }
      const subnet = found.get(key) ?? { key, network, ...names, mtu, gateway, attachments: [] }
      // Only some of the NICs may have been delivered with names.
      subnet.subnetName ||= subnetName
      subnet.networkName ||= networkName
      subnet.attachments.push({ node, nic })
      found.set(key, subnet)
    }
  return [...found.values()].sort((a, b) => compareNatural(a.network, b.network) || compareNatural(a.key, b.key))
}
