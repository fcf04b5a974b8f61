/**
 * The routes that a NIC has in its own table: its networks, its gateway and the requested routes.
 *
 * Pure. Free of dependencies: the agent sets these routes, and the CLI explains them.
 */
import { bitsOf, type Cidr, canonical, type Family, networkOf, parseCidr, parseIp } from './address.ts'
import type { Interface } from './interface-fields.ts'

export interface NicRoute {
  family: Family
  /** A network, or `default`. */
  destination: string
  /** In canonical notation. Absent on link. */
  gateway?: string
  /** Of the NIC, if the destination is its network. */
  address?: Cidr
}

type Routed = Pick<Interface, 'gateway' | 'routes'>

/** Each destination once. The main table has the same routes, without default routes and reserved networks. */
export function nicRoutes(nic: Routed, addresses: readonly Cidr[]): NicRoute[] {
  const routes = new Map<string, NicRoute>()
  const add = (route: NicRoute) => {
    const key = `${route.family} ${route.destination}`
    if (!routes.has(key)) routes.set(key, route)
  }
  for (const address of addresses) {
    const { family, prefix } = address
    if (prefix < bitsOf(family)) add({ family, destination: networkOf(address), address })
  }
  for (const { destination, nexthop } of gatewayRoutes(nic)) {
    const [to, via] = [parseCidr(destination), parseIp(nexthop)]
    if (!to || !via || !addresses.some(({ family }) => family === via.family)) continue
    const network = to.prefix === 0 ? 'default' : networkOf(to)
    add({ family: to.family, destination: network, gateway: canonical(nexthop) ?? nexthop })
  }
  return [...routes.values()]
}

/** The gateway as a route, and the requested routes. */
export function gatewayRoutes(nic: Routed): { destination: string; nexthop: string }[] {
  const everything = nic.gateway?.includes(':') ? '::/0' : '0.0.0.0/0'
  return [...(nic.gateway ? [{ destination: everything, nexthop: nic.gateway }] : []), ...(nic.routes ?? [])]
}
