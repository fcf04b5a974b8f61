/**
 * Networks in CIDR form, and the subnets that NICs hang on. Pure.
 */
import type { Nic, Node } from './nodes.ts'

/** The network of an address with prefix: 10.20.0.17/22 → 10.20.0.0/22. IPv6 is taken as it is written. */
export function networkOf(cidr: string): string {
  const [, a, b, c, d, length] = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(cidr)?.map(Number) ?? []
  if (length === undefined || length > 32) return cidr
  const bits = [a, b, c, d].reduce<number>((sum, byte) => sum * 256 + (byte ?? 0), 0)
  const size = 2 ** (32 - length)
  const base = Math.floor(bits / size) * size
  return `${[24, 16, 8, 0].map(shift => Math.floor(base / 2 ** shift) % 256).join('.')}/${length}`
}

export function withPrefix(address: string | undefined, cidr: string | undefined): string[] {
  if (address === undefined) return []
  const prefix = cidr?.split('/')[1]
  return [prefix === undefined ? address : `${address}/${prefix}`]
}

/** How many hosts fit; undefined where counting makes no sense. */
export function capacityOf(network: string): number | undefined {
  const length = /^\d+\.\d+\.\d+\.\d+\/(\d+)$/.exec(network)?.[1]
  if (length === undefined) return undefined
  return Number(length) >= 31 ? 2 ** (32 - Number(length)) : 2 ** (32 - Number(length)) - 2
}

export interface Subnet {
  key: string
  network: string
  subnetId: string
  networkId: string
  mtu: number | undefined
  gateway: string
  links: { node: Node; nic: Nic }[]
}

export const subnetKey = ({ subnetId, network }: Pick<Nic, 'subnetId' | 'network'>) => subnetId || network

const inOrder = new Intl.Collator('en', { numeric: true }).compare

/** The subnets of these nodes, in the order of their networks. */
export function subnetsOf(nodes: readonly Node[]): Subnet[] {
  const found = new Map<string, Subnet>()
  for (const node of nodes)
    for (const nic of node.nics) {
      const key = subnetKey(nic)
      const { network, subnetId, networkId, mtu, gateway } = nic
      const subnet = found.get(key) ?? { key, network, subnetId, networkId, mtu, gateway, links: [] }
      subnet.links.push({ node, nic })
      found.set(key, subnet)
    }
  return [...found.values()].sort((a, b) => inOrder(a.network, b.network) || inOrder(a.key, b.key))
}
