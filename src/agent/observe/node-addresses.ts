/**
 * Which of the addresses that a Node lists are the node's own, per family: the first one, and those on the device of the
 * default route, whatever a record says.
 *
 * A cloud provider may list the addresses of every port of the VM, requested ones included. Pure.
 */
import { canonical, type Family, hostPart } from '../../contract/address.ts'
import { linksByMac, type Observed, tableMain } from '../state/observed.ts'
import type { OwnedNic } from '../state/ownership.ts'

/** Only addresses that the node has and that multinic did not configure count. In canonical notation. */
export function nodeAddressesOf(
  listed: readonly string[],
  observed: Observed,
  owned: readonly OwnedNic[],
): readonly string[] {
  const present = owned.filter(({ macAddress }) => linksByMac(observed.links, macAddress).length > 0)
  const ours = new Set(present.flatMap(({ record }) => record?.addresses ?? []).map(hostPart))
  const families: Family[] = [4, 6]
  return families.flatMap(family => {
    const primary = defaultRouteDevices(observed, family)
    const onNode = observed.addresses.filter(
      address => address.family === family && (!ours.has(hostPart(address.cidr)) || primary.includes(address.ifindex)),
    )
    const deviceOf = new Map(onNode.map(({ cidr, ifindex }) => [hostPart(cidr), ifindex]))
    const [first, ...more] = listed.map(text => canonical(text) ?? text).filter(text => deviceOf.has(text))
    return first === undefined ? [] : [first, ...more.filter(text => primary.includes(deviceOf.get(text) ?? 0))]
  })
}

/** The devices of the default route that the kernel selects in the main table; none if there is no such route. */
function defaultRouteDevices({ routes }: Observed, family: Family): readonly number[] {
  const defaults = routes.filter(
    route =>
      route.destination === 'default' && route.family === family && route.table === tableMain && route.type === 1,
  )
  const [best] = defaults.toSorted((a, b) => a.metric - b.metric)
  return best?.devices ?? []
}
