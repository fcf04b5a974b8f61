/**
 * The kernel state of a rig node as short lines that a test can list.
 */
import type { RigNode } from './node.ts'

/** In the order of `ip`. */
export function kernelState({ ip }: RigNode): Record<string, string[]> {
  const lines = (text: string) =>
    text
      .split('\n')
      .map(line => line.trim().replace(/\s+/g, ' '))
      .filter(Boolean)
  const ours = (family: string) => lines(ip(family, 'rule', 'list')).filter(line => /^101\d\d:/.test(line))
  return {
    links: lines(ip('-o', 'link', 'show')).map(line => {
      const [, name, flags, mtu] = /^\d+: ([^@:]+)\S* <([^>]*)> mtu (\d+)/.exec(line) ?? []
      return `${name} ${flags?.split(',').includes('UP') ? 'up' : 'down'} ${mtu}`
    }),
    addresses: lines(ip('-o', 'address', 'show', 'scope', 'global')).map(line =>
      line.replace(/^\d+: (\S+) inet6? (\S+).*?( noprefixroute)?(?: multinic\d| ens\d)? *\\.*/, '$1 $2$3'),
    ),
    main: lines(ip('route', 'show')),
    rules: [...ours('-4'), ...ours('-6')],
  }
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
