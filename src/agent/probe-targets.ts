/**
 * What must be the same after a run as before it: the node's default routes, its own addresses, its way to the API server,
 * and who answers on the wire.
 *
 * Pure.
 */
import { contains, parseCidr, parseIp } from '../contract/address.ts'
import type { ProbeMode, Settings } from './config.ts'
import type { WantedNic } from './desired.ts'
import { type Answers, type Target, targetKey } from './neighbour-probe.ts'
import { linkByIndex, type Observed } from './observed.ts'

export interface Ours {
  tables: ReadonlySet<number>
  devices: ReadonlySet<number>
}

/** In words, each starting with what it is, so that a loss can be told as it stands. */
export function lifelines(observed: Observed, nodeAddresses: readonly string[], ours: Ours): string[] {
  const device = (ifindex: number | undefined) => linkByIndex(observed, ifindex ?? 0)?.name ?? 'no device'
  const gateways = observed.routes
    .filter(route => route.destination === 'default' && !ours.tables.has(route.table))
    .map(route => `default route via ${route.gateway ?? 'link'} on ${device(route.devices[0])}, table ${route.table}`)
  const known = new Set(nodeAddresses.flatMap(text => parseIp(text)?.value ?? []))
  const addresses = observed.addresses
    .filter(
      ({ cidr, ifindex }) => !ours.devices.has(ifindex) && known.has(parseIp(cidr.split('/')[0] ?? '')?.value ?? -1n),
    )
    .map(({ cidr, ifindex }) => `node address ${cidr} on ${device(ifindex)}`)
  const { apiPath } = observed
  const path = apiPath ? [`way to the API server via ${apiPath.gateway ?? 'link'} on ${device(apiPath.ifindex)}`] : []
  return [...gateways, ...addresses, ...path]
}

export function lost(before: readonly string[], after: readonly string[]): string[] {
  return before.filter(line => !after.includes(line))
}

export function probeModeOf(id: number, { probe }: Pick<Settings, 'probe'>): ProbeMode {
  return probe.of[id] ?? probe.mode
}

/** The routers of the node's own default routes. */
export function gatewayTargets(observed: Observed, ours: Ours): Target[] {
  return observed.routes.flatMap(({ destination, table, gateway, devices: [ifindex] }) =>
    destination !== 'default' || ours.tables.has(table) || gateway === undefined || ifindex === undefined
      ? []
      : [{ ifindex, address: gateway }],
  )
}

/** Whom a NIC asks: a peer in its network where one is named, else its gateway. */
export function nicTarget(nic: WantedNic, ifindex: number, settings: Pick<Settings, 'probe'>): Target | undefined {
  if (probeModeOf(nic.id, settings) === 'off') return undefined
  const networks = nic.addresses.flatMap(({ cidr }) => parseCidr(cidr) ?? [])
  const peer = settings.probe.peers.find(text => {
    const ip = parseIp(text)
    return ip !== undefined && networks.some(network => contains(network, ip))
  })
  const address = peer ?? nic.routes.find(route => route.destination === 'default')?.gateway
  return address === undefined ? undefined : { ifindex, address }
}

/** What the silence of a NIC's own gateway or peer means: nothing, a word in the report, or the end of the change. */
export function judgeSilence(
  target: Target,
  mode: ProbeMode,
  { before, after }: { before: Answers; after: Answers },
): { note?: string; failure?: string } {
  const key = targetKey(target)
  if (after.has(key)) return {}
  if (before.has(key)) return { failure: `${target.address} answered before the change and does not answer any more` }
  const silence = `${target.address} does not answer`
  return mode === 'required' ? { failure: silence } : { note: silence }
}
