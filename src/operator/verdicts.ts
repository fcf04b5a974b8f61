/**
 * The verdict on a port that is not delivered yet: taken, or the first thing that speaks against it.
 *
 * Pure. Status, owner and baseline are asked of new ports only: they never take a delivered one away.
 */
import { contains, formatCidr, parseCidr, parseIp } from '../contract/address.ts'
import type { Interface } from '../contract/interfaces.ts'
import type { VerdictReason } from '../contract/reasons/catalogue.ts'
import type { Observed, Port, Rules, Subnet } from './observed-state.ts'

/** On a port, or on a VM when there is no port. */
export interface Verdict {
  portId?: string
  vm: string
  reason: VerdictReason
  message: string
  /** The interface that the port became. */
  name?: string
}

export interface Refusal {
  reason: VerdictReason
  message: string
}

/** Clocks of Neutron and of the Kubernetes API server may differ by so much. */
const clockSkewMs = 5 * 60_000

export function refusalOfNew(port: Port, rules: Rules): Refusal | undefined {
  const { deviceOwner, createdAt } = port
  if (deviceOwner === '') return { reason: 'PortNotBound', message: 'the port has no owner yet' }
  if (!rules.owners.some(pattern => matches(pattern, deviceOwner)))
    return { reason: 'DeviceOwnerNotAllowed', message: `the port belongs to ${deviceOwner}` }
  const status = port.status.toUpperCase()
  if (status !== '' && !rules.allowedStatuses.includes('*') && !rules.allowedStatuses.includes(status))
    return { reason: 'StatusNotAllowed', message: `the port is ${status}` }
  if (rules.baseline !== undefined && !(createdAtMs(port) >= rules.baseline - clockSkewMs)) {
    const said = createdAt ? `was created at ${createdAt}` : 'does not say when it was created'
    return { reason: 'BeforeBaseline', message: `the port ${said}` }
  }
  return undefined
}

/** Neutron's times may come without a zone: they are UTC. NaN when there is none. */
export function createdAtMs({ createdAt = '' }: Port): number {
  return Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(createdAt) ? createdAt : `${createdAt}Z`)
}

function matches(pattern: string, owner: string): boolean {
  return pattern.endsWith('*') ? owner.startsWith(pattern.slice(0, -1)) : owner === pattern
}

export interface Match {
  /** Place of the first matching subnet in the user's order. */
  order: number
  subnet: Subnet
  address: string
  /** All matching addresses with their prefix, when there are several. */
  addresses: string[]
}

/** The port's addresses in the chosen subnets; a refusal when there is none. */
export function addressesIn(port: Port, subnets: readonly Subnet[]): Match | Refusal {
  const all = subnets.flatMap((subnet, order) =>
    port.fixedIps.filter(ip => ip.subnetId === subnet.id).map(({ address }) => ({ order, subnet, address })),
  )
  const here = all.filter(({ subnet }) => subnet.networkId === port.networkId)
  const [first] = here
  if (first) return { ...first, addresses: here.length > 1 ? here.flatMap(withPrefix) : [] }
  if (all.length > 0) return { reason: 'NetworkMismatch', message: 'the chosen subnet belongs to another network' }
  return { reason: 'NoAddress', message: 'the port has no address in a chosen subnet' }
}

function withPrefix({ address, subnet }: { address: string; subnet: Subnet }): string[] {
  const network = parseCidr(subnet.cidr)
  const ip = parseIp(address)
  if (!network || !ip || !contains(network, ip)) return []
  return [formatCidr({ family: ip.family, address: ip, prefix: network.prefix })]
}

/** The interface without its number. What Neutron leaves out for once (an MTU) stays as it was delivered. */
export function contentOf(
  port: Port,
  match: Match,
  { source, mtus }: Pick<Observed, 'source' | 'mtus'>,
  delivered?: Interface,
): Omit<Interface, 'index' | 'name'> {
  const { subnet, address, addresses } = match
  const mtu = mtus.get(port.networkId) ?? delivered?.mtu
  return {
    portId: port.id,
    macAddress: port.macAddress.toLowerCase(),
    address,
    cidr: subnet.cidr,
    ...(mtu !== undefined && { mtu }),
    ...(addresses.length > 0 && { addresses }),
    ...(subnet.gateway && { gateway: subnet.gateway }),
    ...(subnet.routes.length > 0 && { routes: subnet.routes }),
    networkId: port.networkId,
    subnetId: subnet.id,
    source,
  }
}
