/**
 * What the node lives on: its default routes, its own addresses, its way to the API server. What was there before a run
 * must be there after it.
 *
 * Pure.
 */
import { parseIp } from '../contract/address.ts'
import { linkByIndex, type Observed } from './observed.ts'

/** In words, each starting with what it is, so that a loss can be told as it stands. */
export function lifelines(
  observed: Observed,
  nodeAddresses: readonly string[],
  ours: { tables: ReadonlySet<number>; devices: ReadonlySet<number> },
): string[] {
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
