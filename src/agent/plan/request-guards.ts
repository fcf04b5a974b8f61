/**
 * Guards that look at the request alone: what no NIC could be configured with.
 *
 * Pure.
 */
import { bitsOf, canonical, hostPart, networkOf, parseCidr } from '../../contract/address.ts'
import { addressesOf, type Interface, outsideItsCidr } from '../../contract/interfaces.ts'
import { gatewayRoutes } from '../../contract/nic-routes.ts'
import { whyNotRoutable } from '../../contract/special-addresses.ts'
import type { Settings } from '../config.ts'
import { familyOf } from '../state/change.ts'
import type { Link, Observed } from '../state/observed.ts'
import type { Refusal } from './preflight.ts'

export function refuseRequest(
  requested: Interface,
  links: readonly Link[],
  { observed, settings }: { observed: Observed; settings: Settings },
): Refusal | undefined {
  return (
    ambiguousNic(requested, links) ??
    addressOutsideCidr(requested) ??
    ownGateway(requested) ??
    ipv6Disabled(requested, observed) ??
    policyRoutingUnavailable(requested, observed, settings) ??
    routeInvalid(requested, settings)
  )
}

export function ambiguousNic(requested: Pick<Interface, 'macAddress'>, links: readonly Link[]): Refusal | undefined {
  if (links.length <= 1) return undefined
  const names = links.map(link => link.name).join(' and ')
  return { reason: 'NicAmbiguous', message: `${names} have the same MAC address ${requested.macAddress}` }
}

function addressOutsideCidr(requested: Interface): Refusal | undefined {
  const message = outsideItsCidr(requested)
  return message === undefined ? undefined : { reason: 'AddressOutsideCidr', message }
}

/** The router would lose its address to the NIC, and the kernel refuses a route via a local address. */
function ownGateway(requested: Interface): Refusal | undefined {
  const gateway = canonical(requested.gateway ?? '')
  if (gateway === undefined || !addressesOf(requested).map(hostPart).includes(gateway)) return undefined
  return { reason: 'AddressConflict', message: `${gateway} is the gateway of the NIC's own network` }
}

function ipv6Disabled(requested: Interface, { ipv6 }: Observed): Refusal | undefined {
  const address = ipv6 ? undefined : addressesOf(requested).find(cidr => cidr.includes(':'))
  if (address === undefined) return undefined
  const message = `cannot configure ${address}: the kernel of this node has no IPv6`
  return { reason: 'IPv6Disabled', message }
}

/** Such a kernel would put the routes of the NIC's own table into the main table. */
function policyRoutingUnavailable(
  requested: Interface,
  { noPolicyRouting = [] }: Observed,
  { policyRouting }: Settings,
): Refusal | undefined {
  const address = addressesOf(requested).find(cidr => policyRouting && noPolicyRouting.includes(familyOf(cidr)))
  if (address === undefined) return undefined
  const option = familyOf(address) === 4 ? 'CONFIG_IP_MULTIPLE_TABLES' : 'CONFIG_IPV6_MULTIPLE_TABLES'
  const message = `cannot configure ${address}: the kernel of this node has no policy routing (${option})`
  return { reason: 'PolicyRoutingUnavailable', message }
}

/** A route that cannot be set is never left out silently. */
function routeInvalid(requested: Interface, { policyRouting }: Settings): Refusal | undefined {
  const invalid = (message: string): Refusal => ({ reason: 'RouteInvalid', message })
  const [first] = requested.routes ?? []
  // Without policy routing the NIC has no table of its own; the main table belongs to the node.
  if (!policyRouting) return first && invalid(`cannot set the route to ${first.destination}: policy routing is off`)
  const cidrs = addressesOf(requested).flatMap(text => parseCidr(text) ?? [])
  const routers = new Map<string, string>()
  for (const { destination, nexthop } of gatewayRoutes(requested)) {
    const to = parseCidr(destination)
    if (!to) continue
    const [network, router] = [networkOf(to), canonical(nexthop) ?? nexthop]
    const special = whyNotRoutable(to)
    if (special !== undefined) return invalid(`cannot set the route to ${network} via ${router}: ${network} ${special}`)
    if (!cidrs.some(({ family }) => family === to.family))
      return invalid(`cannot set the route to ${network} via ${router}: the NIC has no IPv${to.family} address`)
    if (cidrs.some(cidr => cidr.prefix < bitsOf(cidr.family) && networkOf(cidr) === network))
      return invalid(`cannot set the route to ${network} via ${router}: it is the network of the NIC itself`)
    const other = routers.get(network)
    if (other !== undefined && other !== router)
      return invalid(`cannot set the route to ${network} via ${router}: another one goes via ${other}`)
    routers.set(network, router)
  }
  return undefined
}
