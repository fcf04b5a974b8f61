/**
 * The kernel state of a rig node as short lines that a test can list.
 */
import type { RigNode } from './node.ts'

/** In the order of `ip`, rules sorted. */
export function kernelState({ ip }: RigNode): Record<string, string[]> {
  const lines = (text: string) =>
    text
      .split('\n')
      .map(line => line.trim().replace(/\s+/g, ' '))
      .filter(Boolean)
  const rules = ['-4', '-6'].flatMap(family => lines(ip(family, 'rule', 'list')))
  return {
    links: lines(ip('-o', 'link', 'show')).map(line => {
      const [, name, flags, mtu] = /^\d+: ([^@:]+)\S* <([^>]*)> mtu (\d+)/.exec(line) ?? []
      return `${name} ${flags?.split(',').includes('UP') ? 'up' : 'down'} ${mtu}`
    }),
    addresses: lines(ip('-o', 'address', 'show', 'scope', 'global')).map(line =>
      line.replace(/^\d+: (\S+) inet6? (\S+).*?( noprefixroute)?(?: multinic\d| ens\d)? *\\.*/, '$1 $2$3'),
    ),
    main: [...lines(ip('route', 'show')), ...lines(ip('-6', 'route', 'show')).filter(line => line.includes(' from '))],
    // Without those of the kernel.
    rules: rules.filter(line => !/^(0|32766|32767):/.test(line)).sort(),
  }
}

/** The rules of one NIC, in the order of `kernelState`, on a node whose primary NIC is in 10.0.0.0/24. */
export function rulesOfNic(index: number, address: string, network: string): string[] {
  const table = 100 + index
  return [
    `${10_040 + index}: from ${address} lookup main suppress_prefixlength 24 proto static`,
    `${10_060 + index}: from ${address} to 10.0.0.0/24 lookup ${table} proto static`,
    `${10_080 + index}: from ${address} lookup main suppress_prefixlength 0 proto static`,
    `${10_100 + index}: from ${address} lookup ${table} proto static`,
    `${32_516 + index}: from 0.0.0.1/31 to ${network} lookup ${table} proto static`,
  ]
}

export function routesInTable({ ip }: RigNode, number: number): string[] {
  try {
    return ip('route', 'show', 'table', String(number))
      .split('\n')
      .map(line => line.trim())
      .filter(Boolean)
  } catch {
    return []
  }
}

export const macsOf = (node: RigNode): string[] => node.nics.map(nic => nic.macAddress)
