/**
 * Which addresses a run probes: the gateways of the node, and the gateway or a peer of each NIC.
 *
 * Pure.
 */

import { contains, type Family, parseCidr, parseIp } from '../../contract/address.ts'
import type { ProbeMode } from '../../contract/agent-settings.ts'
import type { Settings } from '../config.ts'
import type { DesiredNic } from '../state/desired-nic.ts'
import type { Observed, ObservedRoute } from '../state/observed.ts'
import type { ProbeTarget } from './neighbour-probe.ts'

const families: readonly Family[] = [4, 6]

/** Routing tables and devices that belong to multinic and not to the node. */
export interface OwnedNetwork {
  tables: ReadonlySet<number>
  devices: ReadonlySet<number>
}

export function probeModeOf(index: number, { probe }: Pick<Settings, 'probe'>): ProbeMode {
  return probe.perInterface[index] ?? probe.mode
}

/** DHCP may have given one of our NICs a default route; the node does not depend on that one. */
export function defaultRoutes({ routes }: Observed, owned: OwnedNetwork): ObservedRoute[] {
  return routes.filter(
    ({ destination, table, devices }) =>
      destination === 'default' && !owned.tables.has(table) && !devices.some(device => owned.devices.has(device)),
  )
}

/** The gateways of the node's own default routes. */
export function gatewayTargets(observed: Observed, owned: OwnedNetwork): ProbeTarget[] {
  return defaultRoutes(observed, owned).flatMap(({ gateway, devices: [ifindex] }) =>
    gateway === undefined || ifindex === undefined ? [] : [{ ifindex, address: gateway }],
  )
}

/** For each family: the first configured peer in a network of the NIC, else the NIC's gateway. */
export function nicTargets(nic: DesiredNic, ifindex: number, settings: Pick<Settings, 'probe'>): ProbeTarget[] {
  if (probeModeOf(nic.index, settings) === 'off') return []
  const networks = nic.addresses.flatMap(({ cidr }) => parseCidr(cidr) ?? [])
  return families.flatMap(family => {
    const peer = settings.probe.peers.find(text => {
      const ip = parseIp(text)
      return ip?.family === family && networks.some(network => contains(network, ip))
    })
    const address =
      peer ?? nic.routes.find(route => route.destination === 'default' && route.family === family)?.gateway
    return address === undefined ? [] : [{ ifindex, address }]
  })
}
