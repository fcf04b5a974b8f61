/**
 * Builders for tests of the agent: the observed state of a node with a primary NIC and unused NICs.
 */
import type { Interface } from '../../contract/interfaces.ts'
import { parseSettings, type Settings } from '../config.ts'
import { type NodeNetworks, nodeNetworks } from '../observe/node-networks.ts'
import { hostPaths } from '../paths.ts'
import { type Plan, planRun } from '../plan/plan.ts'
import { type Change, describeChange } from '../state/change.ts'
import type { Address, Link, Observed, ObservedRoute, ObservedRule } from '../state/observed.ts'
import { predictState } from '../state/predict.ts'
import { type Unit, withPurpose } from '../state/unit.ts'

export const primaryMac = 'fa:16:3e:ff:00:00'

export function macOf(index: number): string {
  return `fa:16:3e:00:00:${(index + 1).toString(16).padStart(2, '0')}`
}

export function aLink(values: Partial<Link> = {}): Link {
  return {
    ifindex: 3,
    name: 'ens4',
    macAddress: macOf(0),
    ethernet: true,
    mtu: 1500,
    minMtu: 68,
    maxMtu: 65535,
    up: false,
    carrier: false,
    altnames: [],
    ...values,
  }
}

export function anAddress(ifindex: number, cidr: string, values: Partial<Address> = {}): Address {
  const family = cidr.includes(':') ? 6 : 4
  const state = { linkLocal: false, noPrefixRoute: false, dadFailed: false, tentative: false }
  return { ifindex, family, cidr, ...state, ...values }
}

export function aRoute(ifindex: number, destination: string, values: Partial<ObservedRoute> = {}): ObservedRoute {
  const family = destination.includes(':') ? 6 : 4
  const common = { table: 254, type: 1, devices: [ifindex], protocol: 3, metric: 0, scope: 0, onlink: false }
  return { family, destination, ...common, ...values }
}

export function aRule(values: Partial<ObservedRule> = {}): ObservedRule {
  return { family: 4, priority: 10_100, table: 100, protocol: 4, plain: true, ...values }
}

/** A node with Netplan, a primary NIC and unused NICs `ens4`, `ens5`, … */
export function aNode(nics: number, values: Partial<Observed> = {}): Observed {
  const free = Array.from({ length: nics }, (_, index) =>
    aLink({ ifindex: index + 3, name: `ens${index + 4}`, macAddress: macOf(index) }),
  )
  const settings = { 'ipv4.arp_announce': '0', 'ipv4.arp_ignore': '0', 'ipv4.rp_filter': '0' }
  return {
    links: [
      aLink({ ifindex: 1, name: 'lo', macAddress: '00:00:00:00:00:00', ethernet: false, up: true }),
      aLink({ ifindex: 2, name: 'ens3', macAddress: primaryMac, up: true, carrier: true }),
      ...free,
    ],
    addresses: [anAddress(1, '127.0.0.1/8'), anAddress(2, '10.0.0.10/24')],
    routes: [
      aRoute(2, 'default', { gateway: '10.0.0.1' }),
      aRoute(2, '10.0.0.0/24', { protocol: 2, scope: 253, source: '10.0.0.10' }),
    ],
    rules: [],
    files: {},
    directories: [hostPaths.netplan, hostPaths.networkd, hostPaths.sysctl, hostPaths.state],
    sysctls: Object.fromEntries(
      free.map(link => [link.ifindex, { ...settings, 'ipv6.accept_ra': '1', 'ipv6.autoconf': '1' }]),
    ),
    managers: {},
    neighbours: [],
    nft: {},
    refusedAltnames: [],
    bootID: 'boot-1',
    ipv6: true,
    ...values,
  }
}

export function anInterface(index: number, values: Partial<Interface> = {}): Interface {
  return {
    index: index,
    name: `multinic${index}`,
    macAddress: macOf(index),
    portId: `port-${index}`,
    address: `10.${100 + index}.0.10`,
    cidr: `10.${100 + index}.0.0/24`,
    gateway: `10.${100 + index}.0.1`,
    mtu: 1450,
    ...values,
  }
}

export function settingsFrom(env: Record<string, string> = {}): Settings {
  return parseSettings(env).settings
}

/** The networks of a node whose primary NIC has addresses of both families. */
export const nodeWithBothFamilies: NodeNetworks = nodeNetworks({
  observed: { ...aNode(0), routes: [...aNode(0).routes, aRoute(2, 'fd00:ff::/64', { protocol: 2, metric: 256 })] },
  nodeAddresses: ['10.0.0.10'],
  podCIDRs: [],
  serviceCIDRs: [],
  settings: settingsFrom(),
  ours: new Set(),
})

export function planOf(observed: Observed, interfaces: readonly Interface[], env: Record<string, string> = {}): Plan {
  const settings = settingsFrom(env)
  return planRun({ interfaces, nodeAddresses: ['10.0.0.10'], settings, paths: hostPaths, observed })
}

/** The node after a pass: what NICs shared before it is gone too. */
export function afterPlan(
  observed: Observed,
  interfaces: readonly Interface[],
  env: Record<string, string> = {},
): Observed {
  const after = predictState(observed, planOf(observed, interfaces, env).units)
  return predictState(after, withPurpose(planOf(after, interfaces, env).units, 'node'))
}

/** One line per unit. */
export function changesOf({ units }: Plan): string[] {
  return units.map(unit => `${unit.name}: ${unit.changes.map(describeChange).join('; ')}`)
}

/** Changes of NICs in the kernel, except sysctls. */
export function kernelChangesOf(plan: Plan): string[] {
  return kernelChanges(plan, unit => unit.purpose !== 'node')
}

/** Changes in the kernel of what all NICs share. */
export function nodeChangesOf(plan: Plan): string[] {
  return kernelChanges(plan, unit => unit.purpose === 'node')
}

function kernelChanges({ units }: Plan, isCounted: (unit: Unit) => boolean): string[] {
  const isKernel = ({ kind }: Change) => kind !== 'file' && kind !== 'sysctl'
  return units.filter(isCounted).flatMap(unit => unit.changes.filter(isKernel).map(describeChange))
}
