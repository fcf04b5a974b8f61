/**
 * The allowed address pairs of a port, as far as they go beyond the networks of its NIC. Pure.
 *
 * The cloud sends them as tenants wrote them: a pair that cannot be read is left out, and the others stay.
 */
import { type Cidr, contains, networkOf, parseCidr, parseNetwork } from '../../contract/address.ts'
import { canonicalNetworks, maxAddressPairs } from '../../contract/interfaces.ts'
import type { Port, Subnet } from '../cloud.ts'

/** Networks in canonical form. `subnets`: those of the addresses that the NIC gets. */
export function pairsBeyond(port: Port, subnets: readonly Pick<Subnet, 'cidr'>[]): string[] {
  const pairs = port.portSecurity?.allowedAddressPairs ?? []
  // Most ports have none, and there may be a hundred thousand ports.
  if (pairs.length === 0) return []
  const own = subnets.flatMap(({ cidr }) => parseCidr(cidr) ?? [])
  const fixed = canonicalNetworks(port.addresses.map(({ address }) => address))
  const macAddress = port.macAddress.toLowerCase()
  const beyond = pairs.filter(pair => {
    const network = parseNetwork(pair.ipAddress)
    // A pair for every address says nothing about those of the NIC.
    if (!network || network.prefix === 0 || pair.macAddress !== macAddress) return false
    return !own.some(subnet => isInside(network, subnet)) && !fixed.includes(networkOf(network))
  })
  return canonicalNetworks(beyond.map(({ ipAddress }) => ipAddress)).slice(0, maxAddressPairs)
}

function isInside(network: Cidr, subnet: Cidr): boolean {
  return network.prefix >= subnet.prefix && contains(subnet, network.address)
}
