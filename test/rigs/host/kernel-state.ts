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
    main: [
      ...lines(ip('route', 'show')),
      ...lines(ip('-6', 'route', 'show')).filter(
        line => !line.startsWith('fe80:') && / from | proto static | metric 20[01]0\d /.test(line),
      ),
    ],
    // Without those of the kernel.
    rules: rules.filter(line => !/^(0|32766|32767):/.test(line)).sort(),
  }
}

/** The rules of a NIC that shares no network. */
export function rulesOfNic(index: number, networks: readonly string[], slot = index): string[] {
  const mark = `0x${((slot + 1) * 8).toString(16)}/0x78`
  const families = new Set(networks.map(network => network.includes(':')))
  return [
    ...[...families].map(() => `9999: from all fwmark ${mark} iif multinic${index} lookup main proto static`),
    ...[...families].map(() => `${10_000 + index}: from all fwmark ${mark} lookup ${100 + index} proto static`),
    ...networks.flatMap(network => [
      `${10_060 + index}: from ${network} iif lo lookup main suppress_prefixlength 7 proto static`,
      `${10_070 + index}: from ${network} iif lo lookup ${100 + index} proto static`,
    ]),
  ]
}

/** Those that all NICs share, when the primary NIC is in 10.0.0.0/24 and the longest prefix of their networks is 24. */
export const sharedRules: readonly string[] = [
  '9998: from all fwmark 0/0x78 goto 10012',
  '10010: from all fwmark 0x58/0x78 lookup 110',
  '10012: not from all iif lo goto 10095',
  '10013: from 0.0.0.1/31 iif lo goto 10095',
  '10014: from 10.0.0.0/24 iif lo goto 10090',
  '10090: from 10.0.0.0/24 iif lo lookup main suppress_prefixlength 24',
  '10091: from 10.0.0.0/24 iif lo lookup 110 suppress_prefixlength 0',
  '10095: from all nop',
]

/** Those of IPv6, when the node has no IPv6 router. */
export const sharedRules6: readonly string[] = [
  '9998: from all fwmark 0/0x78 goto 10012',
  '10012: not from all iif lo goto 10095',
  '10095: from all nop',
]

/** The route to its network in the main table. */
export function mainRouteOf(index: number, address: string, network: string): string {
  return `${network} dev multinic${index} proto static scope link src ${address} metric ${20_000 + index}`
}

/** The routes in table 110. */
export function primaryRoutes(networks: readonly string[]): string[] {
  return networks.map(network => `${network} via 10.0.0.1 dev ens3 proto kernel onlink`)
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
