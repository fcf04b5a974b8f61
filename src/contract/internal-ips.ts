/**
 * Addresses of requested NICs among the InternalIPs of a Node: cloud providers list every port of a VM unless told otherwise.
 */
import { canonical, hostPart } from './address.ts'
import { addressesOf, type Interface } from './interfaces.ts'

export const internalIpRemedy =
  'set internal-network-name in [Networking] of the OpenStack cloud provider, or --node-ip of the kubelet'

/** In canonical notation, in the order of the Node. */
export function internalIpsOf(node: { status?: { addresses?: { type: string; address: string }[] } }): string[] {
  const found = node.status?.addresses?.filter(({ type }) => type === 'InternalIP') ?? []
  return [...new Set(found.flatMap(({ address }) => canonical(address) ?? []))]
}

/** `10.100.0.10 (multinic0)` */
export function requestedAmong(listed: readonly string[], interfaces: readonly Interface[]): string[] {
  return interfaces.flatMap(nic => {
    const hosts = addressesOf(nic).map(hostPart)
    return hosts.filter(host => listed.includes(host)).map(host => `${host} (${nic.name})`)
  })
}
